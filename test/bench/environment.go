// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	maxIPv4Bits = 32
	// minBlockBits: the pool is cut from 10.0.0.0/8.
	minBlockBits = 8
	// reservedAddresses are the network's and the broadcast address.
	reservedAddresses = 2

	weirNamespace  = "weir-system"
	benchNamespace = "bench"
	poolName       = "bench"

	poll        = 50 * time.Millisecond
	waitTimeout = 2 * time.Minute
)

// blockBits returns the prefix length of the pool's block.
func (o *options) blockBits() int { return maxIPv4Bits - bits.Len(uint(max(o.poolSize, 1)-1)) }

// environment is a control plane with Cluster API's CRDs and Weir's release
// installed, and a manager that is started and stopped.
type environment struct {
	options
	cp     *framework.ControlPlane
	config *rest.Config
	client client.WithWatch
	// identity is the manager's: the service account that the release makes.
	identity *rest.Config
	manager  *framework.ManagerProcess
	// webhooks are the release's webhook configurations, redirected to the
	// manager's process.
	webhooks    []*unstructured.Unstructured
	managerArgs []string
	// diagnostics is the address that the manager serves profiles on.
	diagnostics   string
	profilerToken string
	// ready is when the manager that was started last said so.
	ready time.Time
	// recorded are the records that nobody but the bench knows the claims of.
	recorded []framework.Held
}

// newEnvironment starts a control plane without kube-controller-manager, so
// that the API server counts nobody's requests but Weir's and the bench's.
func newEnvironment(ctx context.Context, o options) (_ *environment, err error) {
	cp, err := framework.StartControlPlane(ctx, framework.Options{Fsync: o.fsync})
	if err != nil {
		return nil, err
	}
	e := &environment{options: o, cp: cp, config: cp.Config()}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.stop())
		}
	}()
	if e.client, err = newClient(e.config); err != nil {
		return nil, err
	}
	if err = framework.InstallCAPICRDs(ctx, e.config); err != nil {
		return nil, err
	}
	return e, e.install(ctx)
}

func (e *environment) stop() error {
	return errors.Join(e.stopManager(), e.cp.Stop())
}

func newClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), ipamv1beta2.AddToScheme(scheme), ipamv1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// install applies the release's manifests without what only pods need, and
// keeps the webhook configurations for startManager.
func (e *environment) install(ctx context.Context) error {
	objects, err := releaseManifests()
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(object *unstructured.Unstructured) bool {
		return slices.Contains([]string{"Deployment", "Certificate", "Issuer"}, object.GetKind())
	})
	var installed []*unstructured.Unstructured
	for _, object := range objects {
		if strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
			e.webhooks = append(e.webhooks, object)
		} else {
			installed = append(installed, object)
		}
	}
	if err = framework.Apply(ctx, e.config, installed...); err != nil {
		return err
	}
	if err = e.redirect(); err != nil {
		return err
	}
	if e.identity, err = e.cp.RESTConfigAs(ctx, "system:serviceaccount:"+serviceAccount(objects)); err != nil {
		return err
	}
	err = e.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: benchNamespace}})
	if err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	return e.openDiagnostics(ctx)
}

// releaseManifests returns what `make release-manifests` wrote last.
func releaseManifests() ([]*unstructured.Unstructured, error) {
	root, err := framework.RepoRoot()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "out", "ipam-weir", "*", "ipam-components.yaml"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(errors.New("finding the release's manifests: run 'make release-manifests' first"), err)
	}
	return framework.ReadManifests(slices.MaxFunc(files, byAge))
}

func byAge(a, b string) int { return modified(a).Compare(modified(b)) }

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// serviceAccount returns <namespace>:<name> of the release's service account.
func serviceAccount(objects []*unstructured.Unstructured) string {
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" {
			return object.GetNamespace() + ":" + object.GetName()
		}
	}
	return weirNamespace + ":default"
}

// redirect points the webhooks at a loopback port, and chooses the manager's
// flags accordingly.
func (e *environment) redirect() error {
	certs := filepath.Join(e.cp.Dir(), "webhook")
	bundle, err := framework.ServingCerts(certs)
	if err != nil {
		return err
	}
	port, err := framework.FreePort()
	if err != nil {
		return err
	}
	for _, configuration := range e.webhooks {
		if err := framework.RedirectWebhooks(configuration, bundle, fmt.Sprintf("https://127.0.0.1:%d", port)); err != nil {
			return err
		}
	}
	e.managerArgs = append([]string{
		"--leader-elect=false", "--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", port), "--webhook-cert-dir=" + certs,
	}, strings.Fields(e.args)...)
	return nil
}

// startManager starts Weir with its webhooks, and returns when it answers.
func (e *environment) startManager(ctx context.Context) (err error) {
	e.manager, err = framework.StartManager(framework.ManagerOptions{Config: e.identity, Dir: e.cp.Dir(), Args: e.managerArgs})
	if err != nil {
		return err
	}
	if err = e.manager.WaitReady(ctx); err != nil {
		return err
	}
	e.ready = time.Now()
	if err = framework.Apply(ctx, e.config, e.webhooks...); err != nil {
		return err
	}
	if err = e.ensurePool(ctx); err != nil {
		return err
	}
	return e.awaitFinalizer(ctx, true)
}

// stopManager stops Weir, if it runs.
func (e *environment) stopManager() error {
	if e.manager == nil {
		return nil
	}
	err := e.manager.Stop()
	e.manager = nil
	return err
}

// removeWebhooks removes Weir's webhooks. Weir still runs: it releases claims
// that got its finalizer before the API server noticed.
func (e *environment) removeWebhooks(ctx context.Context) error {
	for _, webhook := range e.webhooks {
		if err := client.IgnoreNotFound(e.client.Delete(ctx, webhook.DeepCopy())); err != nil {
			return fmt.Errorf("removing webhooks: %w", err)
		}
	}
	return e.awaitFinalizer(ctx, false)
}

// ensurePool creates the pool, unless it is there, and waits until it is ready.
func (e *environment) ensurePool(ctx context.Context) error {
	pool := builder.IPPool(benchNamespace, poolName).WithCIDR(fmt.Sprintf("10.0.0.0/%d", e.blockBits())).Build()
	key := client.ObjectKeyFromObject(pool)
	return eventually(ctx, "the pool to be ready", func(ctx context.Context) (bool, error) {
		err := e.client.Get(ctx, key, pool)
		if client.IgnoreNotFound(err) == nil && err != nil {
			err = e.client.Create(ctx, pool)
		}
		return err == nil && conditions.IsTrue(pool, ipamv1.ReadyCondition), err
	})
}

// awaitFinalizer creates claims until the API server has noticed that Weir's
// webhook was installed or removed, and leaves none of them.
func (e *environment) awaitFinalizer(ctx context.Context, want bool) error {
	n := 0
	err := eventually(ctx, fmt.Sprintf("claims to be created with finalizer: %t", want), func(ctx context.Context) (bool, error) {
		n++
		claim := newClaim(fmt.Sprintf("probe-%t-%d", want, n), "probe")
		err := e.client.Create(ctx, claim)
		return err == nil && slices.Contains(claim.Finalizers, ipamv1.ClaimFinalizer) == want, err
	})
	return errors.Join(err, e.clean(ctx, "probe"))
}

// clean deletes the claims of a round and waits until Weir has released them.
func (e *environment) clean(ctx context.Context, round string) error {
	namespace, label := client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: round}
	err := e.client.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, namespace, label)
	if err != nil {
		return fmt.Errorf("deleting the claims of %s: %w", round, err)
	}
	return eventually(ctx, "claims of "+round+" to go", func(ctx context.Context) (bool, error) {
		claims := &ipamv1beta2.IPAddressClaimList{}
		if err := e.client.List(ctx, claims, namespace, label); err != nil {
			return false, err
		}
		return len(claims.Items) == 0, nil
	})
}

// eventually waits for a condition. Errors are tried again; the last is told.
func eventually(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, waitTimeout, true, func(ctx context.Context) (bool, error) {
		var done bool
		done, last = condition(ctx)
		return done && last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, errors.Join(err, last))
	}
	return nil
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	maxIPv4Bits = 32
	// minBlockBits: the pool is cut from 10.0.0.0/8.
	minBlockBits = 8
	// reservedAddresses are the network's and the broadcast address.
	reservedAddresses = 2

	benchNamespace = "bench"
	poolName       = "bench"

	poll        = 50 * time.Millisecond
	waitTimeout = 2 * time.Minute
)

// blockBits returns the prefix length of the pool's block.
func (o *options) blockBits() int { return maxIPv4Bits - bits.Len(uint(max(o.poolSize, 1)-1)) }

// hasMetal3 reports whether Metal3's kinds are installed, and their claims measured. An older Weir's benchmark measures on the usual set
// of components, and so does this one in turn with it: each policy that looks at a claim costs the API server something.
func (o *options) hasMetal3() bool { return o.against == "" }

// environment is a control plane with Cluster API's CRDs and Weir's release
// installed, and a manager that is started and stopped.
type environment struct {
	options
	site   *framework.Site
	config *rest.Config
	client client.WithWatch
	// identity is the manager's: the service account that the release makes.
	identity *rest.Config
	manager  *framework.Manager
	// managerArgs are the manager's flags.
	managerArgs []string
	// diagnostics is the address that the manager serves profiles on.
	diagnostics   string
	profilerToken string
	// ready is when the manager that was started last said so.
	ready time.Time
	// recorded are the records that nobody but the bench knows the claims of.
	recorded []fsck.Held
}

// newEnvironment starts a control plane without kube-controller-manager, so
// that the API server counts nobody's requests but Weir's and the bench's.
func newEnvironment(ctx context.Context, o options) (*environment, error) {
	args := strings.Fields(o.args)
	installed := framework.SiteOptions{
		Options:    framework.Options{Fsync: o.fsync},
		Install:    []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
		Namespaces: []string{benchNamespace},
		Scheme:     scheme,
	}
	if o.hasMetal3() {
		args = append(args, "--feature-gates=Metal3=true")
		installed.Components, installed.Install = framework.Metal3Components, []framework.Step{framework.InstallCAPICRDs}
	}
	site, err := framework.StartSite(ctx, installed)
	if err != nil {
		return nil, err
	}
	e := &environment{options: o, site: site, config: site.Config(), client: site.Client(), managerArgs: args}
	e.identity, err = site.RESTConfigAs(ctx, framework.ManagerAccount)
	if err = errors.Join(err, e.openDiagnostics(ctx)); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}

func (e *environment) stop() error {
	return errors.Join(e.stopManager(), e.site.Stop())
}

func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientgoscheme.AddToScheme(s), ipamv1beta2.AddToScheme(s), ipamv1.AddToScheme(s), m3v1.AddToScheme(s))
}

// startManager starts Weir with its webhooks, and returns when it answers.
func (e *environment) startManager(ctx context.Context) (err error) {
	e.manager, err = e.site.StartManager(ctx, framework.ManagerOptions{
		Name: "manager", Config: e.identity, Args: e.managerArgs,
	})
	if err != nil {
		return err
	}
	e.ready = time.Now()
	if err = e.site.PointWebhooks(ctx, e.manager.WebhookAddress()); err != nil {
		return err
	}
	if err = e.ensurePool(ctx, ownPool(e.blockBits())); err != nil {
		return err
	}
	if e.hasMetal3() {
		if err = e.ensurePool(ctx, metal3Pool(e.blockBits())); err != nil {
			return err
		}
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
	if err := e.site.RemoveWebhooks(ctx); err != nil {
		return err
	}
	return e.awaitFinalizer(ctx, false)
}

func ownPool(bits int) pools.Object {
	return builder.IPPool(benchNamespace, poolName).WithCIDR(fmt.Sprintf("10.0.0.0/%d", bits)).Build()
}

// metal3Pool is one of Metal3's, of the same addresses: those are its own.
func metal3Pool(bits int) pools.Object {
	return &m3v1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: poolName},
		Spec:       m3v1.IPPoolSpec{NamePrefix: poolName, Pools: []m3v1.Pool{{Subnet: new(m3v1.Subnet(fmt.Sprintf("10.0.0.0/%d", bits)))}}},
	}
}

// ensurePool creates a pool, unless it is there, and waits until it is ready.
func (e *environment) ensurePool(ctx context.Context, pool pools.Object) error {
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
		claim := newAddressClaim(fmt.Sprintf("probe-%t-%d", want, n), "probe")
		err := e.client.Create(ctx, claim)
		return err == nil && slices.Contains(claim.Finalizers, ipamv1.ClaimFinalizer) == want, err
	})
	return errors.Join(err, e.clean(ctx, addressClaims, "probe"))
}

// clean deletes the claims of a round and waits until Weir has released them.
func (e *environment) clean(ctx context.Context, of watched, round string) error {
	if err := e.deleteAll(ctx, of.list(), round); err != nil {
		return err
	}
	return eventually(ctx, "claims of "+round+" to go", func(ctx context.Context) (bool, error) {
		claims := &metav1.PartialObjectMetadataList{}
		claims.SetGroupVersionKind(of.list())
		err := e.client.List(ctx, claims, client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: round}, client.Limit(1))
		return err == nil && len(claims.Items) == 0, err
	})
}

// deleteAll deletes the objects of a round one by one: a request for all of thousands runs out of time.
func (e *environment) deleteAll(ctx context.Context, kind schema.GroupVersionKind, round string) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := e.client.List(ctx, list, client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: round}); err != nil {
		return fmt.Errorf("listing what is left of %s: %w", round, err)
	}
	err := parallel(len(list.Items), recorders, func(i int) error {
		return client.IgnoreNotFound(e.client.Delete(ctx, &list.Items[i]))
	})
	if err != nil {
		return fmt.Errorf("deleting what is left of %s: %w", round, err)
	}
	return nil
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

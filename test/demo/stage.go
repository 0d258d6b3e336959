// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	weirNamespace = "weir-system"

	waitTimeout = 30 * time.Second
	poll        = 20 * time.Millisecond
)

// stage is the cluster that the demo plays on.
type stage struct {
	keep bool
	cp   *framework.ControlPlane
	// identity is the user that the manager is.
	identity string
	config   *rest.Config
	client   client.WithWatch
	manager  *framework.ManagerProcess
}

// startCluster starts etcd and the API server. kube-controller-manager comes
// later: its garbage collector is slow to notice new kinds.
func (s *stage) startCluster(ctx context.Context) (err error) {
	if s.cp, err = framework.StartControlPlane(ctx, framework.Options{Detach: s.keep, Keep: s.keep}); err != nil {
		return err
	}
	s.config = s.cp.Config()
	return nil
}

// connect makes the client. The kinds must be served by then.
func (s *stage) connect() (err error) {
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), ipamv1beta2.AddToScheme(scheme), ipamv1.AddToScheme(scheme))
	if err != nil {
		return fmt.Errorf("building the scheme: %w", err)
	}
	s.client, err = client.NewWithWatch(s.config, client.Options{Scheme: scheme})
	return err
}

// startManager runs Weir as a process, with the rights that the release gives
// it, and points the installed webhooks at it.
func (s *stage) startManager(ctx context.Context) error {
	account, err := s.serviceAccount(ctx)
	if err != nil {
		return err
	}
	certs := filepath.Join(s.cp.Dir(), "webhook")
	bundle, err := framework.ServingCerts(certs)
	if err != nil {
		return err
	}
	port, err := framework.FreePort()
	if err != nil {
		return err
	}
	s.manager, err = framework.StartManager(framework.ManagerOptions{
		Config: account, Dir: s.cp.Dir(), Detach: s.keep,
		Args: []string{
			"--leader-elect=false", "--diagnostics-address=0",
			"--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", port), "--webhook-cert-dir=" + certs,
		},
	})
	if err != nil {
		return err
	}
	if err := s.manager.WaitReady(ctx); err != nil {
		return err
	}
	if err := framework.PatchWebhooks(ctx, s.config, bundle, fmt.Sprintf("https://127.0.0.1:%d", port)); err != nil {
		return err
	}
	return s.awaitWebhooks(ctx)
}

// awaitWebhooks waits until the API server has noticed where the webhooks are:
// until then it refuses all pools.
func (s *stage) awaitWebhooks(ctx context.Context) error {
	pool := builder.GlobalIPPool("probe").WithCIDR("192.0.2.0/24").Build()
	return eventually(ctx, "the webhooks", func(ctx context.Context) error {
		return s.client.Create(ctx, pool.DeepCopy(), client.DryRunAll)
	})
}

// serviceAccount returns a configuration with a token of the service account
// that the installed Deployment names.
func (s *stage) serviceAccount(ctx context.Context) (*rest.Config, error) {
	deployments := &appsv1.DeploymentList{}
	if err := s.client.List(ctx, deployments, client.InNamespace(weirNamespace)); err != nil {
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	if n := len(deployments.Items); n != 1 {
		return nil, fmt.Errorf("namespace %s has %d Deployments, expected 1", weirNamespace, n)
	}
	name := deployments.Items[0].Spec.Template.Spec.ServiceAccountName
	s.identity = "system:serviceaccount:" + weirNamespace + ":" + name
	return s.cp.RESTConfigAs(ctx, s.identity)
}

// pids returns what is running.
func (s *stage) pids() map[string]int {
	pids := s.cp.PIDs()
	if s.manager != nil && s.manager.Running() {
		pids["manager"] = s.manager.PID()
	}
	return pids
}

// stop stops what was started, and removes the folder.
func (s *stage) stop() error {
	var errs []error
	if s.manager != nil {
		errs = append(errs, s.manager.Stop())
	}
	if s.cp != nil {
		errs = append(errs, s.cp.Stop(), os.RemoveAll(s.cp.Dir()))
	}
	return errors.Join(errs...)
}

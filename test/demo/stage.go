// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

const (
	waitTimeout = 30 * time.Second
	poll        = 20 * time.Millisecond
)

// stage is a cluster that the demo plays on.
type stage struct {
	// name is how the last lines begin that tell of it.
	name string
	keep bool
	// flags are the manager's, and kinds what there is to look at in the end.
	flags, kinds []string
	site         *framework.Site
	config       *rest.Config
	client       client.WithWatch
	manager      *framework.Manager
	cloud        *openstack.Cloud
}

// startCluster starts etcd and the API server, and takes the steps there. kube-controller-manager
// comes later: its garbage collector is slow to notice new kinds.
func (s *stage) startCluster(ctx context.Context, install ...framework.Step) (err error) {
	s.site, err = framework.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{Detach: s.keep, Keep: s.keep}, Scheme: scheme, Install: install,
	})
	if err != nil {
		return err
	}
	s.config, s.client = s.site.Config(), s.site.Client()
	return nil
}

func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientgoscheme.AddToScheme(s), ipamv1beta2.AddToScheme(s), ipamv1.AddToScheme(s), m3v1.AddToScheme(s))
}

// startManager runs Weir as a process, with the rights that the release gives
// it, and points the installed webhooks at it.
func (s *stage) startManager(ctx context.Context) (err error) {
	s.manager, err = s.site.StartManager(ctx, framework.ManagerOptions{Name: "manager", Args: s.flags})
	if err != nil {
		return err
	}
	return s.site.PointWebhooks(ctx, s.manager.WebhookAddress())
}

// remember notes what is running, so that it can be stopped later.
func (s *stage) remember() error {
	err := remember(keptFile, kept{Dir: s.site.Dir(), PIDs: s.pids()})
	if s.cloud == nil {
		return err
	}
	return errors.Join(err, remember(keptFile, kept{Dir: s.cloud.Dir(), PIDs: s.cloud.PIDs()}))
}

// pids returns what is running.
func (s *stage) pids() map[string]int {
	pids := s.site.PIDs()
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
	if s.cloud != nil {
		errs = append(errs, s.cloud.Stop())
	}
	if s.site != nil {
		errs = append(errs, s.site.Stop(), os.RemoveAll(s.site.Dir()))
	}
	return errors.Join(errs...)
}

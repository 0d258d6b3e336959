// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Step installs something on a control plane: InstallWeirCRDs, InstallRelease,
// InstallCAPICRDs, ...
type Step = func(context.Context, *rest.Config) error

// SiteOptions says what StartSite starts.
type SiteOptions struct {
	// Options are the control plane's. ControllerManager is started after all
	// steps, so that its garbage collector knows the kinds.
	Options
	// Components is the built release's set of components to install before anything else, as InstallRelease does with the usual one; "" for none.
	Components string
	// Install are the steps, in order.
	Install []Step
	// Namespaces are made after them.
	Namespaces []string
	// Scheme makes the kinds that clients know; nil means those of client-go.
	Scheme func() (*runtime.Scheme, error)
}

// Site is a control plane, what is installed on it, and the managers that run
// there as processes. Webhooks are called from nowhere until PointWebhooks.
type Site struct {
	*ControlPlane
	scheme *runtime.Scheme
	client client.WithWatch
	// components is the set whose webhooks are installed.
	components string
	// ca signed the certificate that all managers' webhooks serve.
	ca []byte

	mu        sync.Mutex
	managers  []*Manager
	launched  int
	balancers []*Balancer
}

// StartSite starts a site, without managers. On an error nothing is left
// running.
func StartSite(ctx context.Context, opts SiteOptions) (*Site, error) {
	cpOptions := opts.Options
	cpOptions.ControllerManager = false
	cp, err := StartControlPlane(ctx, cpOptions)
	if err != nil {
		return nil, err
	}
	s := &Site{ControlPlane: cp, components: cmp.Or(opts.Components, componentsFile)}
	if err := s.furnish(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Site) furnish(ctx context.Context, opts SiteOptions) (err error) {
	if s.ca, err = ServingCerts(s.WebhookCerts(), "127.0.0.1", unspecified); err != nil {
		return err
	}
	if opts.Scheme != nil {
		if s.scheme, err = opts.Scheme(); err != nil {
			return fmt.Errorf("making the scheme: %w", err)
		}
	}
	if s.client, err = s.ClientFor(s.Config()); err != nil {
		return err
	}
	if opts.Components != "" {
		if err = installComponents(ctx, s.Config(), opts.Components); err != nil {
			return err
		}
	}
	for _, install := range opts.Install {
		if err = install(ctx, s.Config()); err != nil {
			return err
		}
	}
	namespaces := make([]*unstructured.Unstructured, 0, len(opts.Namespaces))
	for _, name := range opts.Namespaces {
		namespaces = append(namespaces, &unstructured.Unstructured{Object: namespaceOf(name)})
	}
	if err = Apply(ctx, s.Config(), namespaces...); err != nil {
		return err
	}
	if opts.ControllerManager {
		return s.StartControllerManager(ctx)
	}
	return nil
}

// Client is the administrator's, without a cache.
func (s *Site) Client() client.WithWatch { return s.client }

// As returns a client that acts as a user: the API server judges its requests,
// RBAC and policies included, as this user's. See RESTConfigAs for one that
// authenticates, too.
func (s *Site) As(user string, groups ...string) (client.WithWatch, error) {
	cfg := s.Config()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return s.ClientFor(cfg)
}

// ClientFor returns a client that knows the site's kinds.
func (s *Site) ClientFor(cfg *rest.Config) (client.WithWatch, error) {
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: s.scheme})
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	return c, nil
}

// Clusterctl returns a clusterctl for this site, with the built release in its
// repository under each of the versions. It needs InstallCertManagerCRDs.
func (s *Site) Clusterctl(versions ...string) (*Clusterctl, error) {
	ctl, err := NewClusterctl(s.path("clusterctl"), s.KubeconfigPath())
	if err != nil {
		return nil, err
	}
	release, err := ReleaseDir()
	if err != nil {
		return nil, err
	}
	for _, version := range versions {
		if err := ctl.AddWeir(release, version); err != nil {
			return nil, err
		}
	}
	return ctl, nil
}

// ShowLogs writes the last complaints of every process's log: few enough that
// the failure that they go with is still seen.
func (s *Site) ShowLogs(w io.Writer) {
	logs, _ := filepath.Glob(s.path("*.log")) // The pattern is well formed.
	for _, path := range logs {
		fmt.Fprintf(w, "--- the last complaints of %s\n%s\n", filepath.Base(path), complaints(logAt(path)))
	}
}

// KillManagers kills all managers: a suite does so after each spec that runs
// some of its own.
func (s *Site) KillManagers() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, 0, len(s.managers))
	for _, m := range s.managers {
		errs = append(errs, m.Kill())
	}
	s.managers = nil
	return errors.Join(errs...)
}

// Stop kills the managers and stops the control plane.
func (s *Site) Stop() error {
	errs := []error{s.KillManagers()}
	for _, b := range s.balancers {
		errs = append(errs, b.Close())
	}
	s.balancers = nil
	return errors.Join(append(errs, s.ControlPlane.Stop())...)
}

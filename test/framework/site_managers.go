// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

const (
	// ManagerNamespace is where the release puts Weir, and what a manager takes
	// for its own.
	ManagerNamespace = "weir-system"
	// ManagerAccount is the user that a manager of the release is.
	ManagerAccount = serviceAccountPrefix + ManagerNamespace + ":weir-system-manager"
)

// Manager is one of a site's managers, through all its lives: it keeps its
// name, identity, flags and webhook port. The embedded process is the present
// life; nothing else may be done to the manager while Restart changes it.
type Manager struct {
	*ManagerProcess
	options  ManagerOptions
	webhooks string
}

// Launch starts a manager and does not wait for it. Its folder and whether it is
// detached are the site's. Where the options say nothing, it has a name of its
// own and the identity of the release's service account or, without a release,
// the administrator's. Args come after the site's flags, and of a flag that is
// given twice the last one wins: without any a manager elects no leader, serves
// no diagnostics, and has nobody but the API server call its webhooks.
func (s *Site) Launch(ctx context.Context, opts ManagerOptions) (*Manager, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if opts.Config == nil {
		if opts.Config, err = s.identity(ctx); err != nil {
			return nil, err
		}
	}
	s.launched++
	opts.Name = cmp.Or(opts.Name, fmt.Sprintf("manager-%d", s.launched))
	opts.Dir, opts.Detach = s.Dir(), s.opts.Detach
	opts.Env = append([]string{"POD_NAMESPACE=" + ManagerNamespace}, opts.Env...)
	opts.Args = slices.Concat([]string{
		"--leader-elect=false", "--diagnostics-address=0",
		"--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", port), "--webhook-cert-dir=" + s.WebhookCerts(),
	}, s.WebhookClientFlags(), shortGrace(opts.Args), opts.Args)
	m := &Manager{options: opts, webhooks: hostPort(port)}
	if m.ManagerProcess, err = StartManager(opts); err != nil {
		return nil, err
	}
	s.managers = append(s.managers, m)
	return m, nil
}

// shortGrace states a request timeout of the API server that goes with any --repair-grace among the flags. Suites repair within seconds: none
// of their requests lasts as long as a real one may, but for those that say otherwise.
func shortGrace(args []string) []string {
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--repair-grace=") }) {
		return []string{"--apiserver-request-timeout=500ms"}
	}
	return nil
}

func (s *Site) identity(ctx context.Context) (*rest.Config, error) {
	cfg, err := s.RESTConfigAs(ctx, ManagerAccount)
	if apierrors.IsNotFound(err) {
		return s.Config(), nil
	}
	return cfg, err
}

// StartManager launches a manager and waits until it is ready.
func (s *Site) StartManager(ctx context.Context, opts ManagerOptions) (*Manager, error) {
	m, err := s.Launch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return m, m.WaitReady(ctx)
}

// Restart kills the manager, unless it has ended, starts it again as it was and
// waits until it is ready.
func (m *Manager) Restart(ctx context.Context) error {
	if err := m.Kill(); err != nil {
		return err
	}
	next, err := StartManager(m.options)
	if err != nil {
		return err
	}
	m.ManagerProcess = next
	return m.WaitReady(ctx)
}

// WebhookAddress returns the host and port of the manager's webhooks.
func (m *Manager) WebhookAddress() string { return m.webhooks }

// Balance opens one address for the webhooks of several managers, as their
// Service would be. It closes with the site.
func (s *Site) Balance(managers ...*Manager) (*Balancer, error) {
	targets := make([]string, 0, len(managers))
	for _, m := range managers {
		targets = append(targets, m.WebhookAddress())
	}
	b, err := NewBalancer(targets...)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.balancers = append(s.balancers, b)
	return b, nil
}

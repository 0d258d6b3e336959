// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	startAttempts = 4
	startTimeout  = 3 * time.Minute
)

// Options says what StartControlPlane starts. The zero value is an etcd without
// fsync and an API server in a folder of its own.
type Options struct {
	// ControllerManager starts kube-controller-manager too: garbage collector,
	// namespace, service account, deployment and the other default controllers.
	// Its garbage collector looks for new kinds every 30 seconds only: where
	// that matters, install the CRDs first and call StartControllerManager.
	ControllerManager bool
	// APIServerArgs are added to the API server's flags; the last one wins.
	APIServerArgs []string
	// Dir is the folder for data, certificates and logs. Empty means a
	// temporary one, removed by Stop.
	Dir string
	// Keep leaves the folder where it is when the control plane stops.
	Keep bool
	// EtcdMembers is the number of etcd's members; zero means one.
	EtcdMembers int
	// Fsync makes etcd durable, as in production, and slower. A benchmark says
	// which it used.
	Fsync bool
	// Detach lets the processes outlive this one if Stop is not called.
	Detach bool
	// OneProcessor has each program of the control plane run on one processor
	// at a time. Where many share few, they then take less of them.
	OneProcessor bool
}

// ControlPlane is a running etcd and API server. Its methods may not be called
// concurrently, except Config, KubeconfigPath and RESTConfigAs.
type ControlPlane struct {
	opts       Options
	dir        string
	ca         *authority
	admin      keyPair
	apiPort    int
	etcd       []*member
	apiServer  *process
	controller *process
}

// StartControlPlane starts a control plane and returns when its API server is
// ready, in about 4 seconds. ctx bounds the start only, not the control plane's
// life. On an error nothing is left running.
func StartControlPlane(ctx context.Context, opts Options) (*ControlPlane, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cp, err := newControlPlane(opts)
	if err != nil {
		return nil, err
	}
	if err := cp.start(ctx); err != nil {
		return nil, errors.Join(err, cp.Stop())
	}
	return cp, nil
}

func newControlPlane(opts Options) (*ControlPlane, error) {
	cp := &ControlPlane{opts: opts, dir: opts.Dir, etcd: newMembers(opts.EtcdMembers)}
	if cp.dir == "" {
		dir, err := os.MkdirTemp("", "weir-control-plane-")
		if err != nil {
			return nil, fmt.Errorf("making the control plane's folder: %w", err)
		}
		cp.dir = dir
	}
	if err := cp.writePKI(); err != nil {
		return nil, err
	}
	return cp, nil
}

func (cp *ControlPlane) start(ctx context.Context) error {
	ports := make([]*int, 0, 2*len(cp.etcd))
	for _, m := range cp.etcd {
		ports = append(ports, &m.client, &m.peer)
	}
	if err := onFreePorts(func() error { return cp.formEtcd(ctx) }, cp.etcdLostPort, ports...); err != nil {
		return err
	}
	if err := onFreePorts(func() error { return cp.startAPIServer(ctx) }, cp.apiServerLostPort, &cp.apiPort); err != nil {
		return err
	}
	if err := WriteKubeconfig(cp.Config(), cp.KubeconfigPath()); err != nil {
		return err
	}
	if cp.opts.ControllerManager {
		return cp.StartControllerManager(ctx)
	}
	return nil
}

// onFreePorts chooses ports and runs start, again with other ports if one of
// them was found taken.
func onFreePorts(start func() error, lostPort func() bool, ports ...*int) error {
	var err error
	for range startAttempts {
		for _, port := range ports {
			if *port, err = FreePort(); err != nil {
				return err
			}
		}
		if err = start(); err == nil || !lostPort() {
			return err
		}
	}
	return err
}

func (cp *ControlPlane) writePKI() error {
	ca, err := newAuthority("weir-test-ca")
	if err != nil {
		return err
	}
	serving, err := ca.serving("127.0.0.1", "localhost", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	accounts, err := ca.client("service-accounts")
	if err != nil {
		return err
	}
	cp.ca = ca
	if cp.admin, err = ca.client("weir-admin", "system:masters"); err != nil {
		return err
	}
	webhooks, err := ca.client(WebhookClient)
	if err != nil {
		return err
	}
	return errors.Join(writeFiles(cp.path("pki"), map[string][]byte{
		"ca.crt":        ca.pem,
		"apiserver.crt": serving.cert,
		"apiserver.key": serving.key,
		"sa.key":        accounts.key,
		"webhooks.crt":  webhooks.cert,
		"webhooks.key":  webhooks.key,
	}), writeFiles(cp.dir, cp.webhookClient()))
}

func (cp *ControlPlane) startAPIServer(ctx context.Context) error {
	key := cp.path("pki", "sa.key")
	args := append([]string{
		"--etcd-servers=" + strings.Join(cp.etcdURLs(), ","),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", cp.apiPort),
		"--tls-cert-file=" + cp.path("pki", "apiserver.crt"),
		"--tls-private-key-file=" + cp.path("pki", "apiserver.key"),
		"--client-ca-file=" + cp.path("pki", "ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--admission-control-config-file=" + cp.path(admissionFile),
		"--authorization-mode=RBAC",
		"--allow-privileged",
	}, cp.opts.APIServerArgs...)
	var err error
	if cp.apiServer, err = cp.run("kube-apiserver", args); err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(cp.Config())
	if err != nil {
		return fmt.Errorf("building the admin's client: %w", err)
	}
	defer client.CloseIdleConnections()
	return cp.apiServer.wait(ctx, httpProbe(client, cp.Config().Host+"/readyz"))
}

// StartControllerManager starts kube-controller-manager and returns when its
// controllers work (the default namespace has its service account).
func (cp *ControlPlane) StartControllerManager(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	kubeconfig := cp.KubeconfigPath()
	var err error
	cp.controller, err = cp.run("kube-controller-manager", []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--service-account-private-key-file=" + cp.path("pki", "sa.key"),
		"--root-ca-file=" + cp.path("pki", "ca.crt"),
		// As in production: every controller is a service account of its own, which policies know by name.
		"--use-service-account-credentials=true",
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	})
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(cp.Config())
	if err != nil {
		return fmt.Errorf("building the admin's client: %w", err)
	}
	defer client.CloseIdleConnections()
	return cp.controller.wait(ctx, httpProbe(client, cp.Config().Host+"/api/v1/namespaces/default/serviceaccounts/default"))
}

func (cp *ControlPlane) apiServerLostPort() bool {
	return cp.apiServer != nil && cp.apiServer.lostPort()
}

func (cp *ControlPlane) run(program string, args []string) (*process, error) {
	return cp.runAs(program, program, args)
}

func (cp *ControlPlane) runAs(program, name string, args []string) (*process, error) {
	path, err := Binary(program)
	if err != nil {
		return nil, err
	}
	env := []string{"NO_PROXY=*", "no_proxy=*"} // All of it is on this machine.
	if cp.opts.OneProcessor {
		env = append(env, "GOMAXPROCS=1")
	}
	return command{name: name, path: path, args: args, logPath: cp.LogPath(name), detach: cp.opts.Detach, env: env}.start()
}

func (cp *ControlPlane) path(elem ...string) string {
	return filepath.Join(append([]string{cp.dir}, elem...)...)
}

// Dir returns the control plane's folder.
func (cp *ControlPlane) Dir() string { return cp.dir }

// LogPath returns the log file of etcd (of its first member; etcd-2 is the
// second's), kube-apiserver or kube-controller-manager.
func (cp *ControlPlane) LogPath(name string) string { return cp.path(name + ".log") }

// KubeconfigPath returns the administrator's kubeconfig file.
func (cp *ControlPlane) KubeconfigPath() string { return cp.path("admin.kubeconfig") }

// EtcdURL returns the client URL of etcd's first member, without TLS.
func (cp *ControlPlane) EtcdURL() string { return cp.etcd[0].url() }

// Config returns a new administrator's configuration without a client-side rate
// limit.
func (cp *ControlPlane) Config() *rest.Config { return cp.config(cp.admin) }

func (cp *ControlPlane) config(pair keyPair) *rest.Config {
	return &rest.Config{
		Host:            "https://" + hostPort(cp.apiPort),
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.ca.pem, CertData: pair.cert, KeyData: pair.key},
	}
}

// PIDs returns the process IDs of what is running, by program.
func (cp *ControlPlane) PIDs() map[string]int {
	pids := map[string]int{}
	for _, p := range cp.processes() {
		if p.running() {
			pids[p.name] = p.pid()
		}
	}
	return pids
}

// processes returns all that were started, in the order in which they end.
func (cp *ControlPlane) processes() []*process {
	all := make([]*process, 0, 2+len(cp.etcd))
	all = append(all, cp.controller, cp.apiServer)
	for _, m := range cp.etcd {
		all = append(all, m.process)
	}
	return slices.DeleteFunc(all, func(p *process) bool { return p == nil })
}

// RestartAPIServer kills the API server and starts it again on its port: all
// watches are cut, and its watch cache forgets what it had seen.
func (cp *ControlPlane) RestartAPIServer(ctx context.Context) error {
	restart, err := cp.KillAPIServer()
	if err != nil {
		return err
	}
	return restart(ctx)
}

// KillAPIServer kills the API server. The returned function starts it again on
// its port.
func (cp *ControlPlane) KillAPIServer() (restart func(context.Context) error, err error) {
	if err := cp.apiServer.kill(); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return cp.again(ctx, cp.startAPIServer, cp.apiServerLostPort) }, nil
}

// again runs start until the port of the process before is free again.
func (cp *ControlPlane) again(ctx context.Context, start func(context.Context) error, lostPort func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := start(ctx)
		if err == nil || ctx.Err() != nil || !lostPort() {
			return err
		}
	}
}

// Stop kills all processes and removes the folder, unless Options.Keep is set.
// It may be called more than once.
func (cp *ControlPlane) Stop() error {
	var errs []error
	for _, p := range cp.processes() {
		errs = append(errs, p.kill())
	}
	if !cp.opts.Keep {
		errs = append(errs, os.RemoveAll(cp.dir))
	}
	return errors.Join(errs...)
}

// httpProbe returns a probe that succeeds when the URL answers 200.
func httpProbe(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("building a request to %s: %w", url, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("probing: %w", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("probing %s: %s", url, resp.Status)
		}
		return nil
	}
}

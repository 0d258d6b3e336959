// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

const readyTimeout = 3 * time.Minute

// ManagerOptions says how StartManager starts a manager.
type ManagerOptions struct {
	// Name tells several managers' files apart; default "manager".
	Name string
	// Config is the server and the identity the manager works with: use
	// RESTConfigAs for a service account, so that its RBAC rules are tested.
	Config *rest.Config
	// Dir is the folder for kubeconfig and log, normally the control plane's.
	Dir string
	// Args are the manager's flags besides the health address.
	Args []string
	// Env is added to the environment, as NAME=value.
	Env []string
	// Binary is the program; default is "manager", as Binary finds it.
	Binary string
	// Detach lets the process outlive this one.
	Detach bool
}

// ManagerProcess is a manager that runs as a separate process, so that it can
// be killed and paused like one. Its methods may be called concurrently.
type ManagerProcess struct {
	process *process
	health  string
}

// StartManager starts a manager and does not wait for it: see WaitReady. The
// manager finds its server through KUBECONFIG.
func StartManager(opts ManagerOptions) (*ManagerProcess, error) {
	if opts.Name == "" {
		opts.Name = "manager"
	}
	if opts.Binary == "" {
		path, err := Binary("manager")
		if err != nil {
			return nil, err
		}
		opts.Binary = path
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the manager's folder: %w", err)
	}
	kubeconfig := filepath.Join(opts.Dir, opts.Name+".kubeconfig")
	if err := WriteKubeconfig(opts.Config, kubeconfig); err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	p, err := command{
		name:    opts.Name,
		path:    opts.Binary,
		args:    append([]string{"--health-probe-bind-address=" + hostPort(port)}, opts.Args...),
		env:     append([]string{"KUBECONFIG=" + kubeconfig}, opts.Env...),
		logPath: filepath.Join(opts.Dir, opts.Name+".log"),
		detach:  opts.Detach,
	}.start()
	if err != nil {
		return nil, err
	}
	return &ManagerProcess{process: p, health: "http://" + hostPort(port)}, nil
}

// WaitReady waits until the manager's /readyz answers, for at most a minute. It
// fails at once, with the end of the log, when the process ends.
func (m *ManagerProcess) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return m.process.wait(ctx, httpProbe(http.DefaultClient, m.health+"/readyz"))
}

// LogPath returns the manager's log file; a manager restarted under its name
// appends to it.
func (m *ManagerProcess) LogPath() string { return m.process.logPath }

// HealthURL returns the base URL of /healthz and /readyz.
func (m *ManagerProcess) HealthURL() string { return m.health }

// PID returns the process ID.
func (m *ManagerProcess) PID() int { return m.process.pid() }

// Running reports whether the process has not ended yet.
func (m *ManagerProcess) Running() bool { return m.process.running() }

// Done returns a channel that closes when the process has ended.
func (m *ManagerProcess) Done() <-chan struct{} { return m.process.done }

// ExitCode returns the exit code of a process that has ended, and -1 for one
// that runs or was ended by a signal.
func (m *ManagerProcess) ExitCode() int {
	if m.Running() {
		return -1
	}
	return m.process.cmd.ProcessState.ExitCode()
}

// Stop asks the manager to end (SIGTERM) and waits until it has; after 15
// seconds it is killed, which is an error. A paused manager is resumed first.
func (m *ManagerProcess) Stop() error {
	if err := m.Resume(); err != nil {
		return err
	}
	return m.process.stop()
}

// Kill ends the manager at once (SIGKILL), paused or not, and waits until it is
// gone.
func (m *ManagerProcess) Kill() error { return m.process.kill() }

// Pause stops the manager's process where it is (SIGSTOP).
func (m *ManagerProcess) Pause() error { return m.process.signal(syscall.SIGSTOP) }

// Resume lets a paused manager go on (SIGCONT).
func (m *ManagerProcess) Resume() error { return m.process.signal(syscall.SIGCONT) }

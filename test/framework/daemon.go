// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import "context"

// DaemonOptions describe a server beside the control plane.
type DaemonOptions struct {
	// Name is for messages.
	Name string
	Path string
	Args []string
	// Env is added to this process's own.
	Env []string
	// LogPath is the file that its output is appended to.
	LogPath string
	// Detach lets the process outlive this one.
	Detach bool
}

// Daemon is such a server, a child process that ends with this one, unless it is detached.
type Daemon struct{ process *process }

// StartDaemon starts a server and does not wait for it.
func StartDaemon(o DaemonOptions) (*Daemon, error) {
	p, err := command{name: o.Name, path: o.Path, args: o.Args, env: o.Env, logPath: o.LogPath, detach: o.Detach}.start()
	if err != nil {
		return nil, err
	}
	return &Daemon{p}, nil
}

// Wait polls probe until it succeeds. It fails when the server or ctx ends, with the end of the server's log.
func (d *Daemon) Wait(ctx context.Context, probe func(context.Context) error) error {
	return d.process.wait(ctx, probe)
}

// Stop asks the server to end, and ends it if it does not.
func (d *Daemon) Stop() error { return d.process.stop() }

// PID returns the process ID.
func (d *Daemon) PID() int { return d.process.pid() }

// LogTail returns the end of the server's log.
func (d *Daemon) LogTail() []byte { return d.process.logTail() }

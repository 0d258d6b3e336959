// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// errExited says that a process ended while something still waited for it.
var errExited = errors.New("process exited")

const (
	pollInterval = 25 * time.Millisecond
	// stopTimeout is longer than what a manager gives itself: 20 seconds for what is under way, and 10 for its lease.
	stopTimeout = time.Minute
	// dumpTimeout is how long a process may take to write where its goroutines are.
	dumpTimeout = 15 * time.Second
)

// command describes a child process.
type command struct {
	name    string
	path    string
	args    []string
	env     []string
	logPath string
	// detach lets the process outlive its parent.
	detach bool
}

// process is a running child process; done closes when it has ended.
type process struct {
	command
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// start starts the command with its output appended to its log file.
//
// The child gets SIGKILL when its parent dies. The kernel ties that signal to
// the *thread* that forked, not to the process, and Go retires threads: so the
// goroutine that forks is locked to its thread and keeps it until the child has
// ended. A process group of its own keeps a terminal's Ctrl-C from the child,
// so that the parent stops its children in order.
func (c command) start() (*process, error) {
	log, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", c.name, err)
	}
	p := &process{command: c, done: make(chan struct{})}
	p.cmd = exec.Command(c.path, c.args...) // Without a context: it outlives the call.
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), c.env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !c.detach {
		p.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started := make(chan error)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	return p, nil
}

func (p *process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	spend(filepath.Base(p.path), p.cmd.ProcessState)
	close(p.done)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends a signal; a process that has ended is not an error.
func (p *process) signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling %s: %w", p.name, err)
	}
	return nil
}

// kill ends the process at once and waits until it is gone.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// stop asks the process to end. One that takes too long is ended by a signal on which a Go program writes where each of its
// goroutines is, and the error has what it wrote since it was asked.
func (p *process) stop() error {
	said := len(p.log())
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if p.waitDone(stopTimeout) == nil {
		return nil
	}
	err := errors.Join(p.signal(syscall.SIGQUIT), p.waitDone(dumpTimeout), p.kill())
	return errors.Join(fmt.Errorf("stopping %s: still running after %s:\n%s", p.name, stopTimeout, p.log()[said:]), err)
}

func (p *process) waitDone(timeout time.Duration) error {
	select {
	case <-p.done:
		return nil
	case <-time.After(timeout):
		return fmt.Errorf("%s is still running", p.name)
	}
}

// wait polls probe until it succeeds. It fails when the process ends or ctx
// does, with the end of the process's log.
func (p *process) wait(ctx context.Context, probe func(context.Context) error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("waiting for %s: %w: %w\n%s", p.name, errExited, p.err, p.logTail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w\n%s", p.name, ctx.Err(), err, p.logTail())
		case <-tick.C:
		}
	}
}

const logTailBytes = 4096

func (p *process) logTail() []byte { return logTail(p.logPath) }

func (p *process) log() []byte { return logAt(p.logPath) }

func logTail(path string) []byte {
	log := logAt(path)
	return log[max(0, len(log)-logTailBytes):]
}

const (
	complaintsShown = 6
	complaintBytes  = 300
)

// complaints returns the last lines of a log that are not klog's or etcd's
// information, each cut.
func complaints(log []byte) []byte {
	var lines [][]byte
	for line := range bytes.Lines(log) {
		if !information.Match(line) {
			lines = append(lines, bytes.TrimSuffix(line[:min(len(line), complaintBytes)], []byte("\n")))
		}
	}
	return bytes.Join(lines[max(0, len(lines)-complaintsShown):], []byte("\n"))
}

var information = regexp.MustCompile(`^I\d{4} |"level":"info"`)

func logAt(path string) []byte {
	log, err := os.ReadFile(path)
	if err != nil {
		return fmt.Appendf(nil, "no log: %v", err)
	}
	return log
}

// lostPort reports whether the process ended because its port was taken
// between its choice and its use.
func (p *process) lostPort() bool {
	return !p.running() && bytes.Contains(p.logTail(), []byte("address already in use"))
}

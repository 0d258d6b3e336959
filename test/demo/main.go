// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows Weir at work: it starts a management cluster of its own
// on loopback, installs Weir as clusterctl does, creates pools and claims, and
// tells what happens. Everything it tells is read back from the API server, and
// what is not as it should be ends it with exit code 1.
//
// It leaves nothing behind, unless the environment variable KEEP is set: then
// the cluster stays, and the last lines say how to use and how to stop it. With
// the argument stop it ends what was kept. With the environment variable OPENSTACK
// it starts a real Keystone and Neutron, too, and hands out floating IPs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "stop" {
		if err := stopKept(os.Stdout, keptFile); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv("KEEP") != "", os.Getenv("OPENSTACK") != "")
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// run tells the story. A cluster is kept even if something in it is not as
// expected, so that one can look, but not when the demo is interrupted.
func run(ctx context.Context, keep, withCloud bool) (err error) {
	a := newAccount(os.Stdout)
	s := &stage{keep: keep, withCloud: withCloud}
	defer func() {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		if keep && ctx.Err() == nil && s.manager != nil {
			err = errors.Join(err, remember(keptFile, kept{Dir: s.site.Dir(), PIDs: s.pids()}))
			if s.cloud != nil {
				err = errors.Join(err, remember(keptFile, kept{Dir: s.cloud.Dir(), PIDs: s.cloud.PIDs()}))
			}
			a.farewell(s)
			return
		}
		if stopErr := s.stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
		} else if err == nil {
			a.say("All processes are stopped and their folder is removed.")
		}
	}()
	if withCloud {
		if err = openstack.Installed(); err != nil {
			return err
		}
	}
	p := &play{stage: s, account: a}
	for _, scene := range p.scenes() {
		a.heading(scene.title)
		if err := scene.perform(ctx); err != nil {
			return fmt.Errorf("%s: %w", scene.title, err)
		}
	}
	return nil
}

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
// it starts a real Keystone and Neutron, too, and hands out floating IPs. With
// FEDERATION it tells another story: of a hub and two member clusters.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
	keep := os.Getenv("KEEP") != ""
	a := newAccount(os.Stdout)
	err := run(ctx, a, choose(a, keep), keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// story is what is told, and the clusters that it plays on.
type story interface {
	// ready errs if something is missing on this machine.
	ready() error
	scenes() []scene
	// stages are the clusters; one that has not been started has no site.
	stages() []*stage
	// close ends what is not to outlive the demo.
	close()
}

// choose returns the story that the environment asks for.
func choose(a *account, keep bool) story {
	if os.Getenv("FEDERATION") != "" {
		return newFleet(a, keep)
	}
	return newPlay(a, keep, os.Getenv("OPENSTACK") != "")
}

// run tells the story. Clusters are kept even if something in them is not as
// expected, so that one can look, but not when the demo is interrupted.
func run(ctx context.Context, a *account, told story, keep bool) (err error) {
	defer func() {
		told.close()
		switch {
		case ctx.Err() != nil:
			err = errors.Join(errors.New("interrupted"), stop(told.stages()))
		case keep:
			err = errors.Join(err, keepAll(a, told.stages()))
		default:
			if stopErr := stop(told.stages()); stopErr != nil || err != nil {
				err = errors.Join(err, stopErr)
				return
			}
			a.say("All processes are stopped and their folders are removed.")
		}
	}()
	if err = told.ready(); err != nil {
		return err
	}
	for _, scene := range told.scenes() {
		a.heading(scene.title)
		if err := scene.perform(ctx); err != nil {
			return fmt.Errorf("%s: %w", scene.title, err)
		}
	}
	return nil
}

// stop stops what was started of some clusters.
func stop(stages []*stage) error {
	errs := make([]error, 0, len(stages))
	for _, s := range stages {
		errs = append(errs, s.stop())
	}
	return errors.Join(errs...)
}

// keepAll leaves clusters running that have a manager, says how to use them, and stops the others.
func keepAll(a *account, stages []*stage) error {
	var kept, others []*stage
	var errs []error
	for _, s := range stages {
		if s.manager == nil {
			others = append(others, s)
			continue
		}
		kept = append(kept, s)
		errs = append(errs, s.remember())
	}
	if len(kept) > 0 {
		a.farewell(kept)
	}
	return errors.Join(append(errs, stop(others))...)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Injector makes trouble until it is told not to.
type Injector struct {
	Site     *framework.Site
	Replicas []*Replica
	// Stream tells the injectors of a spec apart: they make different choices.
	Stream uint64
	// Proxies are those of others who are to be disturbed.
	Proxies []*framework.ConnectionProxy

	// Quiet is how long a kind of trouble leaves off, at most.
	Quiet time.Duration
	// Progress counts what has been done. A kind of trouble leaves off until something more has: what is slow gets there, too. Nil is
	// for trouble that waits for nothing.
	Progress func() int
	// Pause is for how long a manager is stopped, given how many have been.
	Pause func(random *rand.Rand, before int64) time.Duration
	// Long is what makes a stop a long one.
	Long time.Duration

	kills, stops, longStops, cuts, compactions, ended atomic.Int64
}

// Run disturbs until ctx ends. Then everybody runs and can reach the API server.
func (d *Injector) Run(ctx context.Context) {
	kinds := []func(context.Context, *rand.Rand){d.kill, d.stop, d.cut, d.compact}
	parts := make([]func(context.Context), 0, len(kinds))
	for i, trouble := range kinds {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), d.Stream+uint64(i)))
		parts = append(parts, func(ctx context.Context) {
			for ctx.Err() == nil {
				d.leaveOff(ctx, UpTo(random, d.Quiet))
				trouble(ctx, random)
			}
		})
	}
	Together(ctx, parts...)
}

// leaveOff sleeps, and then until there is more progress.
func (d *Injector) leaveOff(ctx context.Context, quiet time.Duration) {
	if d.Progress == nil {
		Sleep(ctx, quiet)
		return
	}
	before := d.Progress()
	Sleep(ctx, quiet)
	for ctx.Err() == nil && d.Progress() == before {
		Sleep(ctx, 200*time.Millisecond)
	}
}

// Restart starts managers again that have ended by themselves, until ctx ends: one that leads and is stopped for too long does, as
// it ought to.
func (d *Injector) Restart(ctx context.Context) {
	for ctx.Err() == nil {
		Sleep(ctx, time.Second)
		d.Revive(ctx)
	}
}

// Revive starts the managers again that have ended by themselves. A manager that lost its lease to a stop may end some time after
// the trouble.
func (d *Injector) Revive(ctx context.Context) {
	for _, r := range d.Replicas {
		d.revive(context.WithoutCancel(ctx), r)
	}
}

func (d *Injector) revive(ctx context.Context, r *Replica) {
	if !r.alive.TryLock() {
		return
	}
	defer r.alive.Unlock()
	if !r.Running() {
		d.ended.Add(1)
		Expect(r.Restart(ctx)).To(Succeed())
	}
}

// Renew kills each manager and starts it again: what one had under way is not done later.
func (d *Injector) Renew(ctx context.Context) {
	GinkgoHelper()
	for _, r := range d.Replicas {
		r.alive.Lock()
		err := r.Restart(context.WithoutCancel(ctx))
		r.alive.Unlock()
		Expect(err).NotTo(HaveOccurred())
	}
}

// Ended is how many managers have ended by themselves and been started again.
func (d *Injector) Ended() int64 { return d.ended.Load() }

// Enough says whether there has been trouble of every kind so often, and so many long stops.
func (d *Injector) Enough(each, long int64) bool {
	for _, n := range []*atomic.Int64{&d.kills, &d.stops, &d.cuts, &d.compactions} {
		if n.Load() < each {
			return false
		}
	}
	return d.longStops.Load() >= long
}

func (d *Injector) replica(random *rand.Rand) *Replica {
	return d.Replicas[random.IntN(len(d.Replicas))]
}

// kill ends a manager (SIGKILL), and starts it again a little later.
func (d *Injector) kill(ctx context.Context, random *rand.Rand) {
	r := d.replica(random)
	if !r.alive.TryLock() {
		return
	}
	defer r.alive.Unlock()
	if !r.Running() {
		return
	}
	r.die(context.WithoutCancel(ctx))
	d.kills.Add(1)
	Sleep(ctx, UpTo(random, 2*time.Second))
	Expect(r.Restart(context.WithoutCancel(ctx))).To(Succeed())
}

// stop holds a manager where it is (SIGSTOP).
func (d *Injector) stop(ctx context.Context, random *rand.Rand) {
	r := d.replica(random)
	if !r.alive.TryRLock() {
		return
	}
	defer r.alive.RUnlock()
	began := time.Now()
	if r.Pause() != nil {
		return // it has just ended
	}
	Sleep(ctx, d.Pause(random, d.stops.Load()))
	Expect(r.Resume()).To(Succeed())
	d.stops.Add(1)
	if time.Since(began) > d.Long {
		d.longStops.Add(1)
	}
}

// cut ends the connections of somebody, who may make new ones at once.
func (d *Injector) cut(_ context.Context, random *rand.Rand) {
	d.disconnect(random, func(proxy *framework.ConnectionProxy) {
		proxy.Cut()
		d.cuts.Add(1)
	})
}

// compact ends the connections of somebody and lets him make new ones when what he has missed cannot be watched any more.
func (d *Injector) compact(ctx context.Context, random *rand.Rand) {
	d.disconnect(random, func(proxy *framework.ConnectionProxy) {
		proxy.Down()
		defer proxy.Up()
		Sleep(ctx, 500*time.Millisecond+UpTo(random, time.Second))
		Expect(d.Site.Compact(context.WithoutCancel(ctx))).To(Succeed())
		d.compactions.Add(1)
	})
}

// disconnect does something to the proxy of a manager that runs, or of somebody else.
func (d *Injector) disconnect(random *rand.Rand, do func(*framework.ConnectionProxy)) {
	i := random.IntN(len(d.Replicas) + len(d.Proxies))
	if i >= len(d.Replicas) {
		do(d.Proxies[i-len(d.Replicas)])
		return
	}
	if r := d.Replicas[i]; r.alive.TryRLock() { // it would not start
		defer r.alive.RUnlock()
		do(r.Proxy)
	}
}

func (d *Injector) String() string {
	return fmt.Sprintf("%d kills, %d stops (%d longer than %s), %d cuts, %d compactions; %d managers ended by themselves",
		d.kills.Load(), d.stops.Load(), d.longStops.Load(), d.Long, d.cuts.Load(), d.compactions.Load(), d.ended.Load())
}

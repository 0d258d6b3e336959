// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// quiet is how long a kind of trouble leaves off, at most.
const quiet = 8 * time.Second

// enough is how often there must have been trouble of each kind.
const enough = 2

// webhookTimeout is how long the API server waits for Weir.
const webhookTimeout = 10 * time.Second

// disturber makes trouble until it is told not to.
type disturber struct {
	replicas []*replica

	kills, stops, longStops, cuts, compactions, ended atomic.Int64
}

// run disturbs until ctx ends. Then everybody runs and can reach the API server.
func (d *disturber) run(ctx context.Context) {
	kinds := []func(context.Context, *rand.Rand){d.kill, d.stop, d.cut, d.compact}
	parts := append(make([]func(context.Context), 0, 1+len(kinds)), d.nurse)
	for i, trouble := range kinds {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), uint64(i)))
		parts = append(parts, func(ctx context.Context) {
			for ctx.Err() == nil {
				nap(ctx, upTo(random, quiet))
				trouble(ctx, random)
			}
		})
	}
	together(ctx, parts...)
}

// isEnough says whether there has been trouble of every kind.
func (d *disturber) isEnough() bool {
	for _, n := range []*atomic.Int64{&d.kills, &d.stops, &d.cuts, &d.compactions} {
		if n.Load() < enough {
			return false
		}
	}
	return d.longStops.Load() > 0
}

func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}

func (d *disturber) replica(random *rand.Rand) *replica {
	return d.replicas[random.IntN(len(d.replicas))]
}

// nurse starts managers again that have ended by themselves: one that leads and is stopped for too long does, as it ought to.
func (d *disturber) nurse(ctx context.Context) {
	for ctx.Err() == nil {
		nap(ctx, time.Second)
		for _, r := range d.replicas {
			d.revive(context.WithoutCancel(ctx), r)
		}
	}
}

func (d *disturber) revive(ctx context.Context, r *replica) {
	if !r.alive.TryLock() {
		return
	}
	defer r.alive.Unlock()
	if !r.Running() {
		d.ended.Add(1)
		Expect(r.Restart(ctx)).To(Succeed())
	}
}

// kill ends a manager (SIGKILL), and starts it again a little later.
func (d *disturber) kill(ctx context.Context, random *rand.Rand) {
	r := d.replica(random)
	if !r.alive.TryLock() {
		return
	}
	defer r.alive.Unlock()
	if !r.Running() {
		return
	}
	r.counted.add(r.counts(context.WithoutCancel(ctx)))
	Expect(r.Kill()).To(Succeed())
	d.kills.Add(1)
	nap(ctx, upTo(random, 2*time.Second))
	Expect(r.Restart(context.WithoutCancel(ctx))).To(Succeed())
}

// stop holds a manager where it is (SIGSTOP), one time in three for longer than the API server waits for it.
func (d *disturber) stop(ctx context.Context, random *rand.Rand) {
	r := d.replica(random)
	if !r.alive.TryRLock() {
		return
	}
	defer r.alive.RUnlock()
	pause := time.Second + upTo(random, 4*time.Second)
	if d.stops.Load()%3 == 1 {
		pause = webhookTimeout + time.Second
	}
	began := time.Now()
	if r.Pause() != nil {
		return // it has just ended
	}
	nap(ctx, pause)
	Expect(r.Resume()).To(Succeed())
	d.stops.Add(1)
	if time.Since(began) > webhookTimeout {
		d.longStops.Add(1)
	}
}

// cut ends the connections of a manager, which may make new ones at once.
func (d *disturber) cut(_ context.Context, random *rand.Rand) {
	d.replica(random).link.Cut()
	d.cuts.Add(1)
}

// compact ends the connections of a manager and lets it make new ones when what it has missed cannot be watched any more.
func (d *disturber) compact(ctx context.Context, random *rand.Rand) {
	r := d.replica(random)
	if !r.alive.TryRLock() { // it would not start
		return
	}
	defer r.alive.RUnlock()
	r.link.Down()
	defer r.link.Up()
	nap(ctx, 500*time.Millisecond+upTo(random, time.Second))
	Expect(site.Compact(context.WithoutCancel(ctx))).To(Succeed())
	d.compactions.Add(1)
}

func (d *disturber) String() string {
	return fmt.Sprintf("%d kills, %d stops (%d longer than the API server waits for a webhook), %d cuts, %d compactions; %d managers ended by themselves",
		d.kills.Load(), d.stops.Load(), d.longStops.Load(), d.cuts.Load(), d.compactions.Load(), d.ended.Load())
}

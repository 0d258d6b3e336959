// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// quiet is how long a kind of trouble leaves off, at most. Informers wait for up to half a minute before they watch again where
// that has failed a few times in two minutes: more would only show how idle managers do.
const quiet = 15 * time.Second

// disturber makes trouble until it is told not to.
type disturber struct {
	replicas []*replica
	// links are the ledgers' in this process.
	links []*framework.Link

	kills, stops, longStops, cuts, compactions atomic.Int64
}

// run disturbs until ctx ends. Then everybody runs and can reach the API server.
func (d *disturber) run(ctx context.Context) {
	kinds := []func(context.Context, *rand.Rand){d.kill, d.stop, d.cut, d.compact}
	parts := make([]func(context.Context), 0, len(kinds))
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

// enough says whether there has been trouble of every kind.
func (d *disturber) enough() bool {
	for _, n := range []*atomic.Int64{&d.kills, &d.stops, &d.cuts, &d.compactions} {
		if n.Load() < 3 {
			return false
		}
	}
	return longStop == 0 || d.longStops.Load() > 0
}

func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}

func (d *disturber) replica(random *rand.Rand) *replica {
	return d.replicas[random.IntN(len(d.replicas))]
}

// kill ends a manager (SIGKILL), and starts it again a little later.
func (d *disturber) kill(ctx context.Context, random *rand.Rand) {
	r := d.replica(random)
	if !r.alive.TryLock() {
		return
	}
	defer r.alive.Unlock()
	r.die(context.WithoutCancel(ctx))
	d.kills.Add(1)
	nap(ctx, upTo(random, 2*time.Second))
	Expect(r.Restart(context.WithoutCancel(ctx))).To(Succeed())
}

// longStop: one stop of so many lasts longer than a minute. Zero is none.
var longStop = framework.Scale(0, 5)

// stop holds a manager where it is (SIGSTOP), longer than others leave its half-made records alone.
func (d *disturber) stop(ctx context.Context, random *rand.Rand) {
	r := d.replica(random)
	if !r.alive.TryRLock() {
		return
	}
	defer r.alive.RUnlock()
	pause := 6*time.Second + upTo(random, 3*time.Second)
	if longStop > 0 && d.stops.Load()%int64(longStop) == 0 {
		pause += time.Minute
	}
	began := time.Now()
	Expect(r.Pause()).To(Succeed())
	nap(ctx, pause)
	Expect(r.Resume()).To(Succeed())
	d.stops.Add(1)
	if time.Since(began) > time.Minute {
		d.longStops.Add(1)
	}
}

// cut ends the connections of somebody, who may make new ones at once.
func (d *disturber) cut(_ context.Context, random *rand.Rand) {
	d.disconnect(random, func(link *framework.Link) {
		link.Cut()
		d.cuts.Add(1)
	})
}

// compact ends the connections of somebody and lets him make new ones when what he has missed cannot be watched any more.
func (d *disturber) compact(ctx context.Context, random *rand.Rand) {
	d.disconnect(random, func(link *framework.Link) {
		link.Down()
		defer link.Up()
		nap(ctx, 500*time.Millisecond+upTo(random, time.Second))
		Expect(site.Compact(context.WithoutCancel(ctx))).To(Succeed())
		d.compactions.Add(1)
	})
}

// disconnect does something to the link of a manager that runs, or of a ledger in this process.
func (d *disturber) disconnect(random *rand.Rand, do func(*framework.Link)) {
	i := random.IntN(len(d.replicas) + len(d.links))
	if i >= len(d.replicas) {
		do(d.links[i-len(d.replicas)])
		return
	}
	if r := d.replicas[i]; r.alive.TryRLock() {
		defer r.alive.RUnlock()
		do(r.link)
	}
}

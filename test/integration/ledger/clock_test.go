// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/claimledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// jump sets the clock hours forwards or back again and again, from where it was at first, and counts how often.
func jump(c *clocktesting.FakePassiveClock, seed uint64, jumps *atomic.Int64) {
	random, start := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), seed)), c.Now()
	ticker, ended := time.NewTicker(50*time.Millisecond), make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				c.SetTime(start.Add(time.Duration(random.Int64N(int64(20*time.Hour))) - 10*time.Hour))
				jumps.Add(1)
			}
		}
	}()
	DeferCleanup(func() { ticker.Stop(); close(ended) })
}

var _ = It("Three ledgers whose clocks jump by hours, each by itself, never tell two claims overlapping prefixes", func(ctx SpecContext) {
	ns := newNamespace(ctx)
	all := make([]*manager, 0, 3)
	var jumps atomic.Int64
	for i := range cap(all) {
		clock := longClock()
		all = append(all, startManager(ctx, clock))
		jump(clock, uint64(i), &jumps)
	}
	pools := []book.Pool{newPool(ns, "four", "10.0.0.0/26"), newPool(ns, "six", "2001:db8::/122")}
	for _, p := range pools {
		open(ctx, p, all...)
	}
	grown := since("lost_judgements_total", "takeovers_total")
	claims, t := mixed(pools, claimsPerPool), claimledger.New()
	exhausted := liveAll(ctx, t, claims, all)
	check(ctx, t, ns, claims)
	framework.Account(fmt.Sprint(len(claims), " claims, ", len(t.Held()), " hold, ", exhausted, " exhausted, ", jumps.Load(), " jumps, ", grown()))
	Expect(jumps.Load()).To(BeNumerically(">", 0))
	Expect(grown()).To(HaveEach(BeNumerically(">", 0)))
}, SpecTimeout(10*time.Minute))

var _ = It("A clock that is set back does not keep a dead manager's record from being taken over", func(ctx SpecContext) {
	ns, clock := newNamespace(ctx), longClock()
	m := startManager(ctx, clock)
	p := newPool(ns, "p", "10.0.0.0/29")
	open(ctx, p, m)
	c := newClaim(p, "c")
	rival(ctx, c, ns, prefix("10.0.0.0/32"))
	follow(m, c)
	clock.SetTime(clock.Now().Add(-time.Hour))
	Expect(reserved(ctx, m, c)).To(Equal(prefix("10.0.0.0/32")))
}, SpecTimeout(5*time.Minute))

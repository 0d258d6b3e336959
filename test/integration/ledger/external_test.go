// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var _ = Describe("A record of something outside of the cluster", func() {
	It("names it from its create on, also when another manager has taken it over and when it cools down", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		creator, heir := startManager(ctx, longClock()), startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		pool.Cooldown = time.Hour
		open(ctx, pool, creator, heir)
		c := newClaim(pool, "c")
		c.ExternalID = "a0f1"
		reserved(ctx, creator, c)
		names := HaveField("Spec.External", ipamv1.ExternalReference{ID: "a0f1"})
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(And(names, HaveField("Generation", BeEquivalentTo(1)))))
		follow(heir, c)
		pass(clock)
		reserved(ctx, heir, c)
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(And(names, HaveField("Generation", BeNumerically(">", 1)))))
		Expect(releaseAll(ctx, heir, c.Ref)).To(Succeed())
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(And(names, HaveField("Spec.State", ipamv1.CoolingState))))
	})
})

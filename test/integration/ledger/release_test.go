// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

var _ = Describe("A manager that is late to let go of a record", func() {
	var (
		ns          string
		pool        book.Pool
		late, other *manager
		c           book.Claim
		known       book.Holding
	)

	BeforeEach(func(ctx SpecContext) { // it has read the record, and hangs
		ns = newNamespace(ctx)
		late, other = startManager(ctx, longClock()), startManager(ctx, longClock())
		pool = newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, late, other)
		c = newClaim(pool, "c")
		c.Ref.APIGroup, c.Ref.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
		reserved(ctx, other, c)
		follow(late, c)
		follow(other, c)
		known = late.About(c.Ref).Recorded()[0]
	})

	It("takes nothing from whom another one has retained it for meanwhile", func(ctx SpecContext) {
		pool.Cooldown = 1
		late.SetPool(pool)
		Expect(other.Out().Retain(ctx, other.About(c.Ref).Recorded()[0])).To(Succeed())
		Expect(late.Out().Release(ctx, known)).To(MatchError(book.ErrBusy))
		Expect(late.Out().Retain(ctx, known)).To(MatchError(book.ErrBusy))
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(HaveField("Spec.State", ipamv1.RetainedState)))
	})

	It("drops nothing that another one has retained meanwhile", func(ctx SpecContext) {
		Expect(other.Out().Retain(ctx, other.About(c.Ref).Recorded()[0])).To(Succeed())
		Expect(late.Out().Drop(ctx, known)).To(MatchError(book.ErrBusy))
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(And(
			HaveField("Spec.State", ipamv1.RetainedState), HaveField("DeletionTimestamp", BeNil()),
			HaveField("Finalizers", ConsistOf(ipamv1.AllocationFinalizer)))))
	})

	It("lets go of nothing of the next claim of the name, nor of what is held for one that has moved away", func(ctx SpecContext) {
		next := newClaim(pool, "next")
		reserved(ctx, other, next)
		hold := rival(ctx, newClaim(pool, "template"), ns, prefix("10.0.0.6/32"))
		hold.Name, hold.ResourceVersion, hold.UID = "hold", "", ""
		hold.Spec.ClaimRef, hold.Spec.State, hold.Spec.CIDR = next.Ref, ipamv1.MovedState, "10.0.0.7/32"
		Expect(k.Create(ctx, hold)).To(Succeed())
		Eventually(func() []book.Holding { return late.About(next.Ref).Recorded() }, "1m", "5ms").Should(HaveLen(2))
		dead := next.Ref
		dead.UID = "11111111-2222-3333-4444-555555555555"
		Expect(releaseAll(ctx, late, dead)).To(Succeed())
		Expect(recordsFor(stored(ctx, ns), next.Ref.UID)).To(HaveLen(2))
		Expect(releaseAll(ctx, late, next.Ref)).To(Succeed())
		Expect(recordsFor(stored(ctx, ns), next.Ref.UID)).To(ConsistOf(HaveField("Spec.State", ipamv1.MovedState)))
	})
})

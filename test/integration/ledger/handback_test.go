// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// backOf returns the stored records of what was handed back for a template.
func backOf(ctx context.Context, p book.Pool, template string) []ipamv1.IPAllocation {
	GinkgoHelper()
	found := recordsFor(stored(ctx, p.Namespace), template)
	for _, a := range found {
		Expect(a.Spec).To(And(HaveField("Purpose", ipamv1.HandBackPurpose), HaveField("PoolRef", p.Ref), HaveField("CIDR", p.Shape.Blocks()[0].String())))
	}
	return found
}

// knows waits until a manager knows of a hand-back.
func knows(m *manager, p book.Pool) {
	GinkgoHelper()
	Eventually(func() []book.Holding { return m.Of(p.Ref).HandedBack() }, "1m", "5ms").ShouldNot(BeEmpty())
}

var _ = Describe("A block that is handed back", func() {
	It("is nobody's any more: a manager that was stopped before, and goes on after the report, hands out nothing that stands", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		stale, second, handing := startManager(ctx, longClock()), startManager(ctx, longClock()), startManager(ctx, longClock())
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, handing, second, stale)
		block := pool.Shape.Blocks()[0]

		By("stopping one as it is about to record an address")
		reached, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		stale.onWrite(func(int, client.Object) { once.Do(func() { close(reached); <-goOn }) })
		late := newClaim(pool, "late")
		answered := make(chan error, 1)
		go func() { _, err := stale.Reserve(ctx, late); answered <- err }()
		Eventually(reached, "1m").Should(BeClosed())
		stale.fallBehind()
		Eventually(func() error { return handing.HandBack(ctx, pool, "template", block) }, "1m", "10ms").Should(Succeed())
		Expect(backOf(ctx, pool, "template")).To(ConsistOf(HaveField("Spec.State", ipamv1.ConfirmedState)))

		By("letting it go on")
		close(goOn)
		stale.catchUp()
		Eventually(answered, "1m").Should(Receive(HaveOccurred()))
		Expect(recordsFor(stored(ctx, ns), late.Ref.UID)).To(BeEmpty())
		knows(second, pool)
		_, err := second.Reserve(ctx, newClaim(pool, "next"))
		Expect(err).To(HaveOccurred())
		child := newPool(ns, "child", "10.0.0.0/29")
		child.Parent = pool.Ref
		Expect(second.ReserveBlock(ctx, child, block, nil)).NotTo(Succeed())
		Expect(second.ReserveBlock(ctx, newPool(ns, "other", "10.0.0.0/30"), prefix("10.0.0.0/30"), nil)).To(MatchError(book.ErrTaken))
	}, SpecTimeout(5*time.Minute))

	It("is not while anything is handed out of it, whichever manager has done so, and is soon after that has gone", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		handing, answering := startManager(ctx, longClock()), startManager(ctx, longClock())
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, handing, answering)
		block := pool.Shape.Blocks()[0]
		handing.fallBehind()
		claim := newClaim(pool, "c")
		reserved(ctx, answering, claim)
		lost := make(chan error, 1)
		go func() { lost <- handing.HandBack(ctx, pool, "template", block) }()
		knows(answering, pool) // of the record, which does not know of the address
		handing.catchUp()
		Eventually(lost, "1m").Should(Receive(MatchError(book.ErrTaken)))
		Expect(backOf(ctx, pool, "template")).To(BeEmpty())
		Expect(handing.HandBack(ctx, pool, "template", block)).To(MatchError(book.ErrTaken))
		release(ctx, answering, claim)
		Eventually(func() error { return handing.HandBack(ctx, pool, "template", block) }, "1m", "10ms").Should(Succeed())
	}, SpecTimeout(5*time.Minute))

	It("may be handed back by several managers at once, and for a later template beside the earlier", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		all := []*manager{startManager(ctx, longClock()), startManager(ctx, longClock()), startManager(ctx, longClock())}
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, all...)
		block := pool.Shape.Blocks()[0]
		for _, template := range []string{"first", "second"} {
			var wait sync.WaitGroup
			for _, m := range all {
				wait.Go(func() {
					defer GinkgoRecover()
					Eventually(func() error { return m.HandBack(ctx, pool, template, block) }, "1m", "10ms").Should(Succeed())
				})
			}
			wait.Wait()
		}
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list)).To(Succeed())
		uids := map[string]bool{}
		for _, a := range list.Items {
			if a.Spec.Purpose == ipamv1.HandBackPurpose && a.Namespace == ns {
				Expect(a.Spec.State).To(Equal(ipamv1.ConfirmedState))
				uids[a.Spec.ClaimRef.UID] = true
			}
		}
		Expect(uids).To(HaveLen(2))
		Expect(all[0].ReserveBlock(ctx, pool, block, nil)).To(Succeed(), "the pool's own block is there still")
	}, SpecTimeout(5*time.Minute))

	It("is taken over from a manager that died before the record was judged", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		m := startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, m)
		half := newClaim(pool, pool.Ref.Name)
		half.Ref = book.ClaimOf(pool.Ref, "template")
		record := rivalFor(half, ns, pool.Shape.Blocks()[0])
		record.Spec.Purpose = ipamv1.HandBackPurpose
		Expect(k.Create(ctx, record)).To(Succeed())
		knows(m, pool)
		Expect(m.HandBack(ctx, pool, "template", pool.Shape.Blocks()[0])).To(MatchError(book.ErrBusy))
		pass(clock)
		Eventually(func() error { return m.HandBack(ctx, pool, "template", pool.Shape.Blocks()[0]) }, "1m", "10ms").Should(Succeed())
		Expect(backOf(ctx, pool, "template")).To(ConsistOf(And(HaveField("Name", record.Name), HaveField("Spec.State", ipamv1.ConfirmedState))))
	}, SpecTimeout(5*time.Minute))
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

var _ = Describe("That a ledger knows all records is proved", func() {
	It("by another pool where it knows no block of this one", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m := startManager(ctx, longClock())
		open(ctx, newPool(ns, "p", "10.0.0.0/30"), m)
		proofs := counter("currency_proofs_total")
		Expect(m.Of(ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "unknown"}).Prove(ctx)).To(Succeed())
		Expect(counter("currency_proofs_total") - proofs).To(BeNumerically("==", 1))
	}, SpecTimeout(5*time.Minute))

	It("by a list where it knows of no pool, and not while it lacks a record", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		pool := newPool(ns, "p", "10.0.0.0/30")
		first, behind := startManager(ctx, longClock()), startManager(ctx, longClock())
		Expect(behind.Of(pool.Ref).Prove(ctx)).To(Succeed(), "it has all records, and no pool")
		behind.fallBehind()
		open(ctx, pool, first)
		claim := newClaim(pool, "c")
		reserved(ctx, first, claim)
		Expect(behind.About(claim.Ref).Recorded()).To(BeEmpty())
		Expect(behind.Of(pool.Ref).Prove(ctx)).To(MatchError(book.ErrBusy))
		behind.catchUp()
		Eventually(func() error { return behind.Of(pool.Ref).Prove(ctx) }, "1m", "50ms").Should(Succeed())
		Expect(behind.About(claim.Ref).Recorded()).To(HaveLen(1))
	}, SpecTimeout(5*time.Minute))
})

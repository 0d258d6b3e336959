// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/claimledger"
)

// answer is what a call of Reserve came to.
type answer struct {
	book.Allocation
	err error
}

// asking calls Reserve in the background.
func asking(ctx context.Context, m *manager, c book.Claim) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		a, err := claimledger.Reserve(ctx, m.Ledger, c)
		done <- answer{a, err}
	}()
	return done
}

var _ = Describe("Binding", func() {
	It("waits for who may just be losing, and says who holds the prefix where nobody gives way", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		admitting, binding := startManager(ctx, longClock()), startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, admitting, binding)
		c := newClaim(pool, "c")
		c.Ref.APIGroup, c.Ref.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
		c.Want = reserved(ctx, admitting, c)
		follow(binding, c)
		before := binding.About(c.Ref).Recorded()[0].Version.UID
		late := newClaim(pool, "late")
		rival(ctx, late, ns, c.Want)
		follow(binding, late)
		_, err := binding.Bind(ctx, c)
		Expect(err).To(MatchError(book.ErrBusy))
		pass(clock)
		Eventually(func() error { _, err := binding.Bind(ctx, c); return err }, "1m", "20ms").Should(MatchError(book.ErrTaken))
		Expect(admitting.About(c.Ref).Recorded()).To(ConsistOf(HaveField("Version.UID", before)))
	})
})

var _ = Describe("Two records of one object", func() {
	It("do not stand in each other's way when it is bound", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		admitting, binding := startManager(ctx, longClock()), startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, admitting, binding)
		c := newClaim(pool, "c")
		c.Ref.APIGroup, c.Ref.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
		c.Want = reserved(ctx, admitting, c)
		rival(ctx, c, ns, c.Want)
		Eventually(func() []book.Holding { return binding.About(c.Ref).Recorded() }, "1m", "10ms").Should(HaveLen(2))
		pass(clock)
		Eventually(func() error { _, err := binding.Bind(ctx, c); return err }, "1m", "20ms").Should(Succeed())
	})
})

var _ = Describe("The younger of two records of one claim", func() {
	var (
		ns            string
		late          *manager
		c             book.Claim
		first, second *ipamv1.IPAllocation
	)

	BeforeEach(func(ctx SpecContext) { // two managers have begun at the claim, and died
		clock := longClock()
		ns, late = newNamespace(ctx), startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, late)
		c = newClaim(pool, "c")
		first = rival(ctx, c, ns, prefix("10.0.0.3/32"))
		second = &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "second", Finalizers: first.Finalizers}, Spec: first.Spec}
		Expect(k.Create(ctx, second)).To(Succeed())
		Eventually(func() []book.Holding { return late.About(c.Ref).Recorded() }, "1m", "10ms").Should(HaveLen(2))
		pass(clock)
	})

	It("goes", func(ctx SpecContext) {
		repeats := late.Repeats(c.Ref)
		Expect(repeats).To(HaveLen(1))
		Expect(late.Out().DropRepeat(ctx, repeats[0])).To(Succeed())
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(HaveField("UID", first.UID)))
	})

	It("stays where a late manager does not know that the older one has gone: its creator may have seen it win", func(ctx SpecContext) {
		late.fallBehind()
		erase(ctx, first)
		repeats := late.Repeats(c.Ref)
		Expect(repeats).To(HaveLen(1))
		done := make(chan error, 1)
		go func() { done <- late.Out().DropRepeat(ctx, repeats[0]) }()
		Consistently(done, "500ms").ShouldNot(Receive())
		late.catchUp()
		Eventually(done, "1m").Should(Receive(Succeed()))
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(HaveField("UID", second.UID)))
	})
})

var _ = Describe("A hold that comes late", func() {
	var (
		ns          string
		pool        book.Pool
		clock       *clocktesting.FakePassiveClock
		late, other *manager
		h           book.Holding
	)

	BeforeEach(func(ctx SpecContext) { // both know of a record that is marked as clusterctl marks what it moves
		ns = newNamespace(ctx)
		clock = longClock()
		late, other = startManager(ctx, longClock()), startManager(ctx, clock)
		pool = newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, late, other)
		c := newClaim(pool, "c")
		c.Ref.Namespace = newNamespace(ctx)
		record := rival(ctx, c, ns, prefix("10.0.0.3/32"))
		Expect(k.Patch(ctx, record, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"clusterctl.cluster.x-k8s.io/delete-for-move":""}}}`)))).To(Succeed())
		Expect(k.Delete(ctx, record)).To(Succeed())
		for _, m := range []*manager{late, other} {
			Eventually(func() []book.Holding { return m.Of(pool.Ref).Leaving() }, "1m", "10ms").Should(HaveLen(1))
		}
		h = late.Of(pool.Ref).Leaving()[0]
	})

	It("goes again if its record had gone before it", func(ctx SpecContext) {
		late.onWrite(func(n int, _ client.Object) {
			if n > 1 {
				return
			}
			defer GinkgoRecover()
			Expect(other.Out().Hold(ctx, h, ns)).To(Succeed())
			giveUp(ctx, ns, h)
		})
		Expect(late.Out().Hold(ctx, h, ns)).To(MatchError(book.ErrBusy))
		Expect(recordsFor(stored(ctx, ns), h.Claim.UID)).To(BeEmpty())
	})

	It("is no reason to delete what has won before it was stored", func(ctx SpecContext) {
		winner := newClaim(pool, "winner") // its manager has died, or is about to answer it
		winner.Ref.Namespace = newNamespace(ctx)
		late.onWrite(func(n int, _ client.Object) {
			defer GinkgoRecover()
			switch n {
			case 1:
				Expect(other.Out().Hold(ctx, h, ns)).To(Succeed())
				giveUp(ctx, ns, h)
				rival(ctx, winner, ns, h.CIDR)
			case 2: // the hold is stored
				follow(other, winner)
				pass(clock)
				Expect(other.Reserve(ctx, winner)).To(HaveField("CIDR", Not(Equal(h.CIDR))))
				Expect(recordsFor(stored(ctx, winner.Ref.Namespace), winner.Ref.UID)).To(ContainElement(HaveField("Spec.CIDR", h.CIDR.String())))
				asking := winner
				asking.Want = h.CIDR
				_, err := other.Reserve(ctx, asking)
				Expect(err).To(MatchError(book.ErrTaken))
			}
		})
		Expect(late.Out().Hold(ctx, h, ns)).To(MatchError(book.ErrBusy))
		Expect(other.About(winner.Ref).Recorded()).To(ContainElement(HaveField("CIDR", h.CIDR)))
	})

	It("stays if another manager has let the record go because of it", func(ctx SpecContext) {
		late.onWrite(func(n int, _ client.Object) {
			if n == 2 { // the hold is stored
				defer GinkgoRecover()
				Expect(other.Out().Hold(ctx, h, ns)).To(Succeed())
			}
		})
		Expect(late.Out().Hold(ctx, h, ns)).To(MatchError(book.ErrBusy))
		Expect(recordsFor(stored(ctx, ns), h.Claim.UID)).To(HaveLen(1))
	})
})

var _ = Describe("What cools down in a namespace that ends", func() {
	It("goes on cooling in another namespace, and its record goes after that is stored", func(ctx SpecContext) {
		home, ending := newNamespace(ctx), newNamespace(ctx)
		m := startManager(ctx, longClock())
		pool := newPool(newNamespace(ctx), "p", "10.0.0.0/29")
		pool.Cooldown = time.Hour
		open(ctx, pool, m)
		c := newClaim(pool, "c")
		c.Ref.Namespace = ending
		address := reserved(ctx, m, c)
		Expect(releaseAll(ctx, m, c.Ref)).To(Succeed())
		record := recordsFor(stored(ctx, ending), c.Ref.UID)[0]
		Expect(k.Delete(ctx, &record)).To(Succeed())
		Eventually(func() []book.Holding { return m.Of(pool.Ref).Leaving() }, "1m", "10ms").Should(HaveLen(1))
		m.onWrite(func(n int, _ client.Object) {
			defer GinkgoRecover()
			Expect(recordsFor(stored(ctx, ending), c.Ref.UID)).To(HaveLen(1), "before write %d", n)
			Expect(recordsFor(stored(ctx, home), c.Ref.UID)).To(HaveLen(n-1), "before write %d", n)
		})
		h := m.Of(pool.Ref).Leaving()[0]
		Expect(m.Out().Hold(ctx, h, home)).To(Succeed())
		Expect(recordsFor(stored(ctx, ending), c.Ref.UID)).To(BeEmpty())
		Expect(recordsFor(stored(ctx, home), c.Ref.UID)).To(ConsistOf(And(
			HaveField("Spec.State", ipamv1.CoolingState), HaveField("Spec.CIDR", address.String()),
			HaveField("Spec.ReleasedAt.Unix()", h.ReleasedAt.Unix()), HaveField("Finalizers", ConsistOf(ipamv1.AllocationFinalizer)))))
		asking := newClaim(pool, "asking")
		asking.Want = address
		_, err := m.Reserve(ctx, asking)
		Expect(err).To(MatchError(book.ErrTaken))
	})
})

// giveUp has the hold for a record deleted, as if its claim had come back and gone.
func giveUp(ctx context.Context, ns string, h book.Holding) {
	GinkgoHelper()
	hold := recordsFor(stored(ctx, ns), h.Claim.UID)[0]
	Expect(k.Patch(ctx, &hold, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	Expect(k.Delete(ctx, &hold)).To(Succeed())
}

var _ = Describe("A bound record that somebody deletes", func() {
	It("stays its object's, also for the next manager", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m := startManager(ctx, longClock())
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, m)
		c := newClaim(pool, "c")
		c.Ref.APIGroup, c.Ref.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
		c.Owners = []metav1.OwnerReference{{APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPClaimKind, Name: "c", UID: types.UID(c.Ref.UID)}}
		c.Want = reserved(ctx, m, c)
		_, err := m.Bind(ctx, c)
		Expect(err).NotTo(HaveOccurred())
		record := m.About(c.Ref).Recorded()[0].Record
		Expect(k.Delete(ctx, &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Name}})).To(Succeed())
		next := startManager(ctx, longClock())
		open(ctx, pool, next)
		Expect(next.About(c.Ref).IsBound(c.Want)).To(BeTrue())
		_, err = next.Bind(ctx, c)
		Expect(err).NotTo(HaveOccurred())
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(HaveLen(1))
	})
})

var _ = Describe("Takeover", func() {
	It("makes a late deletion by the creator fail", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		creator, heir := startManager(ctx, longClock()), startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, creator, heir)
		c := newClaim(pool, "c")
		var first *ipamv1.IPAllocation
		var got book.Allocation
		var once sync.Once
		creator.onWrite(func(n int, _ client.Object) {
			switch n {
			case 1: // somebody takes the address just before the record is created
				first = rival(ctx, newClaim(pool, "first"), ns, prefix("10.0.0.0/32"))
			case 2: // and lets it go just before the loser is dropped
				once.Do(func() {
					defer GinkgoRecover()
					erase(ctx, first)
					follow(heir, c)
					pass(clock)
					Eventually(func() (err error) { got, err = heir.Reserve(ctx, c); return err }, "1m", "5ms").Should(Succeed())
				})
			}
		})
		_, err := creator.Reserve(ctx, c)
		Expect(got.CIDR).To(Equal(prefix("10.0.0.0/32")))
		Expect(err).To(MatchError(book.ErrBusy))
		found := recordsFor(stored(ctx, ns), c.Ref.UID)
		Expect(found).To(HaveLen(1))
		Expect(found[0].Spec.CIDR).To(Equal("10.0.0.0/32"))
		Expect(found[0].Spec.Manager.Instance).To(Equal(heir.name))
		Expect(found[0].Finalizers).To(ConsistOf(ipamv1.AllocationFinalizer))
	})

	It("makes a late deletion by the creator fail also between its two writes", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		creator, heir := startManager(ctx, longClock()), startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, creator, heir)
		c := newClaim(pool, "c")
		var first *ipamv1.IPAllocation
		var got book.Allocation
		creator.onWrite(func(n int, _ client.Object) {
			defer GinkgoRecover()
			switch n {
			case 1: // somebody takes the address just before the record is created
				first = rival(ctx, newClaim(pool, "first"), ns, prefix("10.0.0.0/32"))
			case 3: // and lets it go when the loser has lost its finalizer, and is still there
				erase(ctx, first)
				follow(heir, c)
				pass(clock)
				Eventually(func() (err error) { got, err = heir.Reserve(ctx, c); return err }, "1m", "5ms").Should(Succeed())
			}
		})
		_, err := creator.Reserve(ctx, c)
		Expect(got.CIDR).To(Equal(prefix("10.0.0.0/32")))
		Expect(err).To(MatchError(book.ErrBusy))
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)).To(ConsistOf(And(
			HaveField("Spec.CIDR", "10.0.0.0/32"), HaveField("DeletionTimestamp", BeNil()), HaveField("Finalizers", ConsistOf(ipamv1.AllocationFinalizer)))))
	})

	It("puts back what a deletion cut short has taken", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		m := startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, m)
		c := newClaim(pool, "c")
		half := rival(ctx, c, ns, prefix("10.0.0.3/32"))
		Expect(k.Patch(ctx, half, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		follow(m, c)
		pass(clock)
		Expect(reserved(ctx, m, c)).To(Equal(prefix("10.0.0.3/32")))
		found := recordsFor(stored(ctx, ns), c.Ref.UID)
		Expect(found).To(HaveLen(1))
		Expect(found[0].Finalizers).To(ConsistOf(ipamv1.AllocationFinalizer))
	})

	It("waits for younger half-made records, and of two the older goes on", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		creator := startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, creator)
		older, younger := newClaim(pool, "older"), newClaim(pool, "younger")
		older.Want, older.Bits = prefix("10.0.0.0/31"), 31
		rival(ctx, older, ns, prefix("10.0.0.0/31"))
		rival(ctx, younger, ns, prefix("10.0.0.1/32"))
		m := startManager(ctx, clock)
		m.SetPool(pool)
		pass(clock)
		for range 3 { // again and again: the second write of the same holder must not wait for ever
			_, err := m.Reserve(ctx, older)
			Expect(err).To(MatchError(book.ErrBusy))
		}
		Expect(reserved(ctx, m, younger)).To(Equal(prefix("10.0.0.2/32")))
		Expect(reserved(ctx, m, older)).To(Equal(prefix("10.0.0.0/31")))
		stored(ctx, ns)
	}, SpecTimeout(5*time.Minute))

	It("goes on with another address where a half-made record is in dispute, as long as there is one", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		m := startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/30")
		open(ctx, pool, m)
		c, other := newClaim(pool, "c"), newClaim(pool, "other")
		rival(ctx, c, ns, prefix("10.0.0.0/31"))
		rival(ctx, other, ns, prefix("10.0.0.1/32"))
		follow(m, c)
		follow(m, other)
		pass(clock)
		Expect(reserved(ctx, m, c)).To(Equal(prefix("10.0.0.2/32")))
		Expect(m.About(c.Ref).Recorded()).To(HaveLen(2))
		Expect(reserved(ctx, m, c)).To(Equal(prefix("10.0.0.2/32")), "the same again")
	}, SpecTimeout(5*time.Minute))

	It("finds the record that has won beside one in dispute, and does not write to that again and again", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		first := startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/30")
		open(ctx, pool, first)
		c, other := newClaim(pool, "c"), newClaim(pool, "other")
		rival(ctx, c, ns, prefix("10.0.0.0/31"))
		rival(ctx, other, ns, prefix("10.0.0.1/32"))
		follow(first, other)
		follow(first, c)
		pass(clock)
		Expect(reserved(ctx, first, c)).To(Equal(prefix("10.0.0.2/32")))
		first.stop() // before it stored the answer
		heir := startManager(ctx, clock)
		heir.SetPool(pool)
		rival(ctx, newClaim(pool, "last"), ns, prefix("10.0.0.3/32"))
		pass(clock)
		Expect(reserved(ctx, heir, c)).To(Equal(prefix("10.0.0.2/32")))

		asks := c
		asks.Want, asks.Bits = prefix("10.0.0.0/31"), 31
		_, err := heir.Reserve(ctx, asks)
		Expect(err).To(MatchError(book.ErrBusy))
		writes := heir.begun()
		for range 3 {
			_, err := heir.Reserve(ctx, asks)
			Expect(err).To(MatchError(book.ErrBusy))
		}
		Expect(heir.begun()).To(Equal(writes))
	}, SpecTimeout(5*time.Minute))

	It("leaves what somebody else's finalizer keeps", func(ctx SpecContext) {
		const foreign = "example.com/keeps"
		ns, clock := newNamespace(ctx), longClock()
		m := startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.5")
		open(ctx, pool, m)
		c := newClaim(pool, "c")
		half := rival(ctx, c, ns, prefix("10.0.0.5/32"))
		follow(m, c)
		Expect(k.Patch(ctx, half, client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"finalizers":["`+ipamv1.AllocationFinalizer+`","`+foreign+`"]}}`)))).To(Succeed())
		pass(clock)
		Expect(reserved(ctx, m, c)).To(Equal(prefix("10.0.0.5/32")))
		Expect(recordsFor(stored(ctx, ns), c.Ref.UID)[0].Finalizers).To(ConsistOf(ipamv1.AllocationFinalizer, foreign))
		Eventually(func(g Gomega) {
			g.Expect(releaseAll(ctx, m, c.Ref)).To(Succeed())
			found := recordsFor(stored(ctx, ns), c.Ref.UID)
			g.Expect(found[0].Finalizers).To(ConsistOf(foreign))
			g.Expect(found[0].DeletionTimestamp).NotTo(BeNil())
		}, "1m", "20ms").Should(Succeed())
		pass(clock)
		_, err := claimledger.Reserve(ctx, m.Ledger, newClaim(pool, "next"))
		Expect(err).To(MatchError(book.ErrExhausted))
		erase(ctx, half)
		Expect(reserved(ctx, m, newClaim(pool, "after"))).To(Equal(prefix("10.0.0.5/32")))
	}, SpecTimeout(5*time.Minute))

	It("leaves the record of a manager alone that is just answering", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		m := startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.0/29")
		open(ctx, pool, m)
		c := newClaim(pool, "c")
		rival(ctx, c, ns, prefix("10.0.0.0/32"))
		follow(m, c)
		_, err := m.Reserve(ctx, c)
		Expect(err).To(MatchError(book.ErrBusy))
		Expect(m.begun()).To(Equal(2), "only the pool's block was written")
		pass(clock)
		Expect(reserved(ctx, m, c)).To(Equal(prefix("10.0.0.0/32")))
	})
})

var _ = Describe("Exhaustion", func() {
	It("is reported only by a ledger that knows what has been released", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		stale, other := startManager(ctx, clock), startManager(ctx, clock)
		pool := newPool(ns, "p", "10.0.0.5")
		open(ctx, pool, stale, other)
		before, after := newClaim(pool, "before"), newClaim(pool, "after")
		held := reserved(ctx, other, before)
		follow(stale, before)
		pass(clock)
		stale.fallBehind()
		DeferCleanup(stale.catchUp)
		release(ctx, other, before)
		proofs := counter("currency_proofs_total")
		done := asking(ctx, stale, after)
		Consistently(done, "400ms", "20ms").ShouldNot(Receive())
		Expect(stale.About(before.Ref).Recorded()).To(HaveLen(1), "the manager must not have caught up yet")
		stale.catchUp()
		var got answer
		Eventually(done, "1m").Should(Receive(&got))
		Expect(got.err).NotTo(HaveOccurred())
		Expect(got.CIDR).To(Equal(held))
		Expect(counter("currency_proofs_total")).To(BeNumerically(">", proofs))
	})

	It("is not waited for by a claim that names the revision at which it was read: it is told when to ask again", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m := startManager(ctx, longClock())
		pool := newPool(ns, "p", "10.0.0.5")
		open(ctx, pool, m)
		reserved(ctx, m, newClaim(pool, "holder"))
		later := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "later"}}
		Expect(k.Create(ctx, later)).To(Succeed())
		c := newClaim(pool, "c")
		c.Revision = later.ResourceVersion
		freed := m.Notices().Freed(ctx)
		m.fallBehind()
		DeferCleanup(m.catchUp)
		for range 3 { // this would hang if it waited: the watch shows nothing
			_, err := m.Reserve(ctx, c)
			Expect(err).To(MatchError(book.ErrBusy))
		}
		m.catchUp()
		Eventually(freed, "1m").Should(Receive(Equal(pool.Ref)))
		proofs := counter("currency_proofs_total")
		for range 3 {
			_, err := m.Reserve(ctx, c)
			Expect(err).To(MatchError(book.ErrExhausted))
		}
		Expect(counter("currency_proofs_total")).To(Equal(proofs), "what is proved is not proved again")
	}, SpecTimeout(5*time.Minute))

	It("is reported of a full pool, and proved once for all who ask at once", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m := startManager(ctx, longClock())
		pool := newPool(ns, "p", "10.0.0.5")
		open(ctx, pool, m)
		reserved(ctx, m, newClaim(pool, "holder"))
		proofs := counter("currency_proofs_total")
		var done sync.WaitGroup
		const askers = 100
		for i := range askers {
			done.Go(func() {
				defer GinkgoRecover()
				_, err := m.Reserve(ctx, newClaim(pool, fmt.Sprint("c", i)))
				Expect(err).To(MatchError(book.ErrExhausted))
			})
		}
		done.Wait()
		Expect(counter("currency_proofs_total") - proofs).To(BeNumerically("<", 5))
	})
})

var _ = Describe("Two pools with overlapping blocks", func() {
	It("recorded at once by two managers are one pool and one refusal that names it", func(ctx SpecContext) {
		ns, clock := newNamespace(ctx), longClock()
		managers := []*manager{startManager(ctx, clock), startManager(ctx, clock)}
		wins := map[string]int{}
		for round := range 15 {
			pools := []book.Pool{
				newPool(ns, fmt.Sprint("wide-", round), fmt.Sprintf("10.%d.0.0/16", round)),
				newPool(ns, fmt.Sprint("narrow-", round), fmt.Sprintf("10.%d.7.0/24", round)),
			}
			errs := make([]error, len(pools))
			var done sync.WaitGroup
			for i, p := range pools {
				done.Go(func() {
					managers[i].SetPool(p)
					errs[i] = again(ctx, func() error { return managers[i].ReserveBlock(ctx, p, p.Shape.Blocks()[0], nil) })
				})
			}
			done.Wait()
			winner, loser := 0, 1
			if errs[0] != nil {
				winner, loser = 1, 0
			}
			wins[fmt.Sprint(winner)]++
			Expect(errs[winner]).NotTo(HaveOccurred())
			Expect(errs[loser]).To(MatchError(book.ErrTaken))
			var taken *book.TakenError
			Expect(errors.As(errs[loser], &taken)).To(BeTrue())
			Expect(taken.By.String()).To(Equal("IPPool " + ns + "/" + pools[winner].Ref.Name))

			_, err := managers[loser].Reserve(ctx, newClaim(pools[loser], fmt.Sprint("refused-", round)))
			Expect(err).To(MatchError(book.ErrNotReady))
			reserved(ctx, managers[winner], newClaim(pools[winner], fmt.Sprint("served-", round)))
		}
		stored(ctx, ns)
		AddReportEntry("first pool wins, second pool wins", wins)
	})
})

var _ = It("Three managers that record a pool's blocks at once leave one record of each", func(ctx SpecContext) {
	ns := newNamespace(ctx)
	all := []*manager{startManager(ctx, longClock()), startManager(ctx, longClock()), startManager(ctx, longClock())}
	p := newPool(ns, "p", "10.0.0.0/24 10.0.2.0/24 10.0.4.0/24 10.0.6.0/24")
	blocks := p.Shape.Blocks()
	var done sync.WaitGroup
	for _, m := range all {
		m.SetPool(p)
		done.Go(func() {
			defer GinkgoRecover()
			Eventually(func(g Gomega) {
				for _, block := range blocks {
					g.Expect(m.ReserveBlock(ctx, p, block, nil)).To(Succeed())
				}
				for _, other := range m.Of(p.Ref).OtherBlocks(p.UID, blocks) {
					g.Expect(m.Out().Drop(ctx, other)).To(Succeed())
				}
			}, "1m", "20ms").Should(Succeed())
		})
	}
	done.Wait()
	Eventually(func(g Gomega) {
		for _, m := range all {
			for _, other := range m.Of(p.Ref).OtherBlocks(p.UID, blocks) {
				g.Expect(m.Out().Drop(ctx, other)).To(Succeed())
			}
		}
		found := stored(ctx, ns)
		g.Expect(found).To(HaveLen(len(blocks)))
		for _, a := range found {
			g.Expect(a.Spec.State).To(Equal(ipamv1.ConfirmedState))
		}
	}, "1m", "20ms").Should(Succeed())
	reserved(ctx, all[0], newClaim(p, "c"))
}, SpecTimeout(5*time.Minute))

var _ = It("Two calls of one process that record the same block both return", func(ctx SpecContext) {
	ns, clock := newNamespace(ctx), longClock()
	m := startManager(ctx, clock)
	p := newPool(ns, "p", "10.0.0.0/29")
	m.SetPool(p)
	By("finding one that a dead manager made and did not confirm")
	Expect(k.Create(ctx, &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p-block", Finalizers: []string{ipamv1.AllocationFinalizer}},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef: p.Ref, AddressSpace: ns, CIDR: "10.0.0.0/29", ClaimRef: book.ClaimOf(p.Ref, string(p.UID)),
			Purpose: ipamv1.PoolBlockPurpose, Manager: ipamv1.AllocationManager{Instance: "a dead manager"},
		},
	})).To(Succeed())
	Eventually(func() int { return len(m.Of(p.Ref).OtherBlocks("x", nil)) }, "1m", "5ms").Should(Equal(1))
	pass(clock)

	By("having the first write only when the second writes, too")
	second := make(chan struct{})
	m.onWrite(func(n int, _ client.Object) {
		switch n {
		case 1:
			<-second
		case 2:
			close(second)
			time.Sleep(300 * time.Millisecond)
		}
	})
	bring := func() <-chan error {
		done := make(chan error, 1)
		go func() { done <- m.ReserveBlock(ctx, p, p.Shape.Blocks()[0], nil) }()
		return done
	}
	controller := bring()
	Eventually(m.begun, "1m", "1ms").Should(Equal(1))
	repair := bring()
	Eventually(repair, "1m").Should(Receive(), "the second")
	Eventually(controller, "1m").Should(Receive(), "the first")
}, SpecTimeout(5*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
)

// twins are claims of the other door's in a spec's namespace, under the names that the specs' own objects have most often, with the addresses
// that those get first. They live as long as the spec, and whatever that does must leave them alone.
type twins struct {
	pool    *otherdoor.IPPool
	claims  []*otherdoor.IPClaim
	answers []*otherdoor.IPAddress
	records []ipamv1.IPAllocation
}

func otherPool(ns string, spec otherdoor.IPPoolSpec) *otherdoor.IPPool {
	return &otherdoor.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: spec}
}

func otherClaim(ns, name string) *otherdoor.IPClaim {
	return &otherdoor.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: otherdoor.IPClaimSpec{Pool: "p"}}
}

// otherAnswered waits until a claim of the other door has its answer, and returns that.
func otherAnswered(ctx context.Context, claim *otherdoor.IPClaim) *otherdoor.IPAddress {
	GinkgoHelper()
	otherReady(ctx, claim, metav1.ConditionTrue)
	answer := &otherdoor.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Status.Address}, answer)).To(Succeed())
	return answer
}

func otherReady(ctx context.Context, claim *otherdoor.IPClaim, status metav1.ConditionStatus) (message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		ready := conditions.Get(claim, ipamv1.ReadyCondition)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.Status).To(Equal(status), ready.Message)
		message = ready.Message
	}, "1m", "100ms").Should(Succeed())
	return message
}

// otherRecords returns the records of the other door in a namespace, with its pools' blocks.
func otherRecords(ctx context.Context, ns string) (found []ipamv1.IPAllocation) {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	for _, a := range list.Items {
		if isOther(&a) {
			found = append(found, a)
		}
	}
	return found
}

func isOther(record *ipamv1.IPAllocation) bool {
	return record.Spec.PoolRef.GroupKind() == otherdoor.IPPoolKind
}

// newTwins makes them.
func newTwins(ctx context.Context, ns string) *twins {
	GinkgoHelper()
	t := &twins{pool: create(ctx, otherPool(ns, otherdoor.IPPoolSpec{Start: "10.1.0.0", End: "10.1.0.1"}))}
	for _, name := range []string{"a", "b"} {
		t.claims = append(t.claims, create(ctx, otherClaim(ns, name)))
	}
	for _, claim := range t.claims {
		t.answers = append(t.answers, otherAnswered(ctx, claim))
	}
	Eventually(func() []ipamv1.IPAllocation { t.records = otherRecords(ctx, ns); return t.records }, "1m", "100ms").
		Should(And(HaveLen(3), ContainElement(HaveField("Spec.State", ipamv1.ConfirmedState))))
	return t
}

// areUntouched expects that nothing was given up or changed.
func (t *twins) areUntouched(ctx context.Context) {
	GinkgoHelper()
	ns := t.pool.Namespace
	if isEnding(ctx, ns) {
		return
	}
	Expect(k.Get(ctx, client.ObjectKeyFromObject(t.pool), t.pool)).To(Succeed())
	Expect(t.pool.DeletionTimestamp).To(BeNil())
	if counted := t.pool.Status.Claims; counted != nil { // it may lag behind
		Expect(*counted).To(BeNumerically("<=", len(t.claims)), "nothing of others counts")
	}
	for i, claim := range t.claims {
		uid, version := claim.UID, claim.ResourceVersion
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.UID).To(Equal(uid))
		Expect(claim.ResourceVersion).To(Equal(version), "the claim was changed")
		answer := &otherdoor.IPAddress{}
		Expect(k.Get(ctx, client.ObjectKeyFromObject(t.answers[i]), answer)).To(Succeed())
		Expect(answer).To(Equal(t.answers[i]))
	}
	var held []any
	for i := range t.records {
		held = append(held, And(HaveField("UID", t.records[i].UID), HaveField("Spec.ReleasedAt", BeZero()), HaveField("DeletionTimestamp", BeNil())))
	}
	Expect(otherRecords(ctx, ns)).To(ConsistOf(held...))
}

var _ = Describe("Two front doors with kinds of the same names, in one namespace,", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newBareNamespace(ctx) })

	It("answer claims of the same name with the same address, each from its own address space", func(ctx SpecContext) {
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		create(ctx, otherPool(ns, otherdoor.IPPoolSpec{Start: "10.1.0.7", End: "10.1.0.7"}))
		first, other := create(ctx, newClaim(ns, "a", "IPPool", "p")), create(ctx, otherClaim(ns, "a"))
		Expect(answered(ctx, first).Spec.Address).To(Equal("10.1.0.7"))
		Expect(otherAnswered(ctx, other).Spec.Address).To(Equal("10.1.0.7"))
		own := create(ctx, &ipamv1.IPClaim{ // past the webhooks
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"},
			Spec:       ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: "IPPool", Name: "p"}},
		})
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
			g.Expect(conditions.GetReason(own, ipamv1.ReadyCondition)).To(Equal(ipamv1.ClaimReadyPoolExhaustedReason))
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Delete(ctx, other)).To(Succeed())
		gone(ctx, other)
		Expect(otherRecords(ctx, ns)).To(HaveLen(1), "the pool's block")
		Expect(answered(ctx, first).Spec.Address).To(Equal("10.1.0.7"))
		Expect(records(ctx, ns)).To(HaveLen(1))
	})

	It("do not wait for each other's pools to be deleted, and keep their blocks", func(ctx SpecContext) {
		own := create(ctx, newPool(ns, "p", singleAddress(ns, 0)))
		other := create(ctx, otherPool(ns, otherdoor.IPPoolSpec{Start: "10.1.0.7", End: "10.1.0.7"}))
		poolReady(ctx, own, metav1.ConditionTrue, "Available")
		living := create(ctx, otherClaim(ns, "a"))
		held := otherAnswered(ctx, living)
		Expect(k.Delete(ctx, own)).To(Succeed())
		gone(ctx, own)
		Expect(otherRecords(ctx, ns)).To(HaveLen(2))
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		Expect(k.Get(ctx, client.ObjectKeyFromObject(held), held)).To(Succeed())
		answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p")))
		Expect(k.Delete(ctx, other)).To(Succeed())
		Consistently(func() error { return k.Get(ctx, client.ObjectKeyFromObject(other), other) }, "1s", "50ms").Should(Succeed(), "its claim lives")
		Expect(k.Delete(ctx, living)).To(Succeed())
		gone(ctx, other)
		Expect(records(ctx, ns)).To(HaveLen(1))
	})

	It("do not free what a living claim of the other's kind holds, although somebody has marked its record as released", func(ctx SpecContext) {
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		create(ctx, otherPool(ns, otherdoor.IPPoolSpec{Start: "10.1.0.7", End: "10.1.0.7", CooldownSeconds: 1}))
		living := create(ctx, otherClaim(ns, "a"))
		otherAnswered(ctx, living)
		for _, record := range otherRecords(ctx, ns) {
			if record.Spec.ClaimRef.UID == string(living.UID) {
				released := `{"spec":{"releasedAt":"` + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + `","state":"Cooling"}}`
				Expect(k.Patch(ctx, &record, client.RawPatch(types.MergePatchType, []byte(released)))).To(Succeed())
			}
		}
		Consistently(func() []ipamv1.IPAllocation { return otherRecords(ctx, ns) }, "5s", "100ms").Should(HaveLen(2))
	})

	It("do not take a pool of the same name and addresses, in one address space, for their own", func(ctx SpecContext) {
		own := create(ctx, newPool(ns, "p", singleAddress(ns, 0)))
		poolReady(ctx, own, metav1.ConditionTrue, "Available")
		other := create(ctx, otherPool(ns, otherdoor.IPPoolSpec{Start: "10.1.0.7", End: "10.1.0.7", Space: ns}))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(other), other)).To(Succeed())
			g.Expect(conditions.GetReason(other, ipamv1.ReadyCondition)).To(Equal(ipamv1.PoolReadyOverlapReason))
		}, "1m", "100ms").Should(Succeed())
		Expect(otherRecords(ctx, ns)).To(BeEmpty())
		answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p")))
		otherReady(ctx, create(ctx, otherClaim(ns, "a")), metav1.ConditionFalse)
	})

	It("may keep an address for the claim of a name whatever its kind", func(ctx SpecContext) {
		create(ctx, otherPool(ns, otherdoor.IPPoolSpec{Start: "10.1.0.1", End: "10.1.0.9", Keeps: map[string]string{"kept": "10.1.0.1"}}))
		Expect(otherAnswered(ctx, create(ctx, otherClaim(ns, "a"))).Spec.Address).To(Equal("10.1.0.2"))
		Expect(otherAnswered(ctx, create(ctx, otherClaim(ns, "kept"))).Spec.Address).To(Equal("10.1.0.1"))
	})

	It("wake only the claims that wait for the pool that has room", func(ctx SpecContext) {
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		create(ctx, otherPool(ns, otherdoor.IPPoolSpec{Start: "10.1.0.7", End: "10.1.0.7"}))
		first, other := create(ctx, newClaim(ns, "a", "IPPool", "p")), create(ctx, otherClaim(ns, "a"))
		answered(ctx, first)
		otherAnswered(ctx, other)
		waiting := create(ctx, newClaim(ns, "b", "IPPool", "p"))
		ready(ctx, waiting, metav1.ConditionFalse, "PoolExhausted")
		otherWaiting := create(ctx, otherClaim(ns, "b"))
		Expect(otherReady(ctx, otherWaiting, metav1.ConditionFalse)).To(ContainSubstring("no address available"))
		Expect(k.Delete(ctx, other)).To(Succeed())
		otherAnswered(ctx, otherWaiting)
		ready(ctx, waiting, metav1.ConditionFalse, "PoolExhausted")
		Expect(k.Delete(ctx, first)).To(Succeed())
		answered(ctx, waiting)
	})
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// metal3Paths are those of Metal3's kinds, where the status of the claim is the commit; the world's own claim, out of a pool with the same
// name and addresses, is answered all the while.
var metal3Paths = map[string]path{
	"answering a claim of Metal3": {
		before: func(ctx context.Context, w *world) { w.answerBesideMetal3(ctx) },
		event:  func(ctx context.Context, w *world) { w.create(ctx, w.metal3Claim()) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isMetal3Answered(ctx, g); w.isAnswered(ctx, g) },
	},
	"releasing an address of Metal3": {
		before: func(ctx context.Context, w *world) { w.answerBesideMetal3(ctx); w.answerMetal3(ctx) },
		event:  func(ctx context.Context, w *world) { w.delete(ctx, w.metal3Claim()) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.isMetal3Gone(ctx, g)
			g.Expect(w.metal3Records(ctx, g)).To(BeEmpty())
			w.isAnswered(ctx, g)
		},
	},
	"answering a claim of Metal3 with what was made for it by hand": {
		before: func(ctx context.Context, w *world) { w.answerBesideMetal3(ctx); w.makeByHand(ctx) },
		event:  func(ctx context.Context, w *world) { w.create(ctx, w.metal3Claim()) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isMetal3Answered(ctx, g); w.isAnswered(ctx, g) },
	},
	"letting a pool of Metal3 go": {
		before: func(ctx context.Context, w *world) { w.answerBesideMetal3(ctx) },
		event:  func(ctx context.Context, w *world) { w.delete(ctx, w.metal3Pool()) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.lacks(ctx, g, w.metal3Pool())
			g.Expect(w.recordsOfPools(ctx, g, m3v1.GroupVersion.Group)).To(BeEmpty())
			w.isAnswered(ctx, g)
		},
	},
}

// metal3Pool has addresses from the first on, as the world's own pool has.
func (w *world) metal3Pool() *m3v1.IPPool {
	return &m3v1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: w.name},
		Spec: m3v1.IPPoolSpec{NamePrefix: "net", Prefix: 24, Pools: []m3v1.Pool{{
			Start: ptr.To(m3v1.Address(first)), End: ptr.To(m3v1.Address("10.0.0.3")),
		}}},
	}
}

func (w *world) metal3Claim() *m3v1.IPClaim {
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: claimName},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: w.name}},
	}
}

// makeByHand makes the IPAddress that the claim gets, as Metal3's users may.
func (w *world) makeByHand(ctx context.Context) {
	GinkgoHelper()
	w.create(ctx, &m3v1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "by-hand"},
		Spec: m3v1.IPAddressSpec{
			Address: first, Pool: m3v1.ObjectReference{Name: w.name}, Claim: m3v1.ObjectReference{Name: claimName}, Prefix: 24,
		},
	})
	Eventually(func(g Gomega) { g.Expect(w.metal3Records(ctx, g)).To(HaveLen(1)) }, "1m", "100ms").Should(Succeed())
}

// answerBesideMetal3 has the world's own claim answered, beside a pool of Metal3 that is ready.
func (w *world) answerBesideMetal3(ctx context.Context) {
	GinkgoHelper()
	w.createPool(ctx, "10.0.0.0/30")
	w.answerClaim(ctx)
	pool := w.metal3Pool()
	w.create(ctx, pool)
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(conditions.IsTrue(pool, ipamv1.ReadyCondition)).To(BeTrue())
	}, "1m", "100ms").Should(Succeed())
}

func (w *world) answerMetal3(ctx context.Context) {
	GinkgoHelper()
	w.create(ctx, w.metal3Claim())
	Eventually(func(g Gomega) { w.isMetal3Answered(ctx, g) }, "1m", "100ms").Should(Succeed())
}

// isMetal3Answered says that the claim's status names the only IPAddress, and that it is recorded once.
func (w *world) isMetal3Answered(ctx context.Context, g Gomega) {
	claim, answers := w.metal3Claim(), &m3v1.IPAddressList{}
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	g.Expect(claim.Status.Address).NotTo(BeNil())
	g.Expect(claim.Status.ErrorMessage).To(BeNil())
	g.Expect(k.List(ctx, answers, client.InNamespace(w.name))).To(Succeed())
	g.Expect(answers.Items).To(HaveLen(1))
	g.Expect(answers.Items[0].Name).To(Equal(claim.Status.Address.Name))
	g.Expect(answers.Items[0].Spec.Address).To(BeEquivalentTo(first))
	found := w.metal3Records(ctx, g)
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Spec.CIDR).To(Equal(first + "/32"))
	g.Expect(found[0].Spec.ClaimRef.UID).To(BeEquivalentTo(claim.UID))
}

func (w *world) isMetal3Gone(ctx context.Context, g Gomega) {
	w.lacks(ctx, g, w.metal3Claim())
	answers := &m3v1.IPAddressList{}
	g.Expect(k.List(ctx, answers, client.InNamespace(w.name))).To(Succeed())
	g.Expect(answers.Items).To(BeEmpty())
}

// metal3Records are those of Metal3's pool but for its blocks.
func (w *world) metal3Records(ctx context.Context, g Gomega) (found []ipamv1.IPAllocation) {
	for _, a := range w.recordsOfPools(ctx, g, m3v1.GroupVersion.Group) {
		if !a.Spec.IsRootBlock() {
			found = append(found, a)
		}
	}
	return found
}

// recordsOfPools are those in the world's namespace that are of pools of this group.
func (w *world) recordsOfPools(ctx context.Context, g Gomega, group string) (found []ipamv1.IPAllocation) {
	list := &ipamv1.IPAllocationList{}
	g.Expect(k.List(ctx, list, client.InNamespace(w.name))).To(Succeed())
	for _, a := range list.Items {
		if a.Spec.PoolRef.GroupKind().Group == group {
			found = append(found, a)
		}
	}
	return found
}

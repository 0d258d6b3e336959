// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func newIPClaim(ns, name, kind, pool string) *ipamv1.IPClaim {
	claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: kind, Name: pool}
	return claim
}

// bound waits until an IPClaim has its prefix.
func bound(ctx context.Context, claim *ipamv1.IPClaim) {
	GinkgoHelper()
	Eventually(func() bool {
		return k.Get(ctx, client.ObjectKeyFromObject(claim), claim) == nil && conditions.IsTrue(claim, ipamv1.ReadyCondition)
	}, "1m", "50ms").Should(BeTrue())
}

var _ = Describe("An IPClaim", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("that a Cluster owns, and no label names, pauses with it, and is released after", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		owner := create(ctx, newCluster(ns, false))
		claim := newIPClaim(ns, "a", "IPPool", "p")
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind))}
		bound(ctx, create(ctx, claim))
		Expect(records(ctx, ns)).To(ConsistOf(HaveField("Labels", HaveKeyWithValue(clusterv1.ClusterNameLabel, owner.Name))))
		change(ctx, owner, func() { owner.Spec.Paused = ptr.To(true) })
		watched := create(ctx, newPool(ns, "watched", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/24", AddressSpace: ns, ClusterName: owner.Name}))
		Eventually(func() bool { // the manager has seen the pause
			return k.Get(ctx, client.ObjectKeyFromObject(watched), watched) == nil && conditions.IsTrue(watched, ipamv1.PausedCondition)
		}, "1m", "50ms").Should(BeTrue())
		Expect(saysPaused(ctx, claim)).To(Equal(`Cluster "c" has spec.paused`))
		Expect(conditions.IsTrue(claim, ipamv1.ReadyCondition)).To(BeTrue())
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Consistently(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1s", "100ms").Should(HaveLen(1))
		change(ctx, owner, func() { owner.Spec.Paused = ptr.To(false) })
		gone(ctx, claim)
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "50ms").Should(BeEmpty())
	})

	It("of a Cluster that is missing or paused says so, and is bound when that is over", func(ctx SpecContext) {
		poolReady(ctx, create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns})), metav1.ConditionTrue, "Available")
		claim := newIPClaim(ns, "a", "IPPool", "p")
		claim.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
		create(ctx, claim)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.GetReason(claim, ipamv1.ReadyCondition)).To(Equal("ClusterNotFound"))
		}, "1m", "50ms").Should(Succeed())
		Expect(conditions.GetMessage(claim, ipamv1.ReadyCondition)).To(And(
			HavePrefix("metadata.labels["+clusterv1.ClusterNameLabel+"]"), ContainSubstring(`there is no Cluster "c" in namespace `+ns)))
		cluster := create(ctx, newCluster(ns, true))
		Expect(saysPaused(ctx, claim)).To(Equal(`Cluster "c" has spec.paused`))
		Expect(records(ctx, ns)).To(BeEmpty())
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		bound(ctx, claim)
		Expect(conditions.IsFalse(claim, ipamv1.PausedCondition)).To(BeTrue())
	})

	It("does not let go of what was retained for its name and is just moving to another cluster", func(ctx SpecContext) {
		global := create(ctx, &ipamv1.GlobalIPPool{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Spec:       ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, Visibility: ipamv1.SharedVisibility},
		})
		DeferCleanup(func(ctx SpecContext) { Expect(k.Delete(ctx, global)).To(Succeed()) })
		first := newIPClaim(ns, "a", "GlobalIPPool", ns)
		first.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
		bound(ctx, create(ctx, first))
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		change(ctx, global, func() { global.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }) // so that nothing is held yet
		Eventually(func() bool {
			return k.Get(ctx, client.ObjectKeyFromObject(global), global) == nil && conditions.IsTrue(global, ipamv1.PausedCondition)
		}, "1m", "50ms").Should(BeTrue())
		retained := records(ctx, ns)[0]
		Expect(retained.Spec.State).To(Equal(ipamv1.RetainedState))
		change(ctx, &retained, func() { retained.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""} })
		Expect(k.Delete(ctx, &retained)).To(Succeed())

		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/24", AddressSpace: ns}))
		bound(ctx, create(ctx, newIPClaim(ns, "a", "IPPool", "p")))
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(&retained), &retained)).To(Succeed())
			g.Expect(retained.Spec.State).To(Equal(ipamv1.RetainedState))
		}, "2s", "100ms").Should(Succeed())

		change(ctx, global, func() { global.Annotations = nil })
		gone(ctx, &retained)
		hold := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, hold, client.InNamespace("weir-system"))).To(Succeed())
		Expect(hold.Items).To(ContainElement(HaveField("Spec", And(
			HaveField("CIDR", retained.Spec.CIDR), HaveField("Purpose", ipamv1.MovedPurpose), HaveField("PoolRef.Name", ns)))))
	})
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

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

// change changes an object as it is now: the manager writes to it as well.
func change(ctx context.Context, obj client.Object, how func()) {
	GinkgoHelper()
	Eventually(func() error {
		if err := k.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		how()
		return k.Update(ctx, obj)
	}, "1m", "10ms").Should(Succeed())
}

// conditional is an object that has conditions.
type conditional interface {
	client.Object
	conditions.Getter
}

// becomes waits until a condition of an object is true.
func becomes(ctx context.Context, obj conditional, condition string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(conditions.IsTrue(obj, condition)).To(BeTrue())
	}, "1m", "50ms").Should(Succeed())
}

// newCluster returns the namespace's Cluster, c.
func newCluster(ns string, paused bool) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c"},
		Spec: clusterv1.ClusterSpec{
			Paused: ptr.To(paused),
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "FakeCluster", Name: "c",
			},
		},
	}
}

// These claims pass the webhooks by: only the controller sees them.
var _ = Describe("An IPClaim", func() {
	const paused = `Cluster "c" has spec.paused`
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx, withoutWebhooks) })

	It("that a Cluster owns, and no label names, pauses with it, and is released after", func(ctx SpecContext) {
		serving(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		owner := create(ctx, newCluster(ns, false))
		claim := newClaim(ns, "a", "p")
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind))}
		becomes(ctx, create(ctx, claim), ipamv1.ReadyCondition)
		labelled := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, labelled, client.InNamespace(ns), client.MatchingLabels{clusterv1.ClusterNameLabel: owner.Name})).To(Succeed())
		Expect(labelled.Items).To(ConsistOf(HaveField("Spec.ClaimRef.Name", "a")))
		change(ctx, owner, func() { owner.Spec.Paused = ptr.To(true) })
		watched := create(ctx, newPool(ns, "watched", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/24", AddressSpace: ns, ClusterName: owner.Name}))
		becomes(ctx, watched, ipamv1.PausedCondition) // the manager has seen the pause
		becomes(ctx, claim, ipamv1.PausedCondition)
		Expect(conditions.GetMessage(claim, ipamv1.PausedCondition)).To(Equal(paused))
		Expect(conditions.IsTrue(claim, ipamv1.ReadyCondition)).To(BeTrue())
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Consistently(func() []string { return records(ctx, ns) }, "1s", "100ms").Should(HaveLen(1))
		change(ctx, owner, func() { owner.Spec.Paused = ptr.To(false) })
		gone(ctx, claim)
		Eventually(func() []string { return records(ctx, ns) }, "1m", "50ms").Should(BeEmpty())
	})

	It("of a Cluster that is missing or paused says so, and is bound when that is over", func(ctx SpecContext) {
		serving(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := newClaim(ns, "a", "p")
		claim.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
		create(ctx, claim)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.GetReason(claim, ipamv1.ReadyCondition)).To(Equal("ClusterNotFound"))
		}, "1m", "50ms").Should(Succeed())
		Expect(conditions.GetMessage(claim, ipamv1.ReadyCondition)).To(And(
			HavePrefix("metadata.labels["+clusterv1.ClusterNameLabel+"]"), ContainSubstring(`there is no Cluster "c" in namespace `+ns)))
		cluster := create(ctx, newCluster(ns, true))
		becomes(ctx, claim, ipamv1.PausedCondition)
		Expect(conditions.GetMessage(claim, ipamv1.PausedCondition)).To(Equal(paused))
		Expect(records(ctx, ns)).To(BeEmpty())
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		becomes(ctx, claim, ipamv1.ReadyCondition)
		Expect(conditions.IsFalse(claim, ipamv1.PausedCondition)).To(BeTrue())
	})

	It("does not let go of what was retained for its name and is just moving to another cluster", func(ctx SpecContext) {
		global := create(ctx, &ipamv1.GlobalIPPool{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Spec:       ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, Visibility: ipamv1.SharedVisibility},
		})
		becomes(ctx, global, ipamv1.ReadyCondition)
		first := newClaim(ns, "a", ns)
		first.Spec.PoolRef.Kind, first.Spec.ReclaimPolicy = ipamv1.GlobalIPPoolKind, ipamv1.ClaimReclaimRetain
		becomes(ctx, create(ctx, first), ipamv1.ReadyCondition)
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		change(ctx, global, func() { global.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }) // so that nothing is held yet
		becomes(ctx, global, ipamv1.PausedCondition)
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		Expect(list.Items).To(ConsistOf(HaveField("Spec.State", ipamv1.RetainedState)))
		retained := &list.Items[0]
		change(ctx, retained, func() { retained.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""} })
		Expect(k.Delete(ctx, retained)).To(Succeed())

		serving(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/24", AddressSpace: ns}))
		becomes(ctx, create(ctx, newClaim(ns, "a", "p")), ipamv1.ReadyCondition)
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(retained), retained)).To(Succeed())
			g.Expect(retained.Spec.State).To(Equal(ipamv1.RetainedState))
		}, "2s", "100ms").Should(Succeed())

		change(ctx, global, func() { global.Annotations = nil })
		gone(ctx, retained)
		hold := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, hold, client.InNamespace("weir-system"))).To(Succeed())
		Expect(hold.Items).To(ContainElement(HaveField("Spec", And(
			HaveField("CIDR", retained.Spec.CIDR), HaveField("Purpose", ipamv1.MovedPurpose), HaveField("PoolRef.Name", ns)))))
	})
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// These claims pass the webhooks by: only the controller sees them.
var _ = Describe("An IPClaim", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, map[string]string{withoutWebhooks: ""}) })

	pauses := func(ctx context.Context, claim *ipamv1.IPClaim) {
		GinkgoHelper()
		becomes(ctx, claim, ipamv1.PausedCondition)
		Expect(conditions.GetReason(claim, ipamv1.PausedCondition)).To(Equal(clusterv1.PausedReason))
		Expect(conditions.GetMessage(claim, ipamv1.PausedCondition)).To(Equal(`Cluster "c" has spec.paused`))
	}

	It("that a Cluster owns, and no label names, pauses with it, and is released after", func(ctx SpecContext) {
		serving(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		owner := create(ctx, builder.Cluster(ns, "c").Build())
		claim := newClaim(ns, "a", "p")
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind))}
		becomes(ctx, create(ctx, claim), ipamv1.ReadyCondition)
		labelled := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, labelled, client.InNamespace(ns), client.MatchingLabels{clusterv1.ClusterNameLabel: owner.Name})).To(Succeed())
		Expect(labelled.Items).To(ConsistOf(HaveField("Spec.ClaimRef.Name", "a")))
		suite.Change(ctx, k, owner, func() { owner.Spec.Paused = ptr.To(true) })
		watched := create(ctx, newPool(ns, "watched", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/24", AddressSpace: ns, ClusterName: owner.Name}))
		becomes(ctx, watched, ipamv1.PausedCondition) // the manager has seen the pause
		pauses(ctx, claim)
		Expect(conditions.IsTrue(claim, ipamv1.ReadyCondition)).To(BeTrue())
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Consistently(func() []string { return records(ctx, ns) }, "1s", "100ms").Should(HaveLen(1))
		suite.Change(ctx, k, owner, func() { owner.Spec.Paused = ptr.To(false) })
		gone(ctx, claim)
		Eventually(func() []string { return records(ctx, ns) }, "1m", "100ms").Should(BeEmpty())
	})

	It("of a Cluster that is missing or paused says so, and is bound when that is over", func(ctx SpecContext) {
		serving(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := newClaim(ns, "a", "p")
		claim.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
		create(ctx, claim)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.GetReason(claim, ipamv1.ReadyCondition)).To(Equal("ClusterNotFound"))
		}, "1m", "100ms").Should(Succeed())
		Expect(conditions.GetMessage(claim, ipamv1.ReadyCondition)).To(And(
			HavePrefix("metadata.labels["+clusterv1.ClusterNameLabel+"]"), ContainSubstring(`there is no Cluster "c" in namespace `+ns)))
		Eventually(func(g Gomega) {
			list := &corev1.EventList{}
			g.Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(
				HaveField("InvolvedObject.UID", claim.UID), HaveField("Type", corev1.EventTypeWarning), HaveField("Reason", "ClusterNotFound"))))
		}, "1m", "100ms").Should(Succeed())
		cluster := create(ctx, builder.Cluster(ns, "c").WithPaused(true).Build())
		pauses(ctx, claim)
		Expect(records(ctx, ns)).To(BeEmpty())
		suite.Change(ctx, k, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
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
		suite.Change(ctx, k, global, func() { global.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }) // so that nothing is held yet
		becomes(ctx, global, ipamv1.PausedCondition)
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		Expect(list.Items).To(ConsistOf(HaveField("Spec.State", ipamv1.RetainedState)))
		retained := &list.Items[0]
		suite.Change(ctx, k, retained, func() { retained.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""} })
		Expect(k.Delete(ctx, retained)).To(Succeed())

		serving(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/24", AddressSpace: ns}))
		becomes(ctx, create(ctx, newClaim(ns, "a", "p")), ipamv1.ReadyCondition)
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(retained), retained)).To(Succeed())
			g.Expect(retained.Spec.State).To(Equal(ipamv1.RetainedState))
		}, "2s", "100ms").Should(Succeed())

		suite.Change(ctx, k, global, func() { global.Annotations = nil })
		gone(ctx, retained)
		hold := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, hold, client.InNamespace("weir-system"))).To(Succeed())
		Expect(hold.Items).To(ContainElement(HaveField("Spec", And(
			HaveField("CIDR", retained.Spec.CIDR), HaveField("State", ipamv1.MovedState), HaveField("PoolRef.Name", ns)))))
	})
})

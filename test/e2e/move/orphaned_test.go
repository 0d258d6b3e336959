// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// orphaned: claims move that name a Cluster which is not there, and come back.
func orphaned(ctx SpecContext) {
	t := tenant{name: "orphaned", global: "orphaned"}
	Expect(left.Client().Create(ctx, global(t.global, "10.17.0.0/24"))).To(Succeed())
	t.found(ctx, left)
	Expect(left.Client().Create(ctx, t.pools(8)[0])).To(Succeed())
	for _, ref := range t.refs()[:2] {
		t.askAlone(ctx, left, ref, 2)
	}
	retained := func() *ipamv1.IPClaim {
		return builder.IPClaim(t.name, "retained").From(ipamv1.GlobalIPPoolKind, t.global).Retained().Build()
	}
	first := retained()
	Expect(left.Client().Create(ctx, first)).To(Succeed())
	awaitAnswers(ctx, left, t.name, 2*4+1+1)
	Expect(left.Client().Delete(ctx, first.DeepCopy())).To(Succeed())
	expectGone(ctx, left, first.DeepCopy())
	had := book(ctx, left, t.name)
	Expect(left.Client().Delete(ctx, t.cluster(ctx, left))).To(Succeed())

	By("moving to where there is no such Cluster either")
	move(ctx, left, right, t.name)
	expectEmpty(ctx, left, t.name)
	Expect(unheld(ctx, left, t.global, had)).To(BeEmpty())
	leftAlone(ctx, t)
	newcomers := []string{"new-0", "new-1"}
	for _, name := range newcomers {
		Expect(right.Client().Create(ctx, builder.IPAddressClaim(t.name, name, ipamv1.IPPoolKind, "v4").Build())).To(Succeed())
	}
	answered := []string{"IPAddressClaim new-0", "IPAddressClaim new-1", "IPPool v4"}
	Eventually(func() []string { return slices.Sorted(maps.Keys(book(ctx, right, t.name))) }, "3m", "200ms").Should(Equal(answered))
	Expect(union(ctx)).To(BeEmpty())
	for _, name := range newcomers {
		claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: t.named(name)}
		Expect(right.Client().Delete(ctx, claim)).To(Succeed())
		expectGone(ctx, right, claim)
	}

	By("moving back, and deleting one before its Cluster is there")
	move(ctx, right, left, t.name)
	expectEmpty(ctx, right, t.name) // what is left over of a pool that has gone goes soon after it
	leftAlone(ctx, t)
	gone := &ipamv1beta2.IPAddressClaim{ObjectMeta: t.named("alone-orphaned-0")}
	Expect(left.Client().Delete(ctx, gone)).To(Succeed())
	Eventually(func() []string { return keptFor(ctx, left, t) }, "3m", "200ms").ShouldNot(ContainElement(ContainSubstring(" " + gone.Name + " ")))
	delete(had, "IPAddressClaim "+gone.Name)

	By("claiming what was retained")
	Eventually(func() []string { return heldFrom(ctx, left, t.global) }, "3m", "200ms").ShouldNot(ContainElement(HavePrefix("IPClaim retained ")))
	second := retained()
	Expect(left.Client().Create(ctx, second)).To(Succeed())
	Expect(second.Spec.CIDR).To(Equal(first.Spec.CIDR))
	had["IPClaim retained"] = first.Spec.CIDR

	By("making the Cluster")
	t.incorporate(ctx, left)
	expectArrived(ctx, left, t, had)
	expectEmpty(ctx, right, t.name)
	Eventually(func() []string { return heldFrom(ctx, left, t.global) }, "3m", "200ms").Should(BeEmpty())
	check(ctx)
}

// askAlone makes so many claims of each kind that name the Cluster and have no owners. What is Cluster API's moves by its label.
func (t tenant) askAlone(ctx context.Context, s *side, ref ipamv1.ClaimPoolReference, number int) {
	GinkgoHelper()
	for i := range number {
		name := fmt.Sprintf("alone-%s-%d", ref.Name, i)
		Expect(s.Client().Create(ctx, builder.IPAddressClaim(t.name, name, ref.Kind, ref.Name).WithLabel(clusterv1.ClusterNameLabel, t.name).
			WithLabel(clusterctlv1.ClusterctlMoveHierarchyLabel, "").Build())).To(Succeed())
		own := builder.IPClaim(t.name, name).From(ref.Kind, ref.Name).Build()
		own.Labels = map[string]string{clusterv1.ClusterNameLabel: t.name}
		Eventually(func() error { return s.Client().Create(ctx, own) }, "3m", "200ms").Should(Succeed())
	}
}

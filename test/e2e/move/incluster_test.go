// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// inClusterGlobal is the name of a global pool, and inClusterPool of one of a namespace.
const (
	inClusterGlobal = "incluster-shared"
	inClusterPool   = "incluster-nodes"
)

// inClusterMoves: claims of both kinds of the in-cluster provider's pools move, there and back. The pool of their namespace moves with them, and
// the global one hands out at its home only.
func inClusterMoves(ctx SpecContext) {
	t, stays := tenant{name: "incluster-moves"}, tenant{name: "incluster-stays"}
	t.found(ctx, left)
	stays.found(ctx, left)
	space := map[string]string{icv1.AddressSpaceAnnotation: ipamv1.DefaultAddressSpace} // which those who look on take all pools to be of
	Expect(left.Client().Create(ctx, &icv1.GlobalInClusterIPPool{
		ObjectMeta: metav1.ObjectMeta{Name: inClusterGlobal, Annotations: space},
		Spec:       icv1.InClusterIPPoolSpec{Addresses: []string{"198.19.0.0/24"}, Prefix: 24, Gateway: "198.19.0.1"},
	})).To(Succeed())
	Expect(left.Client().Create(ctx, &icv1.InClusterIPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: inClusterPool, Annotations: space},
		Spec:       icv1.InClusterIPPoolSpec{Addresses: []string{"198.19.1.10-198.19.1.99"}, Prefix: 24, Gateway: "198.19.1.1"},
	})).To(Succeed())
	number := size.Of(3, 3, 30)
	t.askInCluster(ctx, left, "old", icv1.GlobalInClusterIPPoolKind, inClusterGlobal, number)
	t.askInCluster(ctx, left, "old", icv1.InClusterIPPoolKind, inClusterPool, number)
	awaitAnswers(ctx, left, t.name, 2*number)
	had := book(ctx, left, t.name)

	By("moving")
	move(ctx, left, right, t.name)
	t.expectInCluster(ctx, left, right, had)
	var shared []string
	for name, address := range had {
		if strings.HasPrefix(name, "IPAddressClaim old-"+inClusterGlobal+"-") {
			shared = append(shared, address+"/32")
		}
	}
	Expect(shared).To(HaveLen(number))
	Eventually(func() []string { return heldOf(ctx, left, inClusterGlobal) }, "1m", "500ms").Should(ConsistOf(shared))

	By("claiming on both sides")
	t.askInCluster(ctx, right, "new", icv1.InClusterIPPoolKind, inClusterPool, 1)
	awaitAnswers(ctx, right, t.name, 2*number+1)
	t.askInCluster(ctx, right, "late", icv1.GlobalInClusterIPPoolKind, inClusterGlobal, 1)
	late := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "late-" + inClusterGlobal + "-0"}}
	expectReason(ctx, right, late, ipamv1beta2.IPAddressClaimReadyPoolNotReadyReason)
	pool := &icv1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: inClusterGlobal}}
	Eventually(func() string {
		Expect(right.Client().Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		return conditions.GetReason(pool, ipamv1.ReadyCondition)
	}, "1m", "200ms").Should(Equal(ipamv1.PoolReadyHomedElsewhereReason))
	stays.askInCluster(ctx, left, "new", icv1.GlobalInClusterIPPoolKind, inClusterGlobal, 2)
	awaitAnswers(ctx, left, stays.name, 2)
	for _, address := range book(ctx, left, stays.name) {
		Expect(slices.Collect(maps.Values(had))).NotTo(ContainElement(address))
	}
	check(ctx)

	By("moving back")
	had = book(ctx, right, t.name)
	t.provision(ctx, right)
	move(ctx, right, left, t.name)
	Eventually(func() map[string]string { return book(ctx, left, t.name) }, "3m", "500ms").Should(HaveLen(len(had) + 1)) // its pool is at home here
	t.expectInCluster(ctx, right, left, had)
	Eventually(func() []string { return heldOf(ctx, left, inClusterGlobal) }, "1m", "500ms").Should(BeEmpty())
	check(ctx)
}

// expectInCluster expects every claim with what it had on the side that its tenant has moved to, and nothing of the tenant on the other.
func (t tenant) expectInCluster(ctx context.Context, from, to *side, had map[string]string) {
	GinkgoHelper()
	Eventually(func() map[string]string { return keep(book(ctx, to, t.name), had) }, "3m", "500ms").Should(Equal(had), func() string {
		return reasons(ctx, to, t.name)
	})
	Eventually(func() []string {
		names := remaining(ctx, from, t.name)
		pools := &icv1.InClusterIPPoolList{}
		Expect(from.Client().List(ctx, pools, client.InNamespace(t.name))).To(Succeed())
		for _, p := range pools.Items {
			names = append(names, p.Name)
		}
		return names
	}, "3m", "500ms").Should(BeEmpty())
	pools := &icv1.InClusterIPPoolList{}
	Expect(to.Client().List(ctx, pools, client.InNamespace(t.name))).To(Succeed())
	Expect(pools.Items).To(HaveLen(1))
	addresses := &ipamv1beta2.IPAddressList{}
	Expect(to.Client().List(ctx, addresses, client.InNamespace(t.name))).To(Succeed())
	for _, a := range addresses.Items {
		Expect(a.Finalizers).To(ConsistOf(icv1.AddressFinalizer), a.Name)
	}
}

// askInCluster makes so many claims on a pool, all the Cluster's.
func (t tenant) askInCluster(ctx context.Context, s *side, prefix, kind, pool string, number int) {
	GinkgoHelper()
	owner := ownerOf(t.cluster(ctx, s))
	for i := range number {
		claim := builder.IPAddressClaim(t.name, fmt.Sprintf("%s-%s-%d", prefix, pool, i), kind, pool).WithLabel(clusterv1.ClusterNameLabel, t.name).Build()
		claim.Spec.PoolRef.APIGroup, claim.OwnerReferences = icv1.GroupVersion.Group, []metav1.OwnerReference{owner}
		Expect(s.Client().Create(ctx, claim)).To(Succeed())
	}
}

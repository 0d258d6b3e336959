// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// These pools are of the address space default, which the other specs leave alone: each has a range of its own.
var _ = Describe("An address that another provider has handed out", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	foreignIn := func(namespace, address string) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other-provider"},
			Spec: ipamv1beta2.IPAddressSpec{
				Address: address, Prefix: ptr.To(int32(24)), Gateway: "100.64.200.1",
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "other-provider"},
				PoolRef:  ipamv1beta2.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "other"},
			},
		}
	}
	newClaimOf := func(name string) *ipamv1beta2.IPAddressClaim { return newClaim(ns, name, "IPPool", "beside") }
	newBeside := func(cidr string) *ipamv1.IPPool { return newPool(ns, "beside", ipamv1.IPPoolSpec{CIDR: cidr}) }

	It("goes to no claim of a pool that is made later, which says so, and is free when its IPAddress is gone", func(ctx SpecContext) {
		foreign := create(ctx, foreignIn(ns, "100.64.200.2"))
		pool := newBeside("100.64.200.0/24")
		pool.Spec.Network = &ipamv1.Network{Gateway: "100.64.200.1"}
		create(ctx, pool)
		Expect(foreignAddresses(ctx, pool, ipamv1.ForeignExcludedReason)).To(Equal(
			"IPAddresses of other providers in the pool, which hands out none of them: 1: 100.64.200.2 (IPAddress " + ns + "/other-provider of InClusterIPPool other)"))
		Expect(pool.Status.Capacity.Excluded).To(Equal("4"), "with the gateway and what the network reserves")
		Expect(pool.Status.Capacity.Available).To(Equal("252"))
		Expect(conditions.IsTrue(pool, ipamv1.ReadyCondition)).To(BeTrue())

		Expect(answered(ctx, create(ctx, newClaimOf("beside"))).Spec.Address).To(Equal("100.64.200.3"))
		asking := newClaimOf("asking")
		asking.Annotations = map[string]string{ipamv1.AddressAnnotation: "100.64.200.2"}
		create(ctx, asking)
		Expect(ready(ctx, asking, metav1.ConditionFalse, "AllocationFailed")).To(ContainSubstring("in use, or part of it, by another IPAM provider"))

		Expect(k.Delete(ctx, foreign)).To(Succeed())
		Expect(answered(ctx, asking).Spec.Address).To(Equal("100.64.200.2"))
		noForeignAddresses(ctx, pool)
	})

	It("is told as a conflict where a claim has it already, and taken from neither", func(ctx SpecContext) {
		pool := create(ctx, newBeside("100.64.201.0/24"))
		claim := create(ctx, newClaimOf("first"))
		held := answered(ctx, claim)
		foreign := create(ctx, foreignIn(ns, held.Spec.Address))
		Expect(foreignAddresses(ctx, pool, ipamv1.ForeignConflictReason)).To(SatisfyAll(
			ContainSubstring("of which claims have 1 as well"),
			ContainSubstring("100.64.201.1 (IPAddress "+ns+"/other-provider of InClusterIPPool other; held for IPAddressClaim "+ns+"/first)")))
		Eventually(func() []string { return eventsAbout(ctx, pool) }, "1m", "100ms").Should(ContainElement(ipamv1.ForeignConflictReason))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.GetMessage(claim, ipamv1.WithinPoolCondition)).To(ContainSubstring("another IPAM provider"))
		}, "1m", "100ms").Should(Succeed())
		Expect(answered(ctx, claim)).To(Equal(held))
		Expect(answered(ctx, create(ctx, newClaimOf("second"))).Spec.Address).To(Equal("100.64.201.2"))

		Expect(k.Delete(ctx, foreign)).To(Succeed())
		noForeignAddresses(ctx, pool)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.Has(claim, ipamv1.WithinPoolCondition)).To(BeFalse())
		}, "1m", "100ms").Should(Succeed())
	})

	It("is counted, and its object not named, where that is of another project", func(ctx SpecContext) {
		create(ctx, foreignIn(newBareNamespace(ctx), "100.64.202.7"))
		pool := create(ctx, newBeside("100.64.202.0/24"))
		Expect(foreignAddresses(ctx, pool, ipamv1.ForeignExcludedReason)).To(HaveSuffix(": 1: 100.64.202.7"))
	})

	It("is named among the first five of many", func(ctx SpecContext) {
		for i := range 7 {
			foreign := foreignIn(ns, fmt.Sprint("100.64.204.", 11+i))
			foreign.Name = fmt.Sprint("other-", i)
			create(ctx, foreign)
		}
		message := foreignAddresses(ctx, create(ctx, newBeside("100.64.204.0/24")), ipamv1.ForeignExcludedReason)
		Expect(message).To(And(ContainSubstring(": 7: 100.64.204.11 (IPAddress "+ns+"/other-0 of "), ContainSubstring("100.64.204.15 ("), HaveSuffix(" and 2 more")))
		Expect(message).NotTo(ContainSubstring("100.64.204.16"))
	})

	It("may go to a claim of a pool in another address space", func(ctx SpecContext) {
		create(ctx, foreignIn(ns, "100.64.203.1"))
		beside := newBeside("100.64.203.0/24")
		beside.Spec.AddressSpace = ns
		create(ctx, beside)
		Expect(answered(ctx, create(ctx, newClaimOf("a"))).Spec.Address).To(Equal("100.64.203.1"))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(beside), beside)).To(Succeed())
		Expect(conditions.Has(beside, ipamv1.ForeignAddressesCondition)).To(BeFalse())
	})
})

// foreignAddresses waits until the pool says for this reason that other providers use addresses of it, and returns its message.
func foreignAddresses(ctx context.Context, pool *ipamv1.IPPool, reason string) string {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(conditions.IsTrue(pool, ipamv1.ForeignAddressesCondition)).To(BeTrue())
		g.Expect(conditions.GetReason(pool, ipamv1.ForeignAddressesCondition)).To(Equal(reason))
		g.Expect(conditions.IsTrue(pool, ipamv1.ReadyCondition)).To(BeTrue())
	}, "1m", "100ms").Should(Succeed())
	return conditions.GetMessage(pool, ipamv1.ForeignAddressesCondition)
}

// noForeignAddresses waits until the pool says nothing of that kind.
func noForeignAddresses(ctx context.Context, pool *ipamv1.IPPool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(conditions.Has(pool, ipamv1.ForeignAddressesCondition)).To(BeFalse())
	}, "1m", "100ms").Should(Succeed())
}

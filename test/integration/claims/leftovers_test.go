// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// inUse is the finalizer of somebody who still uses an address.
const inUse = "example.com/uses"

func without(finalizers []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == name })
}

var _ = Describe("An IPAddress that the garbage collector has taken the claim off the owners of", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	arrived := func(address string, bits int32) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a", Finalizers: []string{ipamv1.AddressFinalizer, inUse}},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, PoolRef: newClaim(ns, "a", "IPPool", "p").Spec.PoolRef,
				Address: address, Prefix: ptr.To(bits),
			},
		}
	}

	It("goes before its address does when its claim is deleted in the foreground, however long somebody uses it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", singleAddress(ns, 0)))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Finalizers = []string{"example.com/machine"}
		answer := answered(ctx, create(ctx, claim))
		change(ctx, answer, func() { answer.Finalizers = append(answer.Finalizers, inUse) })
		Expect(k.Delete(ctx, claim, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(answer), answer)).To(Succeed())
			g.Expect(answer.OwnerReferences).To(HaveLen(1), "the pool")
		}, "1m", "50ms").Should(Succeed())
		other := create(ctx, newClaim(ns, "b", "IPPool", "p"))
		ready(ctx, other, metav1.ConditionFalse, "PoolExhausted")

		change(ctx, claim, func() { claim.Finalizers = without(claim.Finalizers, "example.com/machine") })
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(answer), answer)).To(Succeed())
			g.Expect(answer.DeletionTimestamp).NotTo(BeNil())
		}, "1m", "50ms").Should(Succeed())
		Consistently(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "3s", "100ms").Should(HaveLen(1))
		change(ctx, answer, func() { answer.Finalizers = without(answer.Finalizers, inUse) })
		gone(ctx, claim)
		Expect(answered(ctx, other).Spec.Address).To(Equal("10.1.0.7"))
	})

	It("is no answer to its successor while it goes", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/26", AddressSpace: ns}))
		left := create(ctx, arrived("10.1.0.16", 26))
		Expect(k.Delete(ctx, left)).To(Succeed())
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.AddressRef.Name).To(BeEmpty())
		}, "2s", "100ms").Should(Succeed())
		uid := left.UID
		change(ctx, left, func() { left.Finalizers = without(left.Finalizers, inUse) })
		answer := answered(ctx, claim)
		Expect(answer.UID).NotTo(Equal(uid))
		Expect(answer.DeletionTimestamp).To(BeNil())
	})

	It("is the block that it carries, though the pool gives others now", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/26", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To[int32](29)},
		}))
		create(ctx, arrived("10.1.0.16", 28))
		answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p")))
		got := make([]string, 0, 3)
		for _, name := range []string{"b", "c", "d"} {
			got = append(got, answered(ctx, create(ctx, newClaim(ns, name, "IPPool", "p"))).Spec.Address)
		}
		Expect(got).To(Equal([]string{"10.1.0.0", "10.1.0.8", "10.1.0.32"}))
	})
})

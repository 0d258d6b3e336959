// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// The suite runs without webhooks: whatever a pool keeps here got past them.
var _ = Describe("An address that a pool keeps for a claim", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	keep := func(claim, address string) ipamv1.PreAllocation {
		return ipamv1.PreAllocation{ClaimName: claim, Address: address}
	}
	asking := func(name, address string) *ipamv1beta2.IPAddressClaim {
		claim := newClaim(ns, name, "IPPool", "p")
		claim.Annotations = map[string]string{ipamv1.AddressAnnotation: address}
		return claim
	}
	byHand := func(name, address string, bits int32, finalizers ...string) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: finalizers},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: newClaim(ns, name, "IPPool", "p").Spec.PoolRef,
				Address: address, Prefix: ptr.To(bits),
			},
		}
	}

	It("is that claim's before it exists and between its lives, though the pool is full", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/29", AddressSpace: ns, PreAllocations: []ipamv1.PreAllocation{keep("mine", "10.1.0.2")},
		}))
		got := make([]string, 0, 5)
		for i := range 5 {
			got = append(got, answered(ctx, create(ctx, newClaim(ns, fmt.Sprint("c", i), "IPPool", "p"))).Spec.Address)
		}
		Expect(got).To(Equal([]string{"10.1.0.1", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6"}))
		waiting := create(ctx, newClaim(ns, "waiting", "IPPool", "p"))
		ready(ctx, waiting, metav1.ConditionFalse, "PoolExhausted")
		poolExhausted(ctx, pool)
		Expect(pool.Status.Capacity).To(Equal(ipamv1.Capacity{
			Total: "8", Allocated: "5", Available: "0", Excluded: "2", Cooling: "0", Delegated: "0",
		}))
		Expect(pool.Status.LargestFreePrefixLength).To(BeNil(), "what is left is reserved, or kept for the claim")

		for range 2 {
			mine := create(ctx, newClaim(ns, "mine", "IPPool", "p"))
			address := answered(ctx, mine)
			Expect(address.Spec.Address).To(Equal("10.1.0.2"))
			Expect(k.Delete(ctx, mine)).To(Succeed())
			gone(ctx, mine)
			gone(ctx, address)
			Eventually(func() int { return len(records(ctx, ns)) }, "1m", "100ms").Should(Equal(5))
		}
		ready(ctx, waiting, metav1.ConditionFalse, "PoolExhausted")

		change(ctx, pool, func() { pool.Spec.PreAllocations = nil })
		Expect(answered(ctx, waiting).Spec.Address).To(Equal("10.1.0.2"))
		ready(ctx, create(ctx, newClaim(ns, "mine", "IPPool", "p")), metav1.ConditionFalse, "PoolExhausted")
	}, SpecTimeout(5*time.Minute))

	It("is for the claim of that namespace, in a GlobalIPPool and IPv6", func(ctx SpecContext) {
		other := newNamespace(ctx)
		create(ctx, &ipamv1.GlobalIPPool{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Spec: ipamv1.IPPoolSpec{CIDR: "2001:db8::/64", AddressSpace: ns, PreAllocations: []ipamv1.PreAllocation{
				{ClaimName: "api", Namespace: ns, Address: "2001:db8::2"},
				{ClaimName: "api", Namespace: other, Kind: "IPAddressClaim", Address: "2001:db8::1"},
				{ClaimName: "node", Namespace: ns, Kind: "IPClaim", Address: "2001:db8::3"},
			}},
		})
		got := map[string]string{}
		for _, namespace := range []string{ns, other} {
			for _, name := range []string{"node", "api"} {
				a := answered(ctx, create(ctx, newClaim(namespace, name, "GlobalIPPool", ns)))
				got[namespace+"/"+name] = fmt.Sprintf("%s/%d", a.Spec.Address, *a.Spec.Prefix)
			}
		}
		Expect(got).To(Equal(map[string]string{
			ns + "/api": "2001:db8::2/64", other + "/api": "2001:db8::1/64",
			ns + "/node": "2001:db8::4/64", other + "/node": "2001:db8::5/64",
		}))
	})

	It("or excludes is named in the condition of a claim that came with it, as long as that is so", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns, ExcludedAddresses: []ipamv1.AddressEntry{"10.1.0.8-10.1.0.9"},
			PreAllocations: []ipamv1.PreAllocation{keep("somebody", "10.1.0.7")},
		}))
		overridden := func(claim *ipamv1beta2.IPAddressClaim) string {
			answered(ctx, claim)
			return conditions.GetMessage(claim, ipamv1.WithinPoolCondition)
		}
		claims := map[string]*ipamv1beta2.IPAddressClaim{}
		for name, address := range map[string]string{"kept": "10.1.0.7", "excluded": "10.1.0.8", "within": "10.1.0.30"} {
			create(ctx, byHand(name, address, 24, ipamv1.AddressFinalizer))
			claims[name] = create(ctx, newClaim(ns, name, "IPPool", "p"))
		}
		Expect(overridden(claims["kept"])).To(Equal(
			"10.1.0.7/32: is kept for another claim: 10.1.0.7 is kept for IPAddressClaim " + ns + "/somebody; it is kept all the same"))
		Expect(overridden(claims["excluded"])).To(Equal("10.1.0.8/32: is excluded or contains an excluded address; it is kept all the same"))
		Expect(overridden(claims["within"])).To(BeEmpty())

		change(ctx, pool, func() { pool.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"10.1.0.30"} })
		looked := 0
		for name, want := range map[string]string{"excluded": "", "within": "10.1.0.30/32: is excluded or contains an excluded address; it is kept all the same"} {
			Eventually(func() string { // a pool that changes does not wake those who have their address
				looked++
				change(ctx, claims[name], func() {
					metav1.SetMetaDataAnnotation(&claims[name].ObjectMeta, "cluster.x-k8s.io/looked", strconv.Itoa(looked))
				})
				return overridden(claims[name])
			}, "1m", "200ms").Should(Equal(want))
		}
	})

	It("is refused to others that ask for it, not to one that arrives with it; its own claim is refused what it asks for instead", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns,
			PreAllocations: []ipamv1.PreAllocation{keep("mine", "10.1.0.7"), keep("asks", "10.1.0.8"), keep("arrived", "10.1.0.9")},
		}))
		asks := create(ctx, asking("other", "10.1.0.7"))
		keptForMine := "10.1.0.7/32: is kept for another claim: 10.1.0.7 is kept for IPAddressClaim " + ns + "/mine"
		Expect(ready(ctx, asks, metav1.ConditionFalse, "AllocationFailed")).To(
			Equal("metadata.annotations[" + ipamv1.AddressAnnotation + "]: " + keptForMine))
		create(ctx, byHand("by-hand", "10.1.0.7", 24))
		Expect(ready(ctx, create(ctx, newClaim(ns, "by-hand", "IPPool", "p")), metav1.ConditionFalse, "AllocationFailed")).To(
			Equal("recording IPAddress by-hand: " + keptForMine))
		create(ctx, byHand("moved", "10.1.0.7", 24, ipamv1.AddressFinalizer))
		Expect(answered(ctx, create(ctx, newClaim(ns, "moved", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.7"), "it has it already")
		Expect(answered(ctx, create(ctx, asking("asks", "10.1.0.8"))).Spec.Address).To(Equal("10.1.0.8"))
		mine := create(ctx, asking("mine", "10.1.0.20"))
		Expect(ready(ctx, mine, metav1.ConditionFalse, "AllocationFailed")).To(ContainSubstring(
			"10.1.0.20/32: the pool keeps 10.1.0.7/32 for the claim, which gets nothing else"))
		create(ctx, byHand("arrived", "10.1.0.30", 24, ipamv1.AddressFinalizer))
		Expect(answered(ctx, create(ctx, newClaim(ns, "arrived", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.30"), "its answer stays")

		change(ctx, pool, func() { pool.Spec.PreAllocations = nil })
		Expect(answered(ctx, mine).Spec.Address).To(Equal("10.1.0.20"))
		Eventually(func(g Gomega) {
			held := make([]string, 0, 4)
			for _, r := range records(ctx, ns) {
				held = append(held, r.Spec.CIDR)
			}
			g.Expect(held).To(ConsistOf("10.1.0.7/32", "10.1.0.8/32", "10.1.0.20/32", "10.1.0.30/32"))
		}, "1m", "100ms").Should(Succeed())
	})

	It("is the block that begins with it where claims get blocks", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.2.0.0/26", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To(int32(28))},
			PreAllocations: []ipamv1.PreAllocation{keep("mine", "10.2.0.0"), keep("theirs", "10.2.0.32")},
		}))
		block := func(claim *ipamv1beta2.IPAddressClaim) string {
			a := answered(ctx, create(ctx, claim))
			return fmt.Sprintf("%s/%d", a.Spec.Address, *a.Spec.Prefix)
		}
		Expect(block(newClaim(ns, "other", "IPPool", "p"))).To(Equal("10.2.0.16/28"))
		create(ctx, byHand("inside", "10.2.0.34", 26))
		Expect(ready(ctx, create(ctx, newClaim(ns, "inside", "IPPool", "p")), metav1.ConditionFalse, "AllocationFailed")).To(
			ContainSubstring("10.2.0.32/28 is kept for IPAddressClaim " + ns + "/theirs"))
		Expect(block(newClaim(ns, "next", "IPPool", "p"))).To(Equal("10.2.0.48/28"))
		ready(ctx, create(ctx, newClaim(ns, "late", "IPPool", "p")), metav1.ConditionFalse, "PoolExhausted")
		Expect(block(newClaim(ns, "mine", "IPPool", "p"))).To(Equal("10.2.0.0/28"))
		Expect(block(newClaim(ns, "theirs", "IPPool", "p"))).To(Equal("10.2.0.32/28"))
		poolExhausted(ctx, pool)
		Expect(pool.Status.LargestFreePrefixLength).To(BeNil())
	})

	It("that another claim holds is waited for, and who is answered already keeps what it has", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		holder := create(ctx, newClaim(ns, "holder", "IPPool", "p"))
		Expect(answered(ctx, holder).Spec.Address).To(Equal("10.1.0.1"))
		settled := create(ctx, newClaim(ns, "settled", "IPPool", "p"))
		Expect(answered(ctx, settled).Spec.Address).To(Equal("10.1.0.2"))
		change(ctx, pool, func() {
			pool.Spec.PreAllocations = []ipamv1.PreAllocation{keep("mine", "10.1.0.1"), keep("settled", "10.1.0.3")}
		})
		mine := newClaim(ns, "mine", "IPPool", "p")
		Eventually(func(g Gomega) { // the manager's cache has the pool as it is now
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.ObservedGeneration).To(Equal(pool.Generation))
		}, "1m", "100ms").Should(Succeed())
		Expect(ready(ctx, create(ctx, mine), metav1.ConditionFalse, "AllocationFailed")).To(Equal(
			"the pool keeps 10.1.0.1/32 for the claim: 10.1.0.1 is in use by IPAddressClaim " + ns + "/holder"))
		Expect(answered(ctx, create(ctx, newClaim(ns, "other", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.4"))

		change(ctx, settled, func() { settled.Annotations = map[string]string{"cluster.x-k8s.io/looked-at": "again"} })
		change(ctx, holder, func() { holder.Annotations = map[string]string{"cluster.x-k8s.io/looked-at": "again"} })
		Consistently(func(g Gomega) {
			for claim, text := range map[*ipamv1beta2.IPAddressClaim]string{holder: "10.1.0.1", settled: "10.1.0.2"} {
				address := &ipamv1beta2.IPAddress{}
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), address)).To(Succeed())
				g.Expect(address.Spec.Address).To(Equal(text))
			}
			g.Expect(records(ctx, ns)).To(HaveLen(3))
		}, "400ms", "100ms").Should(Succeed())

		Expect(k.Delete(ctx, holder)).To(Succeed())
		Expect(answered(ctx, mine).Spec.Address).To(Equal("10.1.0.1"))
		Expect(k.Delete(ctx, settled)).To(Succeed())
		gone(ctx, settled)
		Expect(answered(ctx, create(ctx, newClaim(ns, "settled", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.3"))
	})
})

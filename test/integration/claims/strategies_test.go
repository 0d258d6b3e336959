// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var _ = Describe("A pool's strategy", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	// of is a pool of these addresses, all of which are handed out.
	of := func(strategy ipamv1.AllocationStrategy, addresses ...ipamv1.AddressEntry) *ipamv1.IPPool {
		return newPool(ns, "p", ipamv1.IPPoolSpec{
			Addresses: addresses, AddressSpace: ns,
			Allocation: &ipamv1.AllocationPolicy{Strategy: strategy, ReservedAddresses: ipamv1.ReservedAddressesAllocate},
		})
	}
	claim := func(name string) *ipamv1beta2.IPAddressClaim { return newClaim(ns, name, "IPPool", "p") }
	// gets answers claims of these names, one after the other.
	gets := func(ctx context.Context, names ...string) []string {
		GinkgoHelper()
		addresses := make([]string, 0, len(names))
		for _, name := range names {
			addresses = append(addresses, answered(ctx, create(ctx, claim(name))).Spec.Address)
		}
		return addresses
	}
	givesBack := func(ctx context.Context, names ...string) {
		GinkgoHelper()
		for _, name := range names {
			Expect(k.Delete(ctx, claim(name))).To(Succeed())
			gone(ctx, claim(name))
		}
	}

	It("FirstFit takes the lowest that is free", func(ctx SpecContext) {
		create(ctx, of(ipamv1.FirstFitStrategy, "10.1.0.0/28", "10.1.1.0/31"))
		Expect(gets(ctx, "a", "b", "c")).To(Equal([]string{"10.1.0.0", "10.1.0.1", "10.1.0.2"}))
		givesBack(ctx, "c", "a")
		Expect(gets(ctx, "d", "e")).To(Equal([]string{"10.1.0.0", "10.1.0.2"}))
	})

	It("BestFit keeps big blocks whole", func(ctx SpecContext) {
		create(ctx, of(ipamv1.BestFitStrategy, "10.1.0.0/28", "10.1.1.0/31", "10.1.2.0"))
		Expect(gets(ctx, "a", "b", "c", "d")).To(Equal([]string{"10.1.2.0", "10.1.1.0", "10.1.1.1", "10.1.0.0"}))
		givesBack(ctx, "b")
		Expect(gets(ctx, "e", "f")).To(Equal([]string{"10.1.0.1", "10.1.1.0"}))
	})

	It("Random takes any", func(ctx SpecContext) {
		create(ctx, of(ipamv1.RandomStrategy, "2001:db8::/64"))
		got := gets(ctx, "a", "b", "c", "d")
		lowest := []string{"2001:db8::", "2001:db8::1", "2001:db8::2", "2001:db8::3"}
		for _, address := range got {
			Expect(netip.MustParsePrefix("2001:db8::/64").Contains(netip.MustParseAddr(address))).To(BeTrue(), address)
			Expect(lowest).NotTo(ContainElement(address)) // one in 2⁶⁰
		}
		Expect(got).To(HaveLen(4))
	})

	It("LeastRecentlyUsed takes what has been free for longest", func(ctx SpecContext) {
		create(ctx, of(ipamv1.LeastRecentlyUsedStrategy, "10.1.0.0/30"))
		Expect(gets(ctx, "a")).To(Equal([]string{"10.1.0.0"}))
		givesBack(ctx, "a")
		Expect(gets(ctx, "b", "c", "d", "e")).To(Equal([]string{"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.0"}))
		givesBack(ctx, "d", "b", "e")
		Expect(gets(ctx, "f", "g", "h")).To(Equal([]string{"10.1.0.3", "10.1.0.1", "10.1.0.0"}))
	})

	It("may be changed while the pool serves", func(ctx SpecContext) {
		pool := create(ctx, of(ipamv1.BestFitStrategy, "10.1.0.0/29", "10.1.1.0/31"))
		Expect(gets(ctx, "a")).To(Equal([]string{"10.1.1.0"}))
		change(ctx, pool, func() { pool.Spec.Allocation.Strategy = ipamv1.FirstFitStrategy })
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.ObservedGeneration).To(Equal(pool.Generation))
		}, "1m", "100ms").Should(Succeed())
		Expect(gets(ctx, "b")).To(Equal([]string{"10.1.0.0"}))
	})
})

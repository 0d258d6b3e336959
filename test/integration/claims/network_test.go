// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"
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

// settings are what comes with an address.
func settings(a *ipamv1beta2.IPAddress) string {
	return fmt.Sprintf("/%d %s %s", ptr.Deref(a.Spec.Prefix, 0), a.Spec.Gateway, a.Annotations[ipamv1.DNSServersAnnotation])
}

var _ = Describe("The network settings of a pool", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	// child is the spec of a pool carved from another one of the namespace.
	child := func(parent, cidr string) ipamv1.IPPoolSpec {
		return ipamv1.IPPoolSpec{CIDR: cidr, AddressSpace: ns, ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Name: parent}}
	}

	It("are inherited by the pools carved from it that set none, also when they change", func(ctx SpecContext) {
		root := create(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/16", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](16)},
			Network: &ipamv1.Network{Gateway: "10.1.0.1", DNSServers: []ipamv1.DNSServer{"10.1.0.53"}},
		}))
		middle := newPool(ns, "middle", child("root", "10.1.16.0/20"))
		middle.Spec.Allocation = &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](16)}
		create(ctx, middle)
		leaf := create(ctx, newPool(ns, "leaf", child("middle", "10.1.16.0/28")))
		poolReady(ctx, leaf, metav1.ConditionTrue, "Available")
		Expect(leaf.Status.Capacity.Excluded).To(Equal("0"), "the block lies in the middle of the network")

		By("answering claims of both kinds with them")
		first := answered(ctx, create(ctx, newClaim(ns, "first", "IPPool", "leaf")))
		Expect(first.Spec.Address).To(Equal("10.1.16.0"))
		Expect(settings(first)).To(Equal("/16 10.1.0.1 10.1.0.53"))
		own := create(ctx, newIPClaim(ns, "own", "IPPool", "leaf"))
		bound(ctx, own)
		Expect(own.Status.Network).To(Equal(&ipamv1.Network{
			PrefixLength: ptr.To[int32](16), Gateway: "10.1.0.1", DNSServers: []ipamv1.DNSServer{"10.1.0.53"},
		}))

		By("changing them at the top")
		change(ctx, root, func() { root.Spec.Network.Gateway = "10.1.16.9" })
		Eventually(func(g Gomega) string {
			claim := create(ctx, newClaim(ns, "next", "IPPool", "leaf"))
			next := answered(ctx, claim)
			g.Expect(k.Delete(ctx, claim)).To(Succeed())
			gone(ctx, claim)
			return settings(next)
		}, "1m").Should(Equal("/16 10.1.16.9 10.1.0.53"))
		asking := newClaim(ns, "asking", "IPPool", "leaf")
		asking.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.1.16.9"}
		Expect(ready(ctx, create(ctx, asking), metav1.ConditionFalse, "AllocationFailed")).To(ContainSubstring("gateway"))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(leaf), leaf)).To(Succeed())
			g.Expect(leaf.Status.Capacity.Excluded).To(Equal("1"))
		}, "1m", "100ms").Should(Succeed())
		change(ctx, root, func() { root.Spec.Network = nil })
		Eventually(func(g Gomega) { // the leaf's own block is a network of its own now, with two ends
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(leaf), leaf)).To(Succeed())
			g.Expect(leaf.Status.Capacity.Excluded).To(Equal("2"))
		}, "1m", "100ms").Should(Succeed())
	})

	It("are not inherited by a carved pool that sets some of its own", func(ctx SpecContext) {
		create(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/16", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](16)},
			Network: &ipamv1.Network{Gateway: "10.1.0.1"},
		}))
		leaf := newPool(ns, "leaf", child("root", "10.1.1.0/24"))
		leaf.Spec.Network = &ipamv1.Network{DNSServers: []ipamv1.DNSServer{"10.1.1.53"}}
		create(ctx, leaf)
		Expect(settings(answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "leaf"))))).To(Equal("/24  10.1.1.53"))
	})

	It("that some addresses do not reach are said in a condition: those are not handed out, and stay where they are in use", func(ctx SpecContext) {
		root := create(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/16", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](16)},
			Network: &ipamv1.Network{Gateway: "10.1.0.1"},
		}))
		leaf := create(ctx, newPool(ns, "leaf", child("root", "10.1.9.0/24")))
		poolReady(ctx, leaf, metav1.ConditionTrue, "Available")
		held := answered(ctx, create(ctx, newClaim(ns, "held", "IPPool", "leaf")))
		says := func(pool *ipamv1.IPPool) string {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			if c := conditions.Get(pool, ipamv1.GatewayReachableCondition); c != nil {
				return fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message)
			}
			return ""
		}
		Expect(says(root) + says(leaf)).To(BeEmpty())

		By("making the network at the top shorter, past the webhooks")
		change(ctx, root, func() { root.Spec.Network.PrefixLength = ptr.To[int32](24) })
		Eventually(says, "1m", "100ms").WithArguments(root).Should(Equal(`False/AddressesOffLink: not handed out: ` +
			`spec.cidr: Invalid value: "10.1.0.0/16": 10.1.1.0-10.1.255.255 do not reach gateway 10.1.0.1 with prefix length 24; ` +
			`correct spec.network, or set the network of these addresses in spec.subnets`))
		Eventually(says, "1m", "100ms").WithArguments(leaf).Should(Equal(`False/AddressesOffLink: not handed out: ` +
			`spec.cidr: Invalid value: "10.1.9.0/24": 10.1.9.0-10.1.9.255 do not reach gateway 10.1.0.1 with prefix length 24; ` +
			`the pool inherits them from its parent: set spec.network`))
		for _, pool := range []*ipamv1.IPPool{root, leaf} {
			Expect(conditions.IsTrue(pool, ipamv1.ReadyCondition)).To(BeTrue(), "what reaches its gateway is handed out all the same")
			Eventually(eventsAbout, "1m", "100ms").WithArguments(ctx, pool).Should(ContainElement("AddressesOffLink"))
		}

		By("handing out what reaches the gateway, and nothing else")
		near := answered(ctx, create(ctx, newClaim(ns, "near", "IPPool", "root")))
		Expect(near.Spec.Address).To(HavePrefix("10.1.0."))
		asks := newClaim(ns, "asks", "IPPool", "root")
		asks.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.1.2.2"}
		Expect(ready(ctx, create(ctx, asks), metav1.ConditionFalse, "AllocationFailed")).To(ContainSubstring("does not reach its gateway, 10.1.0.1"))
		waits := create(ctx, newClaim(ns, "waits", "IPPool", "leaf"))
		ready(ctx, waits, metav1.ConditionFalse, "PoolExhausted")
		Expect(k.Get(ctx, client.ObjectKeyFromObject(held), held)).To(Succeed())
		Expect(held.DeletionTimestamp).To(BeNil())

		By("giving the pool below a network of its own")
		change(ctx, leaf, func() { leaf.Spec.Network = &ipamv1.Network{Gateway: "10.1.9.1"} })
		Expect(settings(answered(ctx, waits))).To(Equal("/24 10.1.9.1 "))
		Eventually(says, "1m", "100ms").WithArguments(leaf).Should(BeEmpty())
	}, SpecTimeout(5*time.Minute))

	It("that change are reported until no IPAddress has the former ones, also of the pools carved from it", func(ctx SpecContext) {
		root := create(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/16", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](16)},
			Network: &ipamv1.Network{Gateway: "10.1.0.1"},
		}))
		leaf := create(ctx, newPool(ns, "leaf", child("root", "10.1.1.0/24")))
		poolReady(ctx, leaf, metav1.ConditionTrue, "Available")
		claims := map[*ipamv1.IPPool][]*ipamv1beta2.IPAddressClaim{}
		for _, pool := range []*ipamv1.IPPool{root, leaf} {
			for i := range 2 {
				claim := create(ctx, newClaim(ns, fmt.Sprint(pool.Name, i), "IPPool", pool.Name))
				answered(ctx, claim)
				claims[pool] = append(claims[pool], claim)
			}
			Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			Expect(conditions.Get(pool, ipamv1.NetworkCurrentCondition)).To(BeNil())
		}
		says := func(pool *ipamv1.IPPool) string {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			if c := conditions.Get(pool, ipamv1.NetworkCurrentCondition); c != nil {
				return fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message)
			}
			return ""
		}

		change(ctx, root, func() { root.Spec.Network.Gateway = "10.1.0.2" })
		for pool, old := range claims {
			Eventually(says, "1m", "100ms").WithArguments(pool).Should(HavePrefix("False/AddressesOutdated: 2 IPAddresses"))
			Expect(conditions.IsTrue(pool, ipamv1.ReadyCondition)).To(BeTrue(), "it hands out addresses all the same")
			answered(ctx, create(ctx, newClaim(ns, pool.Name+"-new", "IPPool", pool.Name)))
			Expect(k.Delete(ctx, old[0])).To(Succeed())
			Eventually(says, "1m", "100ms").WithArguments(pool).Should(HavePrefix("False/AddressesOutdated: 1 IPAddresses"))
			Expect(k.Delete(ctx, old[1])).To(Succeed())
			Eventually(says, "1m", "100ms").WithArguments(pool).Should(BeEmpty())
		}
	}, SpecTimeout(5*time.Minute))
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// level is one pool of a chain, with the block that it gets second: the first is another pool's.
type level struct {
	bits          int32
	first, second string
}

var _ = DescribeTable("A chain of pools is carved one from the other, and the last one answers a claim:",
	func(ctx SpecContext, cidr string, address string, levels ...level) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("level-0", cidr).Build())
		for i, l := range levels {
			parent := fmt.Sprintf("level-%d", i)
			sibling := s.Child(fmt.Sprintf("sibling-%d", i+1), parent, l.bits).Build()
			p := s.Child(fmt.Sprintf("level-%d", i+1), parent, l.bits).Build()
			s.Create(ctx, sibling, p)
			Expect(sibling.Spec.CIDR).To(Equal(l.first))
			Expect(p.Spec.CIDR).To(Equal(l.second))
			Expect(p.Spec.AddressSpace).To(Equal(s.Namespace), "inherited")
			Expect(p.Labels).To(HaveKeyWithValue(ipamv1.AllocatedLabel, "true"))
			Expect(p.Finalizers).To(ContainElement(ipamv1.PoolFinalizer))
			s.Ready(ctx, sibling, p)
			Expect(p.Status.AllocatedCIDR).To(Equal(l.second))
			record := s.Record(ctx, p)
			Expect(record.Spec.CIDR).To(Equal(l.second))
			Expect(record.Spec.Purpose).To(Equal(ipamv1.PoolBlockPurpose))
			Expect(record.Spec.PoolRef.Name).To(Equal(parent))
			Expect(record.Namespace).To(Equal(p.Namespace))
		}
		c := s.Claim("web", fmt.Sprintf("level-%d", len(levels))).Build()
		s.Create(ctx, c)
		Expect(c.Spec.CIDR).To(Equal(address))
		s.Ready(ctx, c)
	},
	Entry("of IPv4", "10.0.0.0/8", "10.17.1.1/32",
		level{12, "10.0.0.0/12", "10.16.0.0/12"}, level{16, "10.16.0.0/16", "10.17.0.0/16"}, level{24, "10.17.0.0/24", "10.17.1.0/24"}),
	Entry("of IPv6", "2001:db8::/32", "2001:db8:101:1::1/128",
		level{40, "2001:db8::/40", "2001:db8:100::/40"}, level{48, "2001:db8:100::/48", "2001:db8:101::/48"},
		level{64, "2001:db8:101::/64", "2001:db8:101:1::/64"}),
	Entry("down to single addresses", "10.0.0.0/30", "10.0.0.3/32", level{31, "10.0.0.0/31", "10.0.0.2/31"}, level{32, "10.0.0.2/32", "10.0.0.3/32"}),
)

var _ = It("The sums of a pool count what its children have as delegated, and not what is handed out of them", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	root, middle, leaf := s.Root("root", "10.0.0.0/16").Build(), s.Child("middle", "root", 20).Build(), s.Child("leaf", "middle", 24).Build()
	s.Create(ctx, root, middle, leaf, s.Claim("of-root", "root").WithBits(24).Build(), s.Claim("of-middle", "middle").Build(), s.Claim("of-leaf", "leaf").Build())
	expect := func(p *ipamv1.IPPool, total, delegated, allocated string, available int, children, claims int32, largest int32) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.Status.Capacity).To(And(HaveField("Total", total), HaveField("Delegated", delegated), HaveField("Allocated", allocated),
				HaveField("Available", fmt.Sprint(available)), HaveField("Cooling", "0")))
			g.Expect(p.Status.Children).To(HaveValue(Equal(children)))
			g.Expect(p.Status.Claims).To(HaveValue(Equal(claims)))
			g.Expect(p.Status.LargestFreePrefixLength).To(HaveValue(Equal(largest)))
		}, patience, "100ms").Should(Succeed(), p.Name)
	}
	// Of each of the three pools the network and broadcast address is reserved.
	expect(root, "65536", "4096", "256", 65536-4096-256-1, 1, 1, 17)
	expect(middle, "4096", "256", "1", 4096-256-1-1, 1, 1, 21)
	expect(leaf, "256", "0", "1", 256-1-2, 0, 1, 25)
}, SpecTimeout(5*time.Minute))

var _ = It("What a pool excludes after it was carved is not handed out below, which says so, until it is not excluded any more", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	root, middle, leaf := s.Root("root", "10.0.0.0/16").Build(), s.Child("middle", "root", 20).Build(), s.Child("leaf", "middle", 28).Build()
	held := s.Claim("held", "leaf").Build()
	s.Create(ctx, root, middle, leaf, held)
	exclude := func(entries string) {
		GinkgoHelper()
		body := fmt.Appendf(nil, `{"spec":{"excludedAddresses":%s}}`, entries)
		Expect(k.Patch(ctx, root, client.RawPatch(types.MergePatchType, body))).To(Succeed())
	}
	expect := func(excluded, available string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(leaf), leaf)).To(Succeed())
			g.Expect(leaf.Status.Capacity).To(And(HaveField("Excluded", excluded), HaveField("Available", available)))
		}, patience, "100ms").Should(Succeed())
	}
	expect("2", "13") // of 16 the network and broadcast address are reserved, and one is held
	exclude(`["10.0.0.2","10.0.0.8/29"]`)
	expect("10", "5") // of the eight one is reserved already
	Expect(k.Create(ctx, s.Claim("asks", "leaf").WithCIDR("10.0.0.9/32").Build())).To(suite.Refused(422, "kept back"))
	next := s.Claim("next", "leaf").Build()
	s.Create(ctx, next)
	Expect(next.Spec.CIDR).To(Equal("10.0.0.3/32"))

	exclude(`["10.0.0.0/28"]`)
	s.Exhausted(ctx, leaf)
	s.Refuses(ctx, s.Claim("refused", "leaf").Build(), 507, "exhausted")
	waiting := builder.IPAddressClaim(s.Namespace, "waiting", ipamv1.IPPoolKind, "leaf").Build()
	s.Create(ctx, waiting)
	s.NotReady(ctx, waiting, ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)
	Expect(k.Patch(ctx, held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"looked":"at"}}}`)))).To(Succeed())
	Eventually(func(g Gomega) { // what it has it keeps
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(held), held)).To(Succeed())
		g.Expect(conditions.IsTrue(held, ipamv1.ReadyCondition)).To(BeTrue())
		g.Expect(conditions.GetMessage(held, ipamv1.WithinPoolCondition)).To(ContainSubstring("kept back"))
	}, patience, "100ms").Should(Succeed())
	exclude("null")
	s.Ready(ctx, leaf, waiting)
	expect("2", "11")
}, SpecTimeout(5*time.Minute))

var _ = Describe("A pool", func() {
	It("is carved from a GlobalIPPool, which may be carved itself, and from an IPPool of another namespace", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		root := s.GlobalRoot("root", "10.0.0.0/8").WithLengths(8, 32, 0).Build()
		site4 := builder.GlobalIPPool(s.Global("site")).WithParent(ipamv1.GlobalIPPoolKind, "", root.Name).WithBits(12).WithLengths(12, 32, 0).Build()
		shared := builder.IPPool(s.Namespace, "shared").WithParent(ipamv1.GlobalIPPoolKind, "", site4.Name).WithBits(16).
			WithLengths(16, 32, 0).WithVisibility(ipamv1.SharedVisibility).Build()
		other := s.Another(ctx, nil)
		leaf := builder.IPPool(other, "leaf").WithParent(ipamv1.IPPoolKind, s.Namespace, "shared").WithBits(24).Build()
		c := builder.IPClaim(other, "web").From(ipamv1.IPPoolKind, "leaf").Build()
		s.Create(ctx, root, site4, shared, leaf, c)
		Expect([]string{site4.Spec.CIDR, shared.Spec.CIDR, leaf.Spec.CIDR, c.Spec.CIDR}).
			To(Equal([]string{"10.0.0.0/12", "10.0.0.0/16", "10.0.0.0/24", "10.0.0.1/32"}))
		s.Ready(ctx, root, site4, shared, leaf, c)
		Expect(s.Record(ctx, site4).Namespace).To(Equal("weir-system"), "beside the manager: the pool has no namespace")
		Expect(s.Record(ctx, leaf).Namespace).To(Equal(other))
		Expect(leaf.Spec.AddressSpace).To(Equal(s.Namespace))
	}, SpecTimeout(5*time.Minute))

	It("shares its parent with claims, and with no overlap", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("parent", "10.0.0.0/14").Build())
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
		const many = 40
		held := make([]netip.Prefix, 0, many)
		for i := range many {
			bits := 22 + random.Int32N(11)
			cidr := createEither(ctx, s, random.IntN(2) == 0, i, bits)
			for _, other := range held {
				Expect(cidr.Overlaps(other)).To(BeFalse(), "%s and %s", cidr, other)
			}
			held = append(held, cidr)
		}
	}, SpecTimeout(5*time.Minute))

	It("created together with its whole chain in one call has its block", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		head := "apiVersion: ipam.weir.dev/v1alpha1\nkind: "
		chain := fmt.Sprintf(head+"GlobalIPPool\nmetadata: {name: %[1]s-root}\nspec: {cidr: 10.0.0.0/8, addressSpace: %[1]s, allocation: {minPrefixLength: 8}}\n---\n"+
			head+"GlobalIPPool\nmetadata: {name: %[1]s-site}\nspec: {parentRef: {kind: GlobalIPPool, name: %[1]s-root}, prefixLength: 12, allocation: {minPrefixLength: 8}}\n---\n"+
			head+"IPPool\nmetadata: {name: team}\nspec: {parentRef: {kind: GlobalIPPool, name: %[1]s-site}, prefixLength: 16}\n---\n"+
			head+"IPPool\nmetadata: {name: app}\nspec: {parentRef: {kind: IPPool, name: team}, prefixLength: 24}\n---\n"+
			head+"IPClaim\nmetadata: {name: web}\nspec: {poolRef: {kind: IPPool, name: app}}\n", s.Namespace)
		out, err := site.Kubectl(ctx, chain, "create", "--namespace="+s.Namespace, "-f-", "-o", "jsonpath={.spec.cidr} ")
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal("10.0.0.0/8 10.0.0.0/12 10.0.0.0/16 10.0.0.0/24 10.0.0.1/32 "))
		s.Ready(ctx, s.Claim("web", "app").Build())
	}, SpecTimeout(5*time.Minute))

	It("keeps what was written into it through replace, apply and server-side apply of a manifest without it", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("parent", "10.0.0.0/16").Build(), s.Child("first", "parent", 24).Build())
		manifest := func(label string) string {
			return "{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: child, labels: {says: " + label + "}}, " +
				"spec: {parentRef: {kind: IPPool, name: parent}, prefixLength: 24}}"
		}
		child := builder.IPPool(s.Namespace, "child").Build()
		for _, args := range [][]string{
			{"create"}, {"replace"}, {"apply"}, {"apply"}, {"apply", "--server-side", "--force-conflicts"}, {"apply", "--server-side"}, {"replace"},
		} {
			_, err := site.Kubectl(ctx, manifest(args[0]), append(args, "--namespace="+s.Namespace, "-f-")...)
			Expect(err).NotTo(HaveOccurred())
			s.Ready(ctx, child)
			Expect(child.Labels).To(And(HaveKeyWithValue("says", args[0]), HaveKeyWithValue(ipamv1.AllocatedLabel, "true")), "%v", args)
			Expect(child.Spec.CIDR).To(Equal("10.0.1.0/24"), "%v", args)
			Expect(child.Spec.AddressSpace).To(Equal(s.Namespace), "%v", args)
			Expect(child.Finalizers).To(ContainElement(ipamv1.PoolFinalizer), "%v", args)
		}
		Expect(s.Records(ctx, child)).To(HaveLen(1))
	}, SpecTimeout(5*time.Minute))

	It("created again under its name is a new pool: it gets the block that is free, and what it handed out does not count", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		child := s.Child("child", "parent", 24).Build()
		s.Create(ctx, s.Root("parent", "10.0.0.0/16").Build(), child)
		s.Ready(ctx, child)
		c := s.Claim("web", "child").Build()
		s.Create(ctx, c)
		s.Delete(ctx, c, child)
		for range 3 {
			again := s.Child("child", "parent", 24).Build()
			s.Create(ctx, s.Child("other", "parent", 24).Build(), again)
			Expect(again.Spec.CIDR).To(Equal("10.0.1.0/24"))
			s.Ready(ctx, again)
			s.Record(ctx, again)
			s.Delete(ctx, again, builder.IPPool(s.Namespace, "other").Build())
		}
		Expect(s.HandedOut(ctx)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))

	It("of which a dry run is made has nothing recorded, and shows the very block of the next create", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("parent", "10.0.0.0/16").Build(), s.Child("first", "parent", 24).Build())
		child := s.Child("child", "parent", 22).Build()
		Expect(k.Create(ctx, child, client.DryRunAll)).To(Succeed())
		Expect(child.Spec.CIDR).To(Equal("10.0.4.0/22"))
		Expect(s.HandedOut(ctx)).To(ConsistOf("10.0.0.0/24"))
		child = s.Child("child", "parent", 22).Build()
		s.Create(ctx, child)
		Expect(child.Spec.CIDR).To(Equal("10.0.4.0/22"))
	}, SpecTimeout(5*time.Minute))

	It("gets another block as soon as one is free, and not before its cooldown", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		child, parent := s.Child("first", "parent", 24).Build(), s.Root("parent", "10.0.0.0/24").WithCooldown(3600).Build()
		s.Create(ctx, parent, child)
		s.Ready(ctx, child)
		s.Refuses(ctx, s.Child("second", "parent", 24).Build(), 507, "IPPool "+s.Namespace+"/parent", "/24", "exhausted")
		s.Delete(ctx, child)
		s.Refuses(ctx, s.Child("second", "parent", 24).Build(), 507, "exhausted")
		suite.Change(ctx, k, parent, func() { parent.Spec.Allocation.CooldownSeconds = ptr.To(int32(1)) })
		Eventually(func() error { return k.Create(ctx, s.Child("second", "parent", 24).Build()) }, patience, "100ms").Should(Succeed())
	}, SpecTimeout(5*time.Minute))
})

// createEither creates a child pool or a claim, and returns what it got.
func createEither(ctx context.Context, s *suite.Spec, isPool bool, i int, bits int32) netip.Prefix {
	GinkgoHelper()
	p, c := s.Child(fmt.Sprintf("child-%d", i), "parent", bits).Build(), s.Claim(fmt.Sprintf("claim-%d", i), "parent").WithBits(bits).Build()
	if isPool {
		s.Create(ctx, p)
		return netip.MustParsePrefix(p.Spec.CIDR)
	}
	s.Create(ctx, c)
	return netip.MustParsePrefix(c.Spec.CIDR)
}

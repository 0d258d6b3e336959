// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"net/netip"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// parentField is how messages name the annotation.
const parentField = "metadata.annotations[ipam.weir.dev/parent]"

// address is the text of one.
func address(text string) *m3v1.Address { return ptr.To(m3v1.Address(text)) }

// carvedBlocks returns the blocks of a pool that are recorded in a parent, and checks whose they are.
func carvedBlocks(ctx context.Context, s *suite.Spec, p *m3v1.IPPool, parent *ipamv1.GlobalIPPool) []string {
	GinkgoHelper()
	records := s.Records(ctx, p)
	blocks := make([]string, 0, len(records))
	for _, record := range records {
		Expect(record.Namespace).To(Equal(p.Namespace))
		Expect(record.Spec.Purpose).To(Equal(ipamv1.PoolBlockPurpose))
		Expect(record.Spec.PoolRef).To(Equal(ipamv1.PoolReference{Kind: "GlobalIPPool", Name: parent.Name}))
		Expect(record.Spec.AddressSpace).To(Equal(parent.Spec.AddressSpace))
		Expect(metav1.IsControlledBy(&record, p)).To(BeTrue())
		blocks = append(blocks, record.Spec.CIDR)
	}
	slices.Sort(blocks)
	return blocks
}

var _ = Describe("An IPPool of Metal3 with a parent", func() {
	var s *suite.Spec
	var ns string

	BeforeEach(func(ctx SpecContext) {
		s = suite.New(ctx, site)
		ns = s.Another(ctx, map[string]string{ipamv1.ProjectLabel: s.Namespace})
	})

	// root begins a parent of the project of ns.
	root := func() *builder.PoolBuilder[*ipamv1.GlobalIPPool] {
		return s.GlobalRoot("root", "10.0.0.0/16").WithLabel(ipamv1.ProjectLabel, s.Namespace)
	}
	under := func(name, spec string) *m3v1.IPPool {
		p := newPool(ns, name, spec)
		p.Annotations = map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/" + s.Global("root")}
		return p
	}

	It("has each of its ranges from there before it hands out anything, and gives all back when it is deleted", func(ctx SpecContext) {
		parent := root().Build()
		s.Create(ctx, parent)
		s.Ready(ctx, parent)
		p := under("p", "{pools: [{start: 10.0.0.16, end: 10.0.0.19}, {start: 10.0.1.4, end: 10.0.1.5}, {start: 10.0.0.20, end: 10.0.0.20}]}")
		s.Create(ctx, p)
		s.Ready(ctx, p)
		Expect(carvedBlocks(ctx, s, p, parent)).To(Equal([]string{"10.0.0.16/30", "10.0.0.20/32", "10.0.1.4/31"}))
		Expect(counts(p)).To(Equal("7/7"))
		first := claimOf(ns, "first")
		Expect(string(answer(ctx, first).Spec.Address)).To(Equal("10.0.0.16"))
		for _, record := range s.Records(ctx, first) {
			Expect(record.Spec.AddressSpace).To(Equal(s.Namespace))
		}
		By("having nobody else take anything of it")
		taken := builder.IPClaim(ns, "taken").From(ipamv1.GlobalIPPoolKind, parent.Name).WithCIDR("10.0.0.18/32").Build()
		s.Create(ctx, taken)
		s.NotReady(ctx, taken, ipamv1.ClaimReadyAddressConflictReason)
		beside := builder.IPPool(ns, "beside").WithParent(ipamv1.GlobalIPPoolKind, "", parent.Name).WithBits(29).Build()
		s.Create(ctx, beside)
		s.Ready(ctx, beside)
		Expect(beside.Spec.CIDR).To(Equal("10.0.0.0/29"))
		By("being deleted")
		Expect(k.Delete(ctx, p)).To(Succeed())
		s.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, "first")
		Expect(carvedBlocks(ctx, s, p, parent)).To(HaveLen(3))
		s.Delete(ctx, first)
		s.Gone(ctx, p)
		Expect(s.Records(ctx, p)).To(BeEmpty())
		s.Ready(ctx, taken)
	})

	It("waits for a parent that is not there, and says so", func(ctx SpecContext) {
		p := under("p", "{pools: [{start: 10.0.0.16, end: 10.0.0.19}]}")
		s.Create(ctx, p)
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, "there is no GlobalIPPool", "or it is not visible")
		waiting := claimOf(ns, "waiting")
		s.Create(ctx, waiting)
		s.NotReady(ctx, waiting, ipamv1.ClaimReadyPoolNotReadyReason)
		s.Create(ctx, root().Build())
		s.Ready(ctx, p)
		Expect(string(answered(ctx, waiting).Spec.Address)).To(Equal("10.0.0.16"))
	})

	DescribeTable("says what the parent does not give it, and serves nothing", func(ctx SpecContext,
		change func(*builder.PoolBuilder[*ipamv1.GlobalIPPool]), spec, reason string, words ...any,
	) {
		b := root()
		change(b)
		parent := b.Build()
		s.Create(ctx, parent)
		p := under("p", spec)
		s.Create(ctx, p)
		texts := append(make([]string, 0, 1+len(words)), parentField)
		for _, word := range words {
			texts = append(texts, word.(string)) //nolint:forcetypeassert // all are
		}
		s.NotReady(ctx, p, reason, texts...)
		waiting := claimOf(ns, "waiting")
		s.Create(ctx, waiting)
		s.NotReady(ctx, waiting, ipamv1.ClaimReadyPoolNotReadyReason)
		s.Delete(ctx, waiting, p)
		Expect(s.Records(ctx, p)).To(BeEmpty())
	},
		Entry("not visible", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) {
			b.WithVisibility(ipamv1.PlatformVisibility)
		}, "{pools: [{subnet: 10.0.1.0/28}]}", ipamv1.PoolReadyParentNotReadyReason, "or it is not visible"),
		Entry("outside", func(*builder.PoolBuilder[*ipamv1.GlobalIPPool]) {},
			"{pools: [{subnet: 10.0.1.0/28}, {start: 10.1.0.0, end: 10.1.0.3}]}", ipamv1.PoolReadyParentNotReadyReason, "10.1.0.0/30", "not in the pool"),
		Entry("of the other family", func(*builder.PoolBuilder[*ipamv1.GlobalIPPool]) {},
			"{pools: [{subnet: '2001:db8::/120'}]}", ipamv1.PoolReadyParentNotReadyReason, "is not of the parent"),
		Entry("excluded there", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithExcluded("10.0.1.6") },
			"{pools: [{start: 10.0.1.0, end: 10.0.1.7}]}", ipamv1.PoolReadyParentNotReadyReason, "10.0.1.0/29 is excluded"),
		Entry("the gateway there", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithNetwork(16, "10.0.1.6") },
			"{pools: [{start: 10.0.1.0, end: 10.0.1.7}]}", ipamv1.PoolReadyParentNotReadyReason, "gateway"),
		Entry("longer than its bounds allow", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithLengths(20, 28, 24) },
			"{pools: [{start: 10.0.1.0, end: 10.0.1.16}]}", ipamv1.PoolReadyParentNotReadyReason, "10.0.1.16/32 is not allowed", "allows"),
		Entry("another project's without bounds", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) {
			b.WithLabel(ipamv1.ProjectLabel, "somebody")
		}, "{pools: [{start: 10.0.1.0, end: 10.0.1.7}]}", ipamv1.PoolReadyParentNotReadyReason, "belongs to another project"),
		Entry("draining", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithMode(ipamv1.DrainingMode) },
			"{pools: [{start: 10.0.1.0, end: 10.0.1.7}]}", ipamv1.PoolReadyParentNotReadyReason, "is draining"),
	)

	// spec changes what a pool says.
	change := func(ctx context.Context, p *m3v1.IPPool, pools ...m3v1.Pool) {
		GinkgoHelper()
		suite.Change(ctx, k, p, func() { p.Spec.Pools = pools })
	}
	entry := func(start, end string) m3v1.Pool { return m3v1.Pool{Start: address(start), End: address(end)} }
	has := func(ctx context.Context, p *m3v1.IPPool, parent *ipamv1.GlobalIPPool, blocks ...string) {
		GinkgoHelper()
		Eventually(func() []string { return carvedBlocks(ctx, s, p, parent) }, patience, "100ms").Should(Equal(blocks))
		s.Ready(ctx, p)
	}

	It("records what it grows by, and gives back what it shrinks by once nothing is held there", func(ctx SpecContext) {
		parent := root().WithCooldown(3600).Build()
		p := under("p", "{pools: [{start: 10.0.0.16, end: 10.0.0.18}]}")
		s.Create(ctx, parent, p)
		has(ctx, p, parent, "10.0.0.16/31", "10.0.0.18/32")
		first := claimOf(ns, "first")
		Expect(string(answer(ctx, first).Spec.Address)).To(Equal("10.0.0.16"))
		By("growing")
		change(ctx, p, entry("10.0.0.16", "10.0.0.19"), entry("10.0.2.0", "10.0.2.0"))
		has(ctx, p, parent, "10.0.0.16/30", "10.0.2.0/32")
		last := asking(claimOf(ns, "last"), "10.0.0.19")
		answer(ctx, last)
		By("shrinking where nothing is held, after the parent has excluded a part of what stays")
		suite.Change(ctx, k, parent, func() { parent.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"10.0.0.18"} })
		change(ctx, p, entry("10.0.0.16", "10.0.0.19"))
		has(ctx, p, parent, "10.0.0.16/30")
		By("shrinking where a claim is")
		change(ctx, p, entry("10.0.0.16", "10.0.0.18"))
		has(ctx, p, parent, "10.0.0.16/30", "10.0.0.16/31", "10.0.0.18/32")
		taken := builder.IPClaim(ns, "taken").From(ipamv1.GlobalIPPoolKind, parent.Name).WithCIDR("10.0.0.19/32").Build()
		s.Create(ctx, taken)
		s.NotReady(ctx, taken, ipamv1.ClaimReadyAddressConflictReason)
		s.Delete(ctx, last)
		has(ctx, p, parent, "10.0.0.16/31", "10.0.0.18/32")
		s.Ready(ctx, taken)
		By("being left with what the parent does not exclude")
		Expect(string(answer(ctx, claimOf(ns, "second")).Spec.Address)).To(Equal("10.0.0.17"))
		third := claimOf(ns, "third")
		s.Create(ctx, third)
		refused(ctx, third, m3v1.ExhaustedMessage)
		suite.Change(ctx, k, parent, func() { parent.Spec.ExcludedAddresses = nil })
		Expect(string(answered(ctx, third).Spec.Address)).To(Equal("10.0.0.18"))
	})

	It("is judged anew when it grows, by what its parent says then", func(ctx SpecContext) {
		parent := root().WithLengths(20, 28, 24).Build()
		p := under("p", "{pools: [{start: 10.0.0.0, end: 10.0.0.15}]}")
		s.Create(ctx, parent, p)
		has(ctx, p, parent, "10.0.0.0/28")
		change(ctx, p, entry("10.0.0.0", "10.0.31.255"))
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, "10.0.0.0/19 is not allowed", "allows /20 to")
		change(ctx, p, entry("10.0.0.0", "10.0.0.31"))
		has(ctx, p, parent, "10.0.0.0/27")
		By("not being visible any more")
		suite.Change(ctx, k, parent, func() { parent.Spec.Visibility = ipamv1.PlatformVisibility })
		answer(ctx, claimOf(ns, "first"))
		change(ctx, p, entry("10.0.0.0", "10.0.0.63"))
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, "or it is not visible")
		change(ctx, p, entry("10.0.0.0", "10.0.0.15"))
		has(ctx, p, parent, "10.0.0.0/28")
	})

	It("does not grow into what another one has, and serves nothing while it asks for that", func(ctx SpecContext) {
		parent := root().Build()
		p, other := under("p", "{pools: [{start: 10.0.0.0, end: 10.0.0.3}]}"), under("other", "{pools: [{start: 10.0.0.4, end: 10.0.0.7}]}")
		s.Create(ctx, parent, p, other)
		s.Ready(ctx, p, other)
		answer(ctx, claimOf(ns, "first"))
		change(ctx, p, entry("10.0.0.0", "10.0.0.7"))
		s.NotReady(ctx, p, ipamv1.PoolReadyOverlapReason, parentField, "10.0.0.0/29 is in use", "IPPool "+ns+"/other")
		Expect(carvedBlocks(ctx, s, p, parent)).To(Equal([]string{"10.0.0.0/30"}))
		s.Ready(ctx, other)
		change(ctx, p, entry("10.0.0.0", "10.0.0.3"))
		has(ctx, p, parent, "10.0.0.0/30")
		answer(ctx, claimOf(ns, "second"))
	})

	It("waits for what another one has, which it names to whom it may", func(ctx SpecContext) {
		parent := root().WithLengths(16, 32, 24).Build()
		s.Create(ctx, parent)
		stranger := s.Another(ctx, map[string]string{ipamv1.ProjectLabel: s.Namespace + "-other"})
		p := under("p", "{pools: [{start: 10.0.0.4, end: 10.0.0.7}]}")
		s.Create(ctx, p)
		s.Ready(ctx, p)
		second, foreign := under("second", "{pools: [{start: 10.0.0.0, end: 10.0.0.6}]}"), under("foreign", "{pools: [{start: 10.0.0.7, end: 10.0.0.8}]}")
		foreign.Namespace = stranger
		s.Create(ctx, second, foreign)
		s.NotReady(ctx, second, ipamv1.PoolReadyOverlapReason, parentField, "10.0.0.4/31 is in use", "IPPool "+ns+"/p")
		s.NotReady(ctx, foreign, ipamv1.PoolReadyOverlapReason, parentField, "10.0.0.7 is in use")
		Expect(conditions.GetMessage(foreign, ipamv1.ReadyCondition)).NotTo(ContainSubstring(ns))
		s.Delete(ctx, p)
		s.Ready(ctx, second, foreign)
	})

	It("is one of many that overlap and are made at once, of which each that can be served is", func(ctx SpecContext) {
		parent := root().Build()
		s.Create(ctx, parent)
		var pools []*m3v1.IPPool
		for _, name := range []string{"a", "b", "c", "d"} {
			p := under(name, "{pools: [{start: 10.0.0.1, end: 10.0.0.2}, {start: 10.0.0.9, end: 10.0.0.10}, {start: 10.0.0.5, end: 10.0.0.6}]}")
			slices.Reverse(p.Spec.Pools[len(pools)%3:])
			pools = append(pools, p)
			s.Create(ctx, p)
		}
		for len(pools) > 0 {
			serving := -1
			Eventually(func() int {
				serving = slices.IndexFunc(pools, func(p *m3v1.IPPool) bool {
					get(ctx, p)
					return conditions.IsTrue(p, ipamv1.ReadyCondition)
				})
				return serving
			}, patience, "100ms").Should(BeNumerically(">=", 0))
			s.Delete(ctx, pools[serving])
			pools = slices.Delete(pools, serving, serving+1)
		}
	})

	It("that was moved here has what it was granted, and of what it only asked for nothing", func(ctx SpecContext) {
		parent := root().WithMode(ipamv1.DrainingMode).Build() // it gives nothing to new ones
		s.Create(ctx, parent)
		s.NotReady(ctx, parent, ipamv1.PoolReadyDrainingReason)
		granted := pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.16/30")})
		came := under("p", "{pools: [{start: 10.0.0.16, end: 10.0.0.19}]}")
		asked := under("asked", "{pools: [{start: 10.0.0.16, end: 10.0.0.19}, {start: 10.0.0.40, end: 10.0.0.40}]}")
		for _, p := range []*m3v1.IPPool{asked, came} {
			p.Finalizers = []string{m3v1.IPPoolFinalizer}
			p.Annotations[ipamv1.ArrivedAnnotation], p.Annotations[ipamv1.GrantedAnnotation] = "true", granted
			s.Create(ctx, p)
		}
		s.NotReady(ctx, asked, ipamv1.PoolReadyParentNotReadyReason, parentField, "is draining")
		Expect(s.Records(ctx, asked)).To(BeEmpty())
		s.Ready(ctx, came)
		Expect(string(answer(ctx, claimOf(ns, "first")).Spec.Address)).To(Equal("10.0.0.16"))
		By("saying itself what it has, once it has that")
		suite.Change(ctx, k, parent, func() { parent.Spec.Mode = ipamv1.ServingMode })
		s.Delete(ctx, asked)
		later := under("later", "{pools: [{start: 10.0.0.32, end: 10.0.0.35}]}")
		s.Create(ctx, later)
		s.Ready(ctx, later)
		Eventually(func() string { get(ctx, later); return later.Annotations[ipamv1.GrantedAnnotation] }, patience).Should(
			Equal(pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.32/30")})))
		change(ctx, later, entry("10.0.0.16", "10.0.0.16"), entry("10.0.0.32", "10.0.0.35"))
		s.NotReady(ctx, later, ipamv1.PoolReadyOverlapReason)
		Expect(later.Annotations[ipamv1.GrantedAnnotation]).To(Equal(pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.32/30")})))
	})

	It("has what its parent keeps for nobody else", func(ctx SpecContext) {
		parent := root().Build()
		parent.Spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "vip", Namespace: ns, Kind: ipamv1.IPClaimKind, Address: "10.0.0.5"}}
		p := under("p", "{pools: [{start: 10.0.0.4, end: 10.0.0.7}]}")
		s.Create(ctx, parent, p)
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, "10.0.0.4/30 is kept for another claim")
		suite.Change(ctx, k, parent, func() { parent.Spec.PreAllocations = nil })
		s.Ready(ctx, p)
	})
})

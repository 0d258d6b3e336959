// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("Without webhooks", Ordered, func() {
	var s *suite.Spec

	BeforeAll(func(ctx SpecContext) {
		s = suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/28").WithExcluded("10.0.0.8/30").WithLabel("tier", "gold").Build())
		Expect(site.RemoveWebhooks(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed()) })
		Expect(k.Create(ctx, s.Claim("unanswered", "missing").Build())).To(Succeed())
	})

	It("claims are answered by the controller", func(ctx SpecContext) {
		for _, claim := range []*builder.IPClaimBuilder{
			s.Claim("plain", "pool"), s.Claim("asks", "pool").WithCIDR("10.0.0.4/30"), s.Claim("selects", "").FromAny(ipamv1.IPPoolKind, "tier", "gold"),
		} {
			c := claim.Build()
			s.Create(ctx, c)
			asked := c.Spec.CIDR
			s.Ready(ctx, c)
			Expect(c.Spec.CIDR).NotTo(BeEmpty())
			Expect(c.Spec.CIDR).To(HavePrefix(asked))
			Expect(c.Spec.PoolRef.Name).To(Equal("pool"))
			Expect(c.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))
			Expect(c.Status.AllocatedCIDR).To(Equal(c.Spec.CIDR))
			Expect(s.Record(ctx, c).Spec.CIDR).To(Equal(c.Spec.CIDR))
			s.Delete(ctx, c)
			Expect(s.Records(ctx, c)).To(BeEmpty())
		}
	}, SpecTimeout(5*time.Minute))

	It("what is wrong with a claim is said in its condition and an event, and nothing is recorded", func(ctx SpecContext) {
		other := s.Claim("other", "pool").WithCIDR("10.0.0.1/32").Build()
		s.Create(ctx, other)
		s.Ready(ctx, other)
		for name, wrong := range map[string]struct {
			claim  *builder.IPClaimBuilder
			reason string
			words  []string
		}{
			"outside":  {s.Claim("outside", "pool").WithCIDR("10.0.1.0/28"), ipamv1.ClaimReadyAllocationFailedReason, []string{"spec.cidr", "not in the pool"}},
			"excluded": {s.Claim("excluded", "pool").WithCIDR("10.0.0.9/32"), ipamv1.ClaimReadyAllocationFailedReason, []string{"spec.cidr", "excluded"}},
			"length":   {s.Claim("length", "pool").WithBits(24), ipamv1.ClaimReadyAllocationFailedReason, []string{"spec.prefixLength", "/24"}},
			"pool":     {s.Claim("pool", "missing"), ipamv1.ClaimReadyPoolNotReadyReason, []string{"spec.poolRef.name", "missing"}},
			"hidden":   {s.Claim("hidden", "").From(ipamv1.GlobalIPPoolKind, "missing"), ipamv1.ClaimReadyPoolNotReadyReason, []string{"spec.poolRef.name", "missing"}},
			"family":   {s.Claim("family", "pool").WithFamily(ipamv1.IPv6Family), ipamv1.ClaimReadyAllocationFailedReason, []string{"spec.ipFamily"}},
			"full":     {s.Claim("full", "pool").WithBits(28), ipamv1.ClaimReadyPoolExhaustedReason, nil},
			"taken":    {s.Claim("taken", "pool").WithCIDR("10.0.0.1/32"), ipamv1.ClaimReadyAddressConflictReason, []string{"spec.cidr"}},
		} {
			c := wrong.claim.Build()
			s.Create(ctx, c)
			s.NotReady(ctx, c, wrong.reason, wrong.words...)
			Expect(c.Status.AllocatedCIDR).To(BeEmpty(), name)
			Expect(s.Records(ctx, c)).To(BeEmpty(), name)
			Eventually(func() []string { return events(ctx, c) }, patience, "100ms").Should(ConsistOf(wrong.reason), name)
			s.Delete(ctx, c)
		}
	}, SpecTimeout(5*time.Minute))

	It("a claim whose pool appears, or has room again, is answered then", func(ctx SpecContext) {
		waits := s.Claim("waits", "late").Build()
		s.Create(ctx, waits)
		s.NotReady(ctx, waits, ipamv1.ClaimReadyPoolNotReadyReason, "late")
		s.Create(ctx, s.Root("late", "10.0.9.0/32").Build())
		s.Ready(ctx, waits)
		Eventually(func() []string { return events(ctx, waits) }, patience, "100ms").Should(ContainElements(ipamv1.ClaimReadyPoolNotReadyReason, "PrefixAllocated"))

		next := s.Claim("next", "late").Build()
		s.Create(ctx, next)
		s.NotReady(ctx, next, ipamv1.ClaimReadyPoolExhaustedReason)
		s.Delete(ctx, waits)
		s.Ready(ctx, next)
		Expect(next.Spec.CIDR).To(Equal("10.0.9.0/32"))
	}, SpecTimeout(5*time.Minute))

	It("a claim whose pool drains or is paused is answered when that is over", func(ctx SpecContext) {
		pool := s.Root("held", "10.0.11.0/24").Build()
		s.Create(ctx, pool)
		s.Ready(ctx, pool)
		for why, held := range map[string]struct {
			begin, end func()
			condition  string
			status     metav1.ConditionStatus
		}{
			"draining": {
				func() { pool.Spec.Mode = ipamv1.DrainingMode }, func() { pool.Spec.Mode = ipamv1.ServingMode },
				ipamv1.ReadyCondition, metav1.ConditionFalse,
			},
			"paused": {
				func() { metav1.SetMetaDataAnnotation(&pool.ObjectMeta, clusterv1.PausedAnnotation, "") },
				func() { delete(pool.Annotations, clusterv1.PausedAnnotation) },
				clusterv1.PausedCondition, metav1.ConditionTrue,
			},
		} {
			change := func(do func()) {
				GinkgoHelper()
				before := pool.DeepCopy()
				do()
				Expect(k.Patch(ctx, pool, client.MergeFrom(before))).To(Succeed())
			}
			change(held.begin)
			Eventually(func(g Gomega) { // the manager knows it, too
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
				g.Expect(conditions.Get(pool, held.condition)).To(HaveField("Status", held.status))
			}, patience, "100ms").Should(Succeed(), why)
			c := s.Claim("waits-"+why, "held").Build()
			s.Create(ctx, c)
			s.NotReady(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason, "spec.poolRef.name", why)
			Expect(s.Records(ctx, c)).To(BeEmpty(), why)
			change(held.end)
			s.Ready(ctx, c)
			s.Delete(ctx, c)
		}
	}, SpecTimeout(5*time.Minute))

	It("a claim for a pool that is not visible, or of a length that only its project gets, is answered when that changes", func(ctx SpecContext) {
		tenants := s.Tenants(ctx)
		pool := s.GlobalRoot("global", "10.0.10.0/24").WithLabel(ipamv1.ProjectLabel, s.Namespace).WithVisibility(ipamv1.ConsumerVisibility).Build()
		s.Create(ctx, pool)
		claim := func(who string) *builder.IPClaimBuilder {
			return builder.IPClaim(tenants[who], "claim").From(ipamv1.GlobalIPPoolKind, pool.Name)
		}
		own, other, longer := claim("own").WithBits(28).Build(), claim("other").Build(), claim("other, gold").WithBits(28).Build()
		s.Create(ctx, own, other, longer)
		s.Ready(ctx, own)
		for _, c := range []*ipamv1.IPClaim{other, longer} {
			s.NotReady(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason, absent(pool.Name, c.Namespace))
			Expect(s.Records(ctx, c)).To(BeEmpty())
		}
		change := func(spec func(*ipamv1.IPPoolSpec)) {
			GinkgoHelper()
			Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
				Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
				spec(&pool.Spec)
				return k.Update(ctx, pool)
			})).To(Succeed())
		}
		change(func(spec *ipamv1.IPPoolSpec) { spec.Visibility = ipamv1.SharedVisibility })
		s.Ready(ctx, other)
		s.NotReady(ctx, longer, ipamv1.ClaimReadyAllocationFailedReason, "another project", "gives a /32 only")
		Expect(s.Records(ctx, longer)).To(BeEmpty())
		change(func(spec *ipamv1.IPPoolSpec) {
			spec.Allocation = &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](28)}
		})
		s.Ready(ctx, longer)
	}, SpecTimeout(5*time.Minute))
})

var _ = It("Without Weir its own kinds are refused, and claims of Cluster API wait for it", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	pool := s.Root("pool", "10.0.0.0/24").Build()
	s.Create(ctx, pool)
	c := s.Claim("before", "pool").Build()
	s.Create(ctx, c)
	s.Ready(ctx, c)
	Expect(manager.Kill()).To(Succeed())

	for _, obj := range []client.Object{s.Claim("web", "pool").Build(), s.Root("other", "10.0.1.0/24").Build(), s.Child("child", "pool", 28).Build(),
		s.GlobalRoot("other", "10.0.2.0/24").Build()} {
		Expect(k.Create(ctx, obj)).To(MatchError(And(ContainSubstring("failed calling webhook"), ContainSubstring("ipam.weir.dev"))))
	}
	Expect(k.Delete(ctx, c.DeepCopy())).To(Succeed(), "its finalizer waits for Weir")
	capi := builder.IPAddressClaim(s.Namespace, "capi", ipamv1.IPPoolKind, "pool").Build()
	s.Create(ctx, capi)

	Expect(manager.Restart(ctx)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(capi), capi)).To(Succeed())
		g.Expect(capi.Status.AddressRef.Name).To(Equal("capi"))
	}, patience, "100ms").Should(Succeed())
	s.Gone(ctx, c)
	s.Create(ctx, s.Claim("after", "pool").Build())
}, SpecTimeout(5*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("Without webhooks", Ordered, func() {
	var s *suite.Spec

	BeforeAll(func(ctx SpecContext) {
		s = suite.New(ctx, site)
		s.Create(ctx, s.Root("parent", "10.0.0.0/20").WithExcluded("10.0.8.0/24").Build())
		Expect(site.RemoveWebhooks(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed()) })
		Expect(k.Create(ctx, s.Child("orphan", "missing", 24).Build())).To(Succeed())
	})

	It("the controller carves the blocks of children, and of their children", func(ctx SpecContext) {
		child, leaf, asks := s.Child("child", "parent", 22).Build(), s.Child("leaf", "child", 24).Build(), s.Child("asks", "parent", 24).WithCIDR("10.0.9.0/24").WithSpace(s.Namespace).Build()
		s.Create(ctx, leaf, asks, child) // the leaf before its parent
		s.Ready(ctx, child, leaf, asks)
		Expect([]string{child.Spec.CIDR, leaf.Spec.CIDR, asks.Spec.CIDR}).To(Equal([]string{"10.0.0.0/22", "10.0.0.0/24", "10.0.9.0/24"}))
		for _, p := range []*ipamv1.IPPool{child, leaf, asks} {
			Expect(p.Finalizers).To(ContainElement(ipamv1.PoolFinalizer))
			Expect(s.Record(ctx, p).Spec.CIDR).To(Equal(p.Spec.CIDR))
		}
		Expect(child.Spec.IPFamily).To(Equal(ipamv1.IPv4Family))
		Expect(child.Spec.AddressSpace).To(Equal(s.Namespace))
		Expect(child.Labels).To(HaveKeyWithValue(ipamv1.AllocatedLabel, "true"))
	}, SpecTimeout(5*time.Minute))

	It("what is wrong with a child is said in its condition, and nothing is recorded", func(ctx SpecContext) {
		for name, wrong := range map[string]struct {
			change func(*poolBuilder)
			reason string
			words  []string
		}{
			"outside":  {func(p *poolBuilder) { p.WithCIDR("10.9.0.0/24").WithSpace(s.Namespace) }, ipamv1.PoolReadyParentNotReadyReason, []string{"spec.cidr"}},
			"excluded": {func(p *poolBuilder) { p.WithCIDR("10.0.8.0/24").WithSpace(s.Namespace) }, ipamv1.PoolReadyParentNotReadyReason, []string{"spec.cidr"}},
			"space":    {func(p *poolBuilder) { p.WithCIDR("10.0.10.0/24") }, ipamv1.PoolReadyParentNotReadyReason, []string{"spec.addressSpace", s.Namespace}},
			"length":   {func(p *poolBuilder) { p.WithBits(19) }, ipamv1.PoolReadyParentNotReadyReason, []string{"spec.prefixLength", "/19"}},
			"full":     {func(p *poolBuilder) { p.WithBits(20) }, ipamv1.PoolReadyParentNotReadyReason, []string{"spec.parentRef"}},
			"taken":    {func(p *poolBuilder) { p.WithCIDR("10.0.9.0/24").WithSpace(s.Namespace) }, ipamv1.PoolReadyOverlapReason, []string{"10.0.9.0/24"}},
			"missing":  {func(p *poolBuilder) { p.WithParent(ipamv1.IPPoolKind, "", "missing") }, ipamv1.PoolReadyParentNotReadyReason, []string{"spec.parentRef.name"}},
		} {
			p := s.Child(name, "parent", 24)
			wrong.change(p)
			child := p.Build()
			s.Create(ctx, child)
			s.NotReady(ctx, child, wrong.reason, wrong.words...)
			Expect(child.Status.AllocatedCIDR).To(BeEmpty(), name)
			Expect(s.Records(ctx, child)).To(BeEmpty(), name)
			s.Delete(ctx, child)
		}
	}, SpecTimeout(5*time.Minute))
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// poolBuilder is what the specs change about a child.
type poolBuilder = builder.PoolBuilder[*ipamv1.IPPool]

// The parent of these specs gives /18 to /32, keeps 10.0.128.0/18 back and has given 10.0.64.0/20 to another child.
var _ = DescribeTable("A child that cannot have its block is refused, and nothing is stored or recorded:",
	func(ctx SpecContext, change func(*poolBuilder), code int, words ...string) {
		s := suite.New(ctx, site)
		s.Create(ctx,
			s.Root("parent", "10.0.0.0/16").WithLengths(18, 0, 0).WithExcluded("10.0.128.0/18").Build(),
			s.Root("draining", "10.1.0.0/16").WithMode(ipamv1.DrainingMode).Build(),
			s.Child("other", "parent", 20).WithCIDR("10.0.64.0/20").Build())
		child := s.Child("child", "parent", 24)
		change(child)
		s.Refuses(ctx, child.Build(), int32(code), words...)
		Expect(s.HandedOut(ctx)).To(ConsistOf("10.0.64.0/20"))
	},
	Entry("a parent that does not exist", func(p *poolBuilder) { p.WithParent(ipamv1.IPPoolKind, "", "missing") },
		http.StatusNotFound, "spec.parentRef.name", `there is no IPPool "missing"`),
	Entry("a GlobalIPPool that does not exist", func(p *poolBuilder) { p.WithParent(ipamv1.GlobalIPPoolKind, "", "missing") },
		http.StatusNotFound, "spec.parentRef.name", `there is no GlobalIPPool "missing"`),
	Entry("a parent of an unknown kind", func(p *poolBuilder) { p.WithParent("Subnet", "", "parent") }, http.StatusUnprocessableEntity, "spec.parentRef.kind"),
	Entry("itself as its parent", func(p *poolBuilder) { p.WithParent(ipamv1.IPPoolKind, "", "child") }, http.StatusUnprocessableEntity, "spec.parentRef.name", "itself"),
	Entry("a GlobalIPPool with a namespace", func(p *poolBuilder) { p.WithParent(ipamv1.GlobalIPPoolKind, "team", "parent") },
		http.StatusUnprocessableEntity, "spec.parentRef.namespace"),
	Entry("a parent that drains", func(p *poolBuilder) { p.WithParent(ipamv1.IPPoolKind, "", "draining") },
		http.StatusUnprocessableEntity, "spec.parentRef.name", "draining"),
	Entry("a length that the parent does not give", func(p *poolBuilder) { p.WithBits(17) }, http.StatusUnprocessableEntity, "spec.prefixLength", "/17", "/18"),
	Entry("a length that IPv4 has not", func(p *poolBuilder) { p.WithBits(33) }, http.StatusUnprocessableEntity, "spec.prefixLength"),
	Entry("another address space", func(p *poolBuilder) { p.WithSpace("elsewhere") }, http.StatusUnprocessableEntity, "spec.addressSpace"),
	Entry("a block outside the parent", func(p *poolBuilder) { p.WithCIDR("10.9.0.0/24") }, http.StatusUnprocessableEntity, "spec.cidr", "not in the pool"),
	Entry("a block of the other family", func(p *poolBuilder) { p.WithCIDR("2001:db8::/32").WithBits(32) }, http.StatusUnprocessableEntity, "spec.cidr", "IPv4"),
	Entry("a block that is excluded", func(p *poolBuilder) { p.WithCIDR("10.0.129.0/24") }, http.StatusUnprocessableEntity, "spec.cidr", "excluded"),
	Entry("a block that is not canonical", func(p *poolBuilder) { p.WithCIDR("10.0.1.1/24") }, http.StatusUnprocessableEntity, "spec.cidr", "10.0.1.0/24"),
	Entry("block and length that disagree", func(p *poolBuilder) { p.WithCIDR("10.0.0.0/24").WithBits(25) },
		http.StatusUnprocessableEntity, "spec.prefixLength", "/24"),
	Entry("a block that is taken", func(p *poolBuilder) { p.WithCIDR("10.0.64.0/24") }, http.StatusConflict, "spec.cidr", "10.0.64.0/24", "in use"),
)

var _ = It("A GlobalIPPool is not carved from an IPPool", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	s.Create(ctx, s.Root("parent", "10.0.0.0/16").Build())
	child := builder.GlobalIPPool(s.Global("child")).WithParent(ipamv1.IPPoolKind, s.Namespace, "parent").WithBits(24).Build()
	s.Refuses(ctx, child, http.StatusUnprocessableEntity, "spec.parentRef.kind")
}, SpecTimeout(5*time.Minute))

var _ = It("A child pool may ask for its block; block, parent, length and address space do not change later", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	child := s.Child("child", "parent", 24).WithCIDR("10.0.7.0/24").Build()
	s.Create(ctx, s.Root("parent", "10.0.0.0/16").Build(), child)
	Expect(child.Spec.CIDR).To(Equal("10.0.7.0/24"))
	s.Ready(ctx, child)
	for field, change := range map[string]func(*ipamv1.IPPoolSpec){
		"spec.cidr":         func(spec *ipamv1.IPPoolSpec) { spec.CIDR = "10.0.8.0/24" },
		"spec.parentRef":    func(spec *ipamv1.IPPoolSpec) { spec.ParentRef.Name = "other" },
		"spec.prefixLength": func(spec *ipamv1.IPPoolSpec) { spec.CIDR, *spec.PrefixLength = "", 25 },
		"spec.addressSpace": func(spec *ipamv1.IPPoolSpec) { spec.AddressSpace = "other" },
	} {
		changed := child.DeepCopy()
		change(&changed.Spec)
		Expect(k.Update(ctx, changed)).To(suite.Refused(http.StatusUnprocessableEntity, field), field)
	}
}, SpecTimeout(5*time.Minute))

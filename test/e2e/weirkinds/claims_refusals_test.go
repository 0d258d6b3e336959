// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// The pool of these specs gives /26 to /32, keeps 10.0.0.128/26 back and has given 10.0.0.64/28 away.
var _ = DescribeTable("A claim that cannot be answered is refused, and nothing is stored or recorded:",
	func(ctx SpecContext, claim func(*builder.IPClaimBuilder), code int, words ...string) {
		s := suite.New(ctx, site)
		s.Create(ctx,
			s.Root("pool", "10.0.0.0/24").WithLengths(26, 0, 0).WithExcluded("10.0.0.128/26").Build(),
			s.Root("draining", "10.0.1.0/24").WithMode(ipamv1.DrainingMode).Build(),
			s.Claim("other", "pool").WithCIDR("10.0.0.64/28").Build())
		c := s.Claim("refused", "pool")
		claim(c)
		s.Refuses(ctx, c.Build(), int32(code), words...)
		Expect(s.HandedOut(ctx)).To(ConsistOf("10.0.0.64/28"))
	},
	Entry("no pool named", func(c *builder.IPClaimBuilder) { c.From("", "") }, http.StatusUnprocessableEntity, "spec.poolRef"),
	Entry("a pool of an unknown kind", func(c *builder.IPClaimBuilder) { c.From("Subnet", "pool") }, http.StatusUnprocessableEntity, "spec.poolRef.kind"),
	Entry("a pool that does not exist", func(c *builder.IPClaimBuilder) { c.From(ipamv1.IPPoolKind, "missing") },
		http.StatusNotFound, "spec.poolRef.name", `there is no IPPool "missing"`),
	Entry("a GlobalIPPool that does not exist", func(c *builder.IPClaimBuilder) { c.From(ipamv1.GlobalIPPoolKind, "missing") },
		http.StatusNotFound, "spec.poolRef.name", `there is no GlobalIPPool "missing"`),
	Entry("a pool that drains", func(c *builder.IPClaimBuilder) { c.From(ipamv1.IPPoolKind, "draining") },
		http.StatusUnprocessableEntity, "spec.poolRef.name", "draining"),
	Entry("a selector without match", func(c *builder.IPClaimBuilder) { c.From("", "").FromAny(ipamv1.IPPoolKind, "tier", "none") },
		http.StatusUnprocessableEntity, "spec.poolSelector"),
	Entry("a pool that its selector does not match", func(c *builder.IPClaimBuilder) { c.FromAny(ipamv1.IPPoolKind, "tier", "none") },
		http.StatusUnprocessableEntity, "spec.poolRef", `poolSelector does not match IPPool "pool"`),
	Entry("a pool of another kind than its selector's", func(c *builder.IPClaimBuilder) { c.FromAny(ipamv1.GlobalIPPoolKind, "tier", "none") },
		http.StatusUnprocessableEntity, "spec.poolRef", `poolSelector does not match IPPool "pool"`),
	Entry("a length below 1", func(c *builder.IPClaimBuilder) { c.WithBits(0) }, http.StatusUnprocessableEntity, "spec.prefixLength"),
	Entry("a length above 128", func(c *builder.IPClaimBuilder) { c.WithBits(129) }, http.StatusUnprocessableEntity, "spec.prefixLength"),
	Entry("a length that IPv4 has not", func(c *builder.IPClaimBuilder) { c.WithBits(33) }, http.StatusUnprocessableEntity, "spec.prefixLength", "/33"),
	Entry("a length that the pool does not give", func(c *builder.IPClaimBuilder) { c.WithBits(25) },
		http.StatusUnprocessableEntity, "spec.prefixLength", "/25", "/26"),
	Entry("a prefix of a length that the pool does not give", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.0/25") },
		http.StatusUnprocessableEntity, "spec.cidr", "/25", "/26"),
	Entry("the other family", func(c *builder.IPClaimBuilder) { c.WithFamily(ipamv1.IPv6Family) }, http.StatusUnprocessableEntity, "spec.ipFamily", "IPv4"),
	Entry("a prefix outside the pool", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.9.0/28") },
		http.StatusUnprocessableEntity, "spec.cidr", "10.0.9.0/28", "not in the pool"),
	Entry("a prefix of the other family", func(c *builder.IPClaimBuilder) { c.WithCIDR("2001:db8::/32") },
		http.StatusUnprocessableEntity, "spec.cidr", "IPv4"),
	Entry("an excluded prefix", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.128/28") },
		http.StatusUnprocessableEntity, "spec.cidr", "10.0.0.128/28", "excluded"),
	Entry("a prefix around what is excluded", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.128/26") },
		http.StatusUnprocessableEntity, "spec.cidr", "excluded"),
	Entry("a reserved address", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.255/32") },
		http.StatusUnprocessableEntity, "spec.cidr", "10.0.0.255/32", "reserved"),
	Entry("bits beyond the length", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.1/28") },
		http.StatusUnprocessableEntity, "spec.cidr", "10.0.0.0/28"),
	Entry("text that is not canonical", func(c *builder.IPClaimBuilder) { c.WithCIDR("2001:DB8::/64") },
		http.StatusUnprocessableEntity, "spec.cidr", "2001:db8::/64"),
	Entry("text that is no prefix", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.1") }, http.StatusUnprocessableEntity, "spec.cidr"),
	Entry("prefix and length that disagree", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.0/28").WithBits(29) },
		http.StatusUnprocessableEntity, "spec.prefixLength", "cidr is a /28"),
	Entry("a taken prefix", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.64/28") }, http.StatusConflict, "spec.cidr", "10.0.0.64/28", "in use"),
	Entry("a part of a taken prefix", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.65/32") }, http.StatusConflict, "spec.cidr", "in use"),
	Entry("a prefix around a taken one", func(c *builder.IPClaimBuilder) { c.WithCIDR("10.0.0.64/26") }, http.StatusConflict, "spec.cidr", "in use"),
)

var _ = It("A pool that is paused refuses claims and children, and serves them afterwards", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	pool := s.Root("pool", "10.0.0.0/24").Build()
	s.Create(ctx, pool)
	pause := func(value string) {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, clusterv1.PausedAnnotation, value)
		Expect(s.Client.Patch(ctx, pool, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	asking := map[string]func() client.Object{
		"spec.poolRef.name":   func() client.Object { return s.Claim("claim", "pool").Build() },
		"spec.parentRef.name": func() client.Object { return s.Child("child", "pool", 28).Build() },
	}
	pause(`""`)
	for field, object := range asking {
		Eventually(func() error { return s.Client.Create(ctx, object(), client.DryRunAll) }, "1m", "100ms").
			Should(suite.Refused(http.StatusUnprocessableEntity, field, "paused"))
	}
	pause("null")
	for _, object := range asking {
		Eventually(func() error { return s.Client.Create(ctx, object()) }, "1m", "100ms").Should(Succeed())
	}
}, SpecTimeout(5*time.Minute))

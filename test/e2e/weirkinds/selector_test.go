// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("A claim that chooses its pool by labels", func() {
	It("goes through the pools in name order, past what is full, drains, or is of the other family", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		createPools(ctx, s,
			s.Root("e", "10.0.5.0/24").WithLabel("tier", "gold").Build(),
			s.Root("a-drains", "10.0.1.0/24").WithLabel("tier", "gold").WithMode(ipamv1.DrainingMode).Build(),
			s.Root("b-small", "10.0.2.0/32").WithLabel("tier", "gold").Build(),
			s.Root("c-six", "2001:db8::/64").WithLabel("tier", "gold").Build(),
			s.Root("d-other", "10.0.4.0/24").WithLabel("tier", "silver").Build())
		for _, expected := range []struct {
			name   string
			family ipamv1.IPFamily
			cidr   string
			pool   string
		}{
			{"first", "", "10.0.2.0/32", "b-small"},
			{"second", "", "2001:db8::1/128", "c-six"},
			{"third", ipamv1.IPv4Family, "10.0.5.1/32", "e"},
			{"fourth", ipamv1.IPv6Family, "2001:db8::2/128", "c-six"},
		} {
			c := s.Claim(expected.name, "").FromAny(ipamv1.IPPoolKind, "tier", "gold").WithFamily(expected.family).Build()
			s.Create(ctx, c)
			Expect(c.Spec.CIDR).To(Equal(expected.cidr))
			Expect(c.Spec.PoolRef).To(HaveValue(Equal(ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: expected.pool})))
			s.Ready(ctx, c)
			Expect(s.Record(ctx, c).Spec.PoolRef.Name).To(Equal(expected.pool))
		}
	}, SpecTimeout(5*time.Minute))

	It("gets the prefix that it asks for from the pool that has it", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		createPools(ctx, s,
			s.Root("a", "10.0.1.0/24").WithLabel("tier", "gold").Build(),
			s.Root("b", "10.0.2.0/24").WithLabel("tier", "gold").Build())
		c := s.Claim("asks", "").FromAny(ipamv1.IPPoolKind, "tier", "gold").WithCIDR("10.0.2.7/32").Build()
		s.Create(ctx, c)
		Expect(c.Spec.PoolRef.Name).To(Equal("b"))
		s.Refuses(ctx, s.Claim("asks-too", "").FromAny(ipamv1.IPPoolKind, "tier", "gold").WithCIDR("10.0.2.7/32").Build(),
			http.StatusConflict, "10.0.2.7/32", "in use")
		s.Refuses(ctx, s.Claim("asks-elsewhere", "").FromAny(ipamv1.IPPoolKind, "tier", "gold").WithCIDR("10.0.3.7/32").Build(),
			http.StatusUnprocessableEntity, "spec.cidr", "10.0.3.7/32")
	}, SpecTimeout(5*time.Minute))

	It("is refused where all are full, and takes the first that has room again", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		createPools(ctx, s,
			s.Root("a", "10.0.1.0/32").WithLabel("tier", "gold").Build(),
			s.Root("b", "10.0.2.0/32").WithLabel("tier", "gold").Build())
		first := s.Claim("first", "").FromAny(ipamv1.IPPoolKind, "tier", "gold").Build()
		second := s.Claim("second", "").FromAny(ipamv1.IPPoolKind, "tier", "gold").Build()
		s.Create(ctx, first, second)
		s.Refuses(ctx, s.Claim("third", "").FromAny(ipamv1.IPPoolKind, "tier", "gold").Build(), http.StatusInsufficientStorage, "exhausted")
		s.Delete(ctx, first)
		third := s.Claim("third", "").FromAny(ipamv1.IPPoolKind, "tier", "gold").Build()
		s.Create(ctx, third)
		Expect(third.Spec.PoolRef.Name).To(Equal("a"))
	}, SpecTimeout(5*time.Minute))

	It("does not see GlobalIPPools that are not for its namespace, nor IPPools of another", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		elsewhere := s.Another(ctx, nil)
		hidden := s.GlobalRoot("a-hidden", "10.0.1.0/24").WithLabel("of", s.Namespace).WithVisibility(ipamv1.PlatformVisibility).Build()
		seen := s.GlobalRoot("b-seen", "10.0.2.0/24").WithLabel("of", s.Namespace).Build()
		foreign := s.Root("foreign", "10.0.3.0/24").WithLabel("of", s.Namespace).Build()
		foreign.Namespace = elsewhere
		s.Create(ctx, hidden, foreign)
		s.Refuses(ctx, s.Claim("early", "").FromAny(ipamv1.GlobalIPPoolKind, "of", s.Namespace).Build(), http.StatusUnprocessableEntity, "spec.poolSelector")
		s.Refuses(ctx, s.Claim("early", "").FromAny(ipamv1.IPPoolKind, "of", s.Namespace).Build(), http.StatusUnprocessableEntity, "spec.poolSelector")
		s.Refuses(ctx, s.Claim("direct", "").From(ipamv1.GlobalIPPoolKind, hidden.Name).Build(), http.StatusForbidden, "spec.poolRef.name", "not visible")
		s.Create(ctx, seen)
		c := s.Claim("late", "").FromAny(ipamv1.GlobalIPPoolKind, "of", s.Namespace).Build()
		Eventually(func() error { return k.Create(ctx, c) }, patience, "100ms").Should(Succeed(), "once the manager's cache has the pool")
		Expect(c.Spec.PoolRef.Name).To(Equal(seen.Name))
	}, SpecTimeout(5*time.Minute))
})

// createPools creates pools and waits until the manager knows them: a selector finds what is in its cache.
func createPools(ctx context.Context, s *suite.Spec, pools ...*ipamv1.IPPool) {
	GinkgoHelper()
	for _, p := range pools {
		s.Create(ctx, p)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
		}, patience, "100ms").Should(Succeed())
	}
}

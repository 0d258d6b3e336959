// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = DescribeTable("A claim gets the lowest free prefix of its length",
	func(ctx SpecContext, pool string, bits int, expected ...string) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", pool).Build())
		for i, cidr := range expected {
			c := s.Claim(string(rune('a'+i)), "pool").WithBits(int32(bits)).Build()
			s.Create(ctx, c)
			Expect(c.Spec.CIDR).To(Equal(cidr))
			s.Ready(ctx, c)
			Expect(s.Record(ctx, c).Spec.CIDR).To(Equal(cidr))
			Expect(c.Status.Network != nil).To(Equal(bits == 32 || bits == 128), "a network comes with an address only")
		}
	},
	Entry("/32", "10.0.0.0/24", 32, "10.0.0.1/32", "10.0.0.2/32"),
	Entry("/32 of a /31, which is used whole", "10.0.0.0/31", 32, "10.0.0.0/32", "10.0.0.1/32"),
	Entry("/31", "10.0.0.0/24", 31, "10.0.0.0/31", "10.0.0.2/31"),
	Entry("/28", "10.0.0.0/24", 28, "10.0.0.0/28", "10.0.0.16/28"),
	Entry("/24 of a /8", "10.0.0.0/8", 24, "10.0.0.0/24", "10.0.1.0/24"),
	Entry("/128", "2001:db8::/64", 128, "2001:db8::1/128", "2001:db8::2/128"),
	Entry("/127", "2001:db8::/64", 127, "2001:db8::/127", "2001:db8::2/127"),
	Entry("/64 of a /48", "2001:db8:1::/48", 64, "2001:db8:1::/64", "2001:db8:1:1::/64"),
	Entry("/48 of a /32", "2001:db8::/32", 48, "2001:db8::/48", "2001:db8:1::/48"),
	Entry("all of the pool", "10.0.0.0/24", 24, "10.0.0.0/24"),
)

var _ = It("A claim gets the very prefix that it asks for, and others go around it", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	s.Create(ctx, s.Root("four", "10.0.0.0/24").Build(), s.Root("six", "2001:db8::/32").Build())
	for name, ask := range map[string]struct{ pool, cidr string }{
		"address": {"four", "10.0.0.1/32"}, "link": {"four", "10.0.0.2/31"}, "prefix": {"four", "10.0.0.4/30"},
		"address6": {"six", "2001:db8::1/128"}, "link6": {"six", "2001:db8::2/127"}, "site6": {"six", "2001:db8:1::/48"},
	} {
		c := s.Claim(name, ask.pool).WithCIDR(ask.cidr).Build()
		s.Create(ctx, c)
		Expect(c.Spec.CIDR).To(Equal(ask.cidr))
		s.Ready(ctx, c)
	}
	next := s.Claim("next", "four").Build()
	next6 := s.Claim("next6", "six").WithBits(48).Build()
	s.Create(ctx, next, next6)
	Expect(next.Spec.CIDR).To(Equal("10.0.0.8/32"))
	Expect(next6.Spec.CIDR).To(Equal("2001:db8:2::/48"))
}, SpecTimeout(5*time.Minute))

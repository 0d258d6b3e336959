// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// globalBuilder is what the specs change about a GlobalIPPool.
type globalBuilder = builder.PoolBuilder[*ipamv1.GlobalIPPool]

// absent is what a claim is told of a GlobalIPPool that there is not, or that is not visible to it.
func absent(pool, namespace string) string {
	return fmt.Sprintf("spec.poolRef.name: there is no GlobalIPPool %q, or it is not visible to namespace %s", pool, namespace)
}

// The pool of these specs is of the project that "own" is of.
var _ = DescribeTable("A GlobalIPPool answers the claims of those that it is visible to, and of nobody else:",
	func(ctx SpecContext, change func(*globalBuilder), admitted ...string) {
		s := suite.New(ctx, site)
		tenants := s.Tenants(ctx)
		tenants["manager's"] = framework.ManagerNamespace
		given := s.GlobalRoot("pool", "10.0.0.0/24").WithLabel(ipamv1.ProjectLabel, s.Namespace)
		change(given)
		pool := given.Build()
		s.Create(ctx, pool)
		var handedOut []string
		for who, namespace := range tenants {
			c := builder.IPClaim(namespace, s.Namespace).From(ipamv1.GlobalIPPoolKind, pool.Name).Build()
			asks := builder.IPClaim(namespace, s.Namespace+"-asks").From(ipamv1.GlobalIPPoolKind, pool.Name).WithCIDR("10.0.0.200/32").Build()
			if !slices.Contains(admitted, who) {
				s.Refuses(ctx, c, http.StatusForbidden, absent(pool.Name, namespace))
				s.Refuses(ctx, asks, http.StatusForbidden, absent(pool.Name, namespace))
				continue
			}
			s.Create(ctx, c, asks)
			s.Ready(ctx, c, asks)
			handedOut = append(handedOut, c.Spec.CIDR)
			s.Delete(ctx, asks)
		}
		Expect(handedOut).To(HaveLen(len(admitted)))
		Expect(s.HandedOut(ctx)).To(ConsistOf(handedOut))
	},
	Entry("by default", func(*globalBuilder) {}, "own", "own, gold", "other", "other, gold", "none", "platform", "manager's"),
	Entry("Shared", func(p *globalBuilder) { p.WithVisibility(ipamv1.SharedVisibility) },
		"own", "own, gold", "other", "other, gold", "none", "platform", "manager's"),
	Entry("Shared with those that are selected", func(p *globalBuilder) { p.WithNamespaces("tier", "gold") }, "own, gold", "other, gold"),
	Entry("Consumer", func(p *globalBuilder) { p.WithVisibility(ipamv1.ConsumerVisibility) }, "own", "own, gold"),
	Entry("Consumer of no project", func(p *globalBuilder) { p.WithVisibility(ipamv1.ConsumerVisibility).WithLabel(ipamv1.ProjectLabel, "") }),
	Entry("Platform", func(p *globalBuilder) { p.WithVisibility(ipamv1.PlatformVisibility) }, "platform", "manager's"),
)

var _ = Describe("Of a GlobalIPPool without bounds", func() {
	const defaultBits, otherBits = 28, 29

	// claims ask for the default length and another one, by prefixLength and by cidr.
	claims := func(namespace, pool string) (granted, longer []*builder.IPClaimBuilder) {
		c := func(name string) *builder.IPClaimBuilder {
			return builder.IPClaim(namespace, name).From(ipamv1.GlobalIPPoolKind, pool)
		}
		return []*builder.IPClaimBuilder{c("says-nothing"), c("says-default").WithBits(defaultBits), c("asks-default").WithCIDR("10.0.0.128/28")},
			[]*builder.IPClaimBuilder{c("says-other").WithBits(otherBits), c("asks-other").WithCIDR("10.0.0.192/29"), c("says-host").WithBits(32)}
	}
	bits := func(c *ipamv1.IPClaim) int {
		GinkgoHelper()
		cidr, err := netip.ParsePrefix(c.Spec.CIDR)
		Expect(err).NotTo(HaveOccurred())
		return cidr.Bits()
	}

	DescribeTable("others than its own project get nothing but the default length:",
		func(ctx SpecContext, change func(*globalBuilder), free ...string) {
			s := suite.New(ctx, site)
			given := s.GlobalRoot("pool", "10.0.0.0/24").WithLabel(ipamv1.ProjectLabel, s.Namespace).WithLengths(0, 0, defaultBits)
			change(given)
			pool := given.Build()
			s.Create(ctx, pool)
			for who, namespace := range s.Tenants(ctx) {
				granted, longer := claims(namespace, pool.Name)
				for _, claim := range granted {
					c := claim.Build()
					s.Create(ctx, c)
					Expect(bits(c)).To(Equal(defaultBits), c.Name)
					s.Delete(ctx, c)
				}
				for _, claim := range longer {
					c := claim.Build()
					if !slices.Contains(free, who) {
						field := "spec.prefixLength"
						if c.Spec.CIDR != "" {
							field = "spec.cidr"
						}
						s.Refuses(ctx, c, http.StatusForbidden, field, "another project", "gives a /28 only")
						continue
					}
					s.Create(ctx, c)
					Expect(bits(c)).To(BeNumerically(">", defaultBits), c.Name)
					s.Delete(ctx, c)
				}
			}
			Expect(s.HandedOut(ctx)).To(BeEmpty())
		},
		Entry("of a project", func(*globalBuilder) {}, "own", "own, gold"),
		Entry("of no project", func(p *globalBuilder) { p.WithLabel(ipamv1.ProjectLabel, "") }),
		Entry("of the platform", func(p *globalBuilder) { p.WithLabel(ipamv1.ProjectLabel, "platform") }, "platform"),
		Entry("but with bounds everybody gets what they allow", func(p *globalBuilder) { p.WithLengths(24, 0, 0) },
			"own", "own, gold", "other", "other, gold", "none", "platform"),
	)
})

var _ = It("A claim is not told who of another project has what it asks for, nor what that is", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	tenants := s.Tenants(ctx)
	pool := s.GlobalRoot("pool", "10.0.0.0/24").WithLengths(24, 32, 0).Build()
	pool.Spec.PreAllocations = []ipamv1.PreAllocation{
		{ClaimName: "kept-secret", Namespace: tenants["own"], Kind: ipamv1.IPClaimKind, Address: "10.0.0.40"},
	}
	s.Create(ctx, pool)
	s.Create(ctx, builder.IPClaim(tenants["own"], "held-secret").From(ipamv1.GlobalIPPoolKind, pool.Name).WithCIDR("10.0.0.23/32").Build())
	for asked, code := range map[string]int32{
		"10.0.0.23/32": http.StatusConflict, "10.0.0.16/28": http.StatusConflict,
		"10.0.0.40/32": http.StatusUnprocessableEntity, "10.0.0.32/28": http.StatusUnprocessableEntity,
	} {
		c := builder.IPClaim(tenants["other"], "asks").From(ipamv1.GlobalIPPoolKind, pool.Name).WithCIDR(asked).Build()
		err := k.Create(ctx, c)
		Expect(err).To(suite.Refused(code, asked))
		others := strings.ReplaceAll(err.Error(), asked, "")
		Expect(others).NotTo(Or(ContainSubstring("secret"), ContainSubstring(tenants["own"]), ContainSubstring("10.0.0")), asked)
	}
	full := builder.IPClaim(tenants["other"], "asks").From(ipamv1.GlobalIPPoolKind, pool.Name).WithBits(24).Build()
	Expect(k.Create(ctx, full)).To(MatchError(Not(Or(ContainSubstring("secret"), ContainSubstring(tenants["own"]), ContainSubstring("10.0.0")))))
}, SpecTimeout(5*time.Minute))

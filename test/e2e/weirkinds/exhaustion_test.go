// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("A pool that is full", func() {
	It("says so to claims, and hands out what comes back at once", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		pool := s.Root("pool", "10.0.0.0/30").Build()
		s.Create(ctx, pool)
		first, second := s.Claim("first", "pool").Build(), s.Claim("second", "pool").Build()
		s.Create(ctx, first, second)
		s.Refuses(ctx, s.Claim("third", "pool").Build(), http.StatusInsufficientStorage, "IPPool "+s.Namespace+"/pool", "/32", "exhausted")
		Expect(apierrors.ReasonForError(k.Create(ctx, s.Claim("third", "pool").Build()))).To(BeEquivalentTo("InsufficientStorage"))
		s.Exhausted(ctx, pool)

		s.Delete(ctx, first)
		third := s.Claim("third", "pool").Build()
		s.Create(ctx, third)
		Expect(third.Spec.CIDR).To(Equal(first.Spec.CIDR))
		s.Delete(ctx, second)
		s.Ready(ctx, pool)
	}, SpecTimeout(5*time.Minute))

	It("for one length still gives longer prefixes", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build(), s.Claim("middle", "pool").WithCIDR("10.0.0.128/32").Build())
		s.Create(ctx, s.Claim("half", "pool").WithBits(25).Build())
		s.Refuses(ctx, s.Claim("other-half", "pool").WithBits(25).Build(), http.StatusInsufficientStorage, "/25")
		s.Create(ctx, s.Claim("quarter", "pool").WithBits(26).Build())
	}, SpecTimeout(5*time.Minute))

	It("is shared by many who come at once: each gets another address, or hears that there is none", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/27").WithReserved(ipamv1.ReservedAddressesAllocate).Build())
		got, full := createMany(ctx, s, 48)
		Expect(got).To(HaveLen(32))
		Expect(full).To(Equal(16))
	}, SpecTimeout(5*time.Minute))

	It("keeps back what cools down, and hands it out afterwards", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		pool := s.Root("pool", "10.0.0.0/32").WithCooldown(3600).Build()
		c := s.Claim("first", "pool").Build()
		s.Create(ctx, pool, c)
		s.Ready(ctx, c)
		s.Delete(ctx, c) // and the claim goes: it does not wait for the cooldown
		s.Refuses(ctx, s.Claim("second", "pool").Build(), http.StatusInsufficientStorage, "exhausted")
		Eventually(func(g Gomega) {
			g.Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.Capacity.Cooling).To(Equal("1"))
		}, patience, "100ms").Should(Succeed())
		suite.Change(ctx, k, pool, func() { pool.Spec.Allocation.CooldownSeconds = ptr.To(int32(1)) })
		second := s.Claim("second", "pool").Build()
		Eventually(func() error { return k.Create(ctx, second) }, patience, "100ms").Should(Succeed())
		Expect(second.Spec.CIDR).To(Equal("10.0.0.0/32"))
	}, SpecTimeout(5*time.Minute))
})

// createMany has as many clients create a claim at once; it returns what they got, and how many heard that the pool is exhausted.
func createMany(ctx context.Context, s *suite.Spec, n int) (got map[string]string, full int) {
	GinkgoHelper()
	got = map[string]string{}
	var mu sync.Mutex
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			defer GinkgoRecover()
			c := s.Claim(fmt.Sprintf("claim-%d", i), "pool").Build()
			err := createPatiently(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				Expect(err).To(suite.Refused(http.StatusInsufficientStorage, "exhausted"))
				full++
				return
			}
			Expect(got).NotTo(HaveKey(c.Spec.CIDR))
			got[c.Spec.CIDR] = c.Name
		})
	}
	done.Wait()
	return got, full
}

// createPatiently creates a claim, again and again while it hears that somebody else is being answered: clients give up after
// some ten times.
func createPatiently(ctx context.Context, c *ipamv1.IPClaim) error {
	for {
		err := k.Create(ctx, c)
		if !apierrors.IsTooManyRequests(err) || ctx.Err() != nil {
			return err
		}
	}
}

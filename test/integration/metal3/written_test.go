// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// stored has a pool or a claim be stored as one that moves: with its finalizer.
func stored(ctx context.Context, obj client.Object, finalizer string) {
	GinkgoHelper()
	obj.SetFinalizers([]string{finalizer})
	Expect(k.Create(ctx, obj)).To(Succeed())
}

var _ = DescribeTable("A pool is not stored, as Metal3 would not,", func(ctx SpecContext, spec, words string) {
	ns := suite.Namespace(ctx, k, suite.Guarded)
	Eventually(func() error { return k.Create(ctx, newPool(ns, "p", spec), client.DryRunAll) }, patience, "100ms").Should(MatchError(ContainSubstring(words)))
	stored(ctx, newPool(ns, "moved", spec), m3v1.IPPoolFinalizer)
},
	Entry("with an end before its start", "{pools: [{start: 192.0.2.9, end: 192.0.2.1}]}", "spec.pools[0].end: Invalid value"),
	Entry("with an empty entry", "{pools: [{subnet: 192.0.2.0/28}, {}]}", "spec.pools[1]: Required value: has no addresses: set start or subnet"),
	Entry("keeping an address outside", "{pools: [{subnet: 192.0.2.0/28}], preAllocations: {a: 192.0.2.77}}", "spec.preAllocations[a]: Invalid value"),
	Entry("keeping an address twice", "{pools: [{subnet: 'fd00::/64'}], preAllocations: {a: 'fd00::5', b: 'FD00:0::5'}}", "spec.preAllocations[b]: Invalid value"),
)

var _ = Describe("A pool that is stored", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, suite.Guarded) })

	It("does not shrink below an address in use", func(ctx SpecContext) {
		pool(ctx, ns, onePool)
		a := answer(ctx, claimOf(ns, "c"))
		Expect(a.Spec.Address).To(BeEquivalentTo("10.0.0.1"))
		p := newPool(ns, "p", onePool)
		refuses(ctx, p, `{"spec":{"pools":[{"start":"10.0.0.5","end":"10.0.0.9"}]}}`, "spec.pools: Forbidden: 1 prefix is in use and would fall out of the pool")
		allows(ctx, p, `{"spec":{"pools":[{"start":"10.0.0.1","end":"10.0.0.2"}]}}`)
	})

	It("with mistakes may change otherwise", func(ctx SpecContext) {
		p := newPool(ns, "p", "{pools: [{subnet: 10.0.0.0/24}, {}], preAllocations: {a: 10.0.9.9}}")
		stored(ctx, p, m3v1.IPPoolFinalizer)
		refuses(ctx, p, `{"spec":{"preAllocations":{"b":"10.0.9.8"}}}`, "spec.preAllocations[b]")
		allows(ctx, p, `{"spec":{"prefix":24,"preAllocations":{"b":"10.0.0.8"}}}`)
		allows(ctx, p, `{"metadata":{"labels":{"a":"b"},"finalizers":null}}`)
		Expect(k.Delete(ctx, p)).To(Succeed())
		gone(ctx, p)
	})
})

var _ = Describe("A claim", func() {
	const long = "spec.pool.name: is longer than any name"
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, nil) })

	named := func(pool string) *m3v1.IPClaim {
		c := claimOf(ns, "c")
		c.Spec.Pool.Name = pool
		return c
	}
	create := func(ctx context.Context, c *m3v1.IPClaim) func() error {
		return func() error { return k.Create(ctx, c.DeepCopy(), client.DryRunAll) }
	}

	It("is refused that names no pool, or by more than a name, or asks for what is no address", func(ctx SpecContext) {
		Eventually(create(ctx, named("")), patience).Should(MatchError(ContainSubstring("spec.pool.name: must be the name of an IPPool")))
		Expect(create(ctx, named(strings.Repeat("a", 254)))()).To(MatchError(ContainSubstring(long)))
		Expect(create(ctx, named(strings.Repeat("a", 253)))()).To(Succeed())
		Expect(create(ctx, asking(claimOf(ns, "c"), "10.0.0"))()).To(MatchError(ContainSubstring("metadata.annotations[ipAddress]: must be an IP address")))
		for _, address := range []string{"", "10.0.0.7", "2001:DB8:0::7"} {
			Expect(create(ctx, asking(claimOf(ns, "c"), address))()).To(Succeed())
		}
	})

	It("that was stored asking for what is no address is told so, and may change otherwise", func(ctx SpecContext) {
		pool(ctx, ns, onePool)
		c := asking(claimOf(ns, "c"), "10.0.0")
		stored(ctx, c, m3v1.IPClaimFinalizer)
		refused(ctx, c, `Invalid ipAddress annotation "10.0.0": not a valid IP address`)
		allows(ctx, c, `{"metadata":{"labels":{"a":"b"}}}`)
		allows(ctx, c, `{"metadata":{"annotations":{"ipAddress":null}}}`)
		refuses(ctx, c, `{"metadata":{"annotations":{"ipAddress":"10.0"}}}`, "must be an IP address")
	})

	It("that was stored with a pool's name of 100 kB is told that it is none", func(ctx SpecContext) {
		c := named(strings.Repeat("a", 100_000))
		stored(ctx, c, m3v1.IPClaimFinalizer)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"),
				HaveField("Message", And(HavePrefix("spec.pool.name: "), HaveSuffix("is longer than any name: 253 characters at most"))))))
		}, patience).Should(Succeed())
		Expect(k.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Expect(client.IgnoreNotFound(k.Delete(ctx, c))).To(Succeed())
	})
})

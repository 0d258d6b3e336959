// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// claimed is a claim's record in the pool team/p.
func claimed(prefix, claim string) ledger.Holding {
	return ledger.Holding{
		CIDR: netip.MustParsePrefix(prefix), Purpose: ledger.ForClaim,
		Pool:  ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "p"},
		Claim: ipamv1.ClaimReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "team", Name: claim},
	}
}

// stored creates the pool and removes it after the spec.
func stored[P client.Object](ctx context.Context, pool P) P {
	GinkgoHelper()
	Expect(k.Create(ctx, pool)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		records.set(nil)
		Expect(client.IgnoreNotFound(k.Delete(ctx, pool))).To(Succeed())
	})
	return pool
}

// expectInvalid expects a 422 that names the field.
func expectInvalid(err error, field string, parts ...string) {
	GinkgoHelper()
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	Expect(err.Error()).To(MatchRegexp(fieldPattern(field)))
	for _, part := range parts {
		Expect(err.Error()).To(ContainSubstring(part))
	}
}

var _ = Describe("A new pool", func() {
	It("is stored with its family", func(ctx SpecContext) {
		Expect(stored(ctx, builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build()).Spec.IPFamily).To(Equal(ipamv1.IPv4Family))
		Expect(stored(ctx, builder.GlobalIPPool("p").WithAddresses("2001:db8::1-2001:db8::9").Build()).Spec.IPFamily).To(Equal(ipamv1.IPv6Family))
	})

	It("is refused where another root pool of its space has the addresses", func(ctx SpecContext) {
		records.hold(ledger.Holding{
			CIDR: netip.MustParsePrefix("192.0.2.0/24"), Purpose: ledger.ForRoot,
			Pool: ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "rack"},
		})
		pool := builder.IPPool("team", "p").WithCIDR("192.0.2.128/25")
		expectInvalid(k.Create(ctx, pool.Build()), "spec.cidr", "192.0.2.128/25 shares 192.0.2.128/25 with GlobalIPPool rack")
		Expect(k.Create(ctx, pool.Build(), client.DryRunAll)).To(Succeed(), "GlobalIPPool rack may be smaller by the time of the create")
		stored(ctx, pool.WithSpace("lab").Build())
	})

	It("may keep as many addresses as the API allows", func(ctx SpecContext) {
		object := poolYAML(ipamv1.GlobalIPPoolKind, "p", `{cidr: 10.0.0.0/8, preAllocations: [`+keptFor(4096)+`]}`)
		stored(ctx, object)
		patch := []byte(`{"spec":{"excludedAddresses":["10.1.0.0/16"]}}`)
		Expect(k.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	})

	It("is refused if it keeps for a claim what another one holds, of an earlier pool", func(ctx SpecContext) {
		records.hold(claimed("192.0.2.7/32", "holder"))
		pool := builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build()
		pool.Spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "other", Address: "192.0.2.6"}, {ClaimName: "mine", Address: "192.0.2.7"}}
		expectInvalid(k.Create(ctx, pool.DeepCopy()), "spec.preAllocations[1].address", "192.0.2.7", "is in use", "IPAddressClaim team/holder")
		pool.Spec.PreAllocations[1].ClaimName = "holder"
		stored(ctx, pool)
	})

	It("is not stored by a dry run", func(ctx SpecContext) {
		pool := builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build()
		Expect(k.Create(ctx, pool, client.DryRunAll)).To(Succeed())
		Expect(pool.Spec.IPFamily).To(Equal(ipamv1.IPv4Family))
		Expect(apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(pool), pool))).To(BeTrue())
	})
})

var _ = Describe("What is set once", func() {
	DescribeTable("does not change:",
		func(ctx SpecContext, before, after, field string) {
			object := poolYAML(ipamv1.IPPoolKind, "p", before)
			stored(ctx, object)
			changed := poolYAML(ipamv1.IPPoolKind, "p", after)
			changed.SetResourceVersion(object.GetResourceVersion())
			expectInvalid(k.Update(ctx, changed), field)
		},
		Entry("cidr", `{cidr: 192.0.2.0/24}`, `{cidr: 192.0.2.0/25}`, "spec.cidr"),
		Entry("cidr into addresses without it", `{cidr: 192.0.2.0/24}`, `{addresses: [192.0.2.1]}`, "spec.addresses"),
		Entry("cidr into addresses and itself", `{cidr: 192.0.2.0/24}`, `{cidr: 192.0.2.0/24, addresses: [198.51.100.1]}`, "spec"),
		Entry("a source that is left out", `{addresses: [192.0.2.1]}`, `{mode: Draining}`, "spec"),
		Entry("family", `{addresses: [192.0.2.1]}`, `{addresses: [192.0.2.1], ipFamily: IPv6}`, "spec.ipFamily"),
		Entry("family by its addresses", `{addresses: [192.0.2.1]}`, `{addresses: ["2001:db8::1"]}`, "spec.ipFamily"),
		Entry("address space", `{cidr: 192.0.2.0/24, addressSpace: lab}`, `{cidr: 192.0.2.0/24, addressSpace: prod}`, "spec.addressSpace"),
		Entry("the default address space", `{cidr: 192.0.2.0/24}`, `{cidr: 192.0.2.0/24, addressSpace: prod}`, "spec.addressSpace"),
		Entry("address space by leaving it out", `{cidr: 192.0.2.0/24, addressSpace: lab}`, `{cidr: 192.0.2.0/24}`, "spec.addressSpace"),
		Entry("a parent that was not there", `{cidr: 192.0.2.0/24}`, `{cidr: 192.0.2.0/24, parentRef: {kind: IPPool, name: q}}`, "spec.parentRef"),
		Entry("delegation", `{cidr: 192.0.2.0/24}`, `{cidr: 192.0.2.0/24, delegateTo: edge}`, "spec.delegateTo"),
	)

	It("is refused with advice on how a root pool grows", func(ctx SpecContext) {
		pool := stored(ctx, builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build())
		pool.Spec.CIDR = "192.0.2.0/23"
		expectInvalid(k.Update(ctx, pool.DeepCopy()), "spec.cidr", "to grow a root pool, replace it by addresses that contain it")
	})

	It("may become addresses that contain it, and a cidr again", func(ctx SpecContext) {
		pool := stored(ctx, builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build())
		pool.Spec.CIDR, pool.Spec.Addresses = "", []ipamv1.AddressEntry{"192.0.2.0/24", "198.51.100.0/24"}
		Expect(k.Update(ctx, pool)).To(Succeed())
		Expect(pool.Spec.CIDR).To(BeEmpty())
		pool.Spec.Addresses = append(pool.Spec.Addresses, "203.0.113.0/24")
		Expect(k.Update(ctx, pool)).To(Succeed())
		pool.Spec.CIDR, pool.Spec.Addresses = "192.0.2.0/23", nil
		Expect(k.Update(ctx, pool)).To(Succeed())
		patch := []byte(`{"spec":{"cidr":null,"addresses":["192.0.2.0/23","198.51.100.7"]}}`)
		Expect(k.Patch(ctx, pool, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	})

	It("may be named by what it is by default", func(ctx SpecContext) {
		pool := stored(ctx, builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build())
		pool.Spec.AddressSpace = ipamv1.DefaultAddressSpace
		Expect(k.Update(ctx, pool)).To(Succeed())
	})

	expectRestored := func(pool *ipamv1.IPPool) {
		GinkgoHelper()
		Expect(pool.Spec.CIDR).To(Equal("192.0.2.0/24"))
		Expect(pool.Spec.IPFamily).To(Equal(ipamv1.IPv4Family))
		Expect(pool.Spec.ExcludedAddresses).To(ConsistOf(ipamv1.AddressEntry("192.0.2.7")))
	}

	It("comes back in a replace without it", func(ctx SpecContext) {
		pool := stored(ctx, builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build())
		pool.Spec = ipamv1.IPPoolSpec{ExcludedAddresses: []ipamv1.AddressEntry{"192.0.2.7"}}
		Expect(k.Update(ctx, pool)).To(Succeed())
		expectRestored(pool)
	})

	It("comes back in a merge patch that takes it away, as kubectl apply sends", func(ctx SpecContext) {
		pool := stored(ctx, builder.IPPool("team", "p").WithCIDR("192.0.2.0/24").Build())
		patch := []byte(`{"spec":{"cidr":null,"ipFamily":null,"excludedAddresses":["192.0.2.7"]}}`)
		Expect(k.Patch(ctx, pool, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		expectRestored(pool)
	})

	It("comes back in a server-side apply without it by the owner who set it", func(ctx SpecContext) {
		first := poolYAML(ipamv1.IPPoolKind, "p", `{cidr: 192.0.2.0/24}`)
		Expect(k.Apply(ctx, client.ApplyConfigurationFromUnstructured(first))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k.Delete(ctx, first)).To(Succeed()) })
		for range 2 {
			again := poolYAML(ipamv1.IPPoolKind, "p", `{excludedAddresses: [192.0.2.7]}`)
			Expect(k.Apply(ctx, client.ApplyConfigurationFromUnstructured(again))).To(Succeed())
			pool := &ipamv1.IPPool{}
			Expect(k.Get(ctx, client.ObjectKeyFromObject(again), pool)).To(Succeed())
			expectRestored(pool)
		}
	})
})

var _ = Describe("What is in use", func() {
	var pool *ipamv1.IPPool

	BeforeEach(func(ctx SpecContext) {
		pool = stored(ctx, builder.IPPool("team", "p").WithAddresses("192.0.2.0/24").WithNetwork(24, "").Build())
		held := make([]ledger.Holding, 0, 7)
		for i := range cap(held) {
			held = append(held, claimed(fmt.Sprintf("192.0.2.%d/32", i+1), fmt.Sprintf("claim-%d", i)))
		}
		records.hold(held...)
	})

	It("does not fall out of a pool", func(ctx SpecContext) {
		pool.Spec.Addresses = []ipamv1.AddressEntry{"192.0.2.0-192.0.2.6"}
		err := k.Update(ctx, pool)
		expectInvalid(err, "spec.addresses", "1 prefix is in use and would fall out of the pool: 192.0.2.7 for IPAddressClaim team/claim-6")
		Expect(k.Update(ctx, pool, client.DryRunAll)).To(MatchError(err.Error()))
		pool.Spec.Addresses = []ipamv1.AddressEntry{"192.0.2.0", "192.0.2.100"}
		expectInvalid(k.Update(ctx, pool), "spec.addresses", "7 prefixes", "claim-0", "claim-4, ...")
	})

	It("does not keep a pool from shrinking elsewhere and growing", func(ctx SpecContext) {
		pool.Spec.Addresses = []ipamv1.AddressEntry{"192.0.2.1-192.0.2.7", "198.51.100.0/24"}
		Expect(k.Update(ctx, pool)).To(Succeed())
	})

	It("may be excluded", func(ctx SpecContext) {
		pool.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"192.0.2.4-192.0.2.5"}
		Expect(k.Update(ctx, pool)).To(Succeed())
	})

	It("is not kept for another claim, and may be for its own", func(ctx SpecContext) {
		pool.Spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "claim-3", Address: "192.0.2.4"}, {ClaimName: "mine", Address: "192.0.2.5"}}
		err := k.Update(ctx, pool)
		expectInvalid(err, "spec.preAllocations[1].address", `"192.0.2.5": is in use: 192.0.2.5 for IPAddressClaim team/claim-4`)
		rehearsed := pool.DeepCopy()
		Expect(k.Update(ctx, rehearsed, client.DryRunAll)).To(Succeed(), "the claim may be gone by the time of the update")
		pool.Spec.PreAllocations[1].Address = "192.0.2.50"
		Expect(k.Update(ctx, pool)).To(Succeed())
	})

	It("keeps ordinary callers from deleting its pool", func(ctx SpecContext) {
		err := k.Delete(ctx, pool)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("7 prefixes are allocated from it: 192.0.2.1 for IPAddressClaim team/claim-0")))
		Expect(err).To(MatchError(ContainSubstring("claim-4, ...")))
		Expect(apierrors.IsForbidden(k.Delete(ctx, pool, client.DryRunAll))).To(BeTrue())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		Expect(pool.DeletionTimestamp).To(BeNil())
	})

	DescribeTable("does not keep from deleting its pool, held by the finalizer,",
		func(ctx SpecContext, user string) {
			pool.Finalizers = []string{ipamv1.PoolFinalizer}
			Expect(k.Update(ctx, pool)).To(Succeed())
			as, err := site.As(user, "system:masters")
			Expect(err).NotTo(HaveOccurred())
			Expect(as.Delete(ctx, pool)).To(Succeed())
			Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			Expect(pool.DeletionTimestamp).NotTo(BeNil())
			pool.Finalizers = nil
			Expect(k.Update(ctx, pool)).To(Succeed())
		},
		Entry("the garbage collector", "system:serviceaccount:kube-system:generic-garbage-collector"),
		Entry("the namespace controller", "system:serviceaccount:kube-system:namespace-controller"),
		Entry("a controller manager without accounts per controller", "system:kube-controller-manager"),
	)

	It("does not keep clusterctl move from deleting its pool", func(ctx SpecContext) {
		patch := []byte(`{"metadata":{"annotations":{"clusterctl.cluster.x-k8s.io/delete-for-move":""}}}`)
		Expect(k.Patch(ctx, pool, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		Expect(k.Delete(ctx, pool)).To(Succeed())
	})
})

var _ = Describe("Claims", func() {
	It("of Cluster API get Weir's finalizer for Weir's pools only", func(ctx SpecContext) {
		for name, kind := range map[string]string{"ours": ipamv1.IPPoolKind, "ours-global": ipamv1.GlobalIPPoolKind} {
			claim := builder.IPAddressClaim("team", name, kind, "p").WithFinalizers("example.com/other").Build()
			Expect(k.Create(ctx, claim)).To(Succeed())
			Expect(claim.Finalizers).To(ConsistOf("example.com/other", ipamv1.ClaimFinalizer))
		}
		foreign := builder.IPAddressClaim("team", "foreign", "IPPool", "p").WithPoolGroup("ipam.metal3.io").Build()
		Expect(k.Create(ctx, foreign)).To(Succeed())
		Expect(foreign.Finalizers).To(BeEmpty())
	})
})

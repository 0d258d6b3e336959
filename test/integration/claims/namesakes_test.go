// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

var _ = Describe("An IPAddressClaim, where somebody else has made its IPAddress or a namesake left it behind,", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("with an IPAddress made by hand gets that address if the pool gives it, and is told otherwise", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		for name, text := range map[string]string{"good": "10.1.0.50", "bad": "10.7.0.50"} {
			create(ctx, &ipamv1beta2.IPAddress{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
				Spec: ipamv1beta2.IPAddressSpec{
					ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name},
					PoolRef:  newClaim(ns, name, "IPPool", "p").Spec.PoolRef,
					Address:  text, Prefix: ptr.To(int32(24)),
				},
			})
		}
		good := answered(ctx, create(ctx, newClaim(ns, "good", "IPPool", "p")))
		Expect(good.Spec.Address).To(Equal("10.1.0.50"))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(good), good)).To(Succeed())
			g.Expect(good.OwnerReferences).To(HaveLen(2))
			g.Expect(good.Finalizers).To(ConsistOf(ipamv1.AddressFinalizer))
		}, "1m", "100ms").Should(Succeed())
		Expect(ready(ctx, create(ctx, newClaim(ns, "bad", "IPPool", "p")), metav1.ConditionFalse, "AllocationFailed")).
			To(ContainSubstring("10.7.0.50"))
	})

	It("with an IPAddress that something else controls is told so, and what has been Weir's answer is recorded all the same", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		cluster := create(ctx, newCluster(ns, false))
		tell := func(name, address string, finalizers ...string) *ipamv1beta2.IPAddressClaim {
			GinkgoHelper()
			create(ctx, &ipamv1beta2.IPAddress{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: ns, Name: name, Finalizers: finalizers,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind))},
				},
				Spec: ipamv1beta2.IPAddressSpec{
					ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: newClaim(ns, name, "IPPool", "p").Spec.PoolRef,
					Address: address, Prefix: ptr.To(int32(24)),
				},
			})
			claim := create(ctx, newClaim(ns, name, "IPPool", "p"))
			Expect(ready(ctx, claim, metav1.ConditionFalse, "AllocationFailed")).To(And(
				ContainSubstring("metadata.ownerReferences"), ContainSubstring("Cluster "+cluster.Name)))
			return claim
		}
		byHand := tell("by-hand", "10.1.0.50")
		// Before the claim came, the address may have been held for nobody.
		Expect(records(ctx, ns)).NotTo(ContainElement(HaveField("Spec.ClaimRef.UID", string(byHand.UID))))
		tell("answer", "10.1.0.60", ipamv1.AddressFinalizer)
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").
			Should(ContainElement(HaveField("Spec.CIDR", "10.1.0.60/32")), "nobody else gets it")
		Expect(records(ctx, ns)).NotTo(ContainElement(HaveField("Spec.ClaimRef.UID", string(byHand.UID))))
	})

	It("with an IPAddress made by hand does not get a single address that the pool's bounds exclude, but keeps one of Weir's", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.2.0.0/24", AddressSpace: ns,
			Allocation: &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To(int32(28)), MaxPrefixLength: ptr.To(int32(30))},
		}))
		withAddress := func(name, text string, bits int32, finalizers ...string) *ipamv1beta2.IPAddressClaim {
			claim := newClaim(ns, name, "IPPool", "p")
			create(ctx, &ipamv1beta2.IPAddress{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: finalizers},
				Spec: ipamv1beta2.IPAddressSpec{
					ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: claim.Spec.PoolRef,
					Address: text, Prefix: ptr.To(bits),
				},
			})
			return create(ctx, claim)
		}
		single := withAddress("single", "10.2.0.50", 24)
		Expect(ready(ctx, single, metav1.ConditionFalse, "AllocationFailed")).To(Equal(
			"recording IPAddress single: 10.2.0.50/32: the longest prefix that the pool allows is /30"))
		answered(ctx, withAddress("block", "10.2.0.64", 28))
		answered(ctx, withAddress("arrived", "10.2.0.90", 24, ipamv1.AddressFinalizer))
		held := make([]string, 0, 2)
		for _, r := range records(ctx, ns) {
			held = append(held, r.Spec.CIDR)
		}
		Expect(held).To(ConsistOf("10.2.0.64/28", "10.2.0.90/32"))
	})

	It("with an IPAddress made by hand and a half-made record does not get what another claim holds", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		holder := answered(ctx, create(ctx, newClaim(ns, "holder", "IPPool", "p")))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		create(ctx, claim)
		create(ctx, &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, PoolRef: claim.Spec.PoolRef,
				Address: holder.Spec.Address, Prefix: ptr.To(int32(24)),
			},
		})
		half := records(ctx, ns)[0]
		half.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "a-half", Finalizers: []string{ipamv1.AllocationFinalizer}}
		half.Spec.ClaimRef.Name, half.Spec.ClaimRef.UID, half.Spec.Manager.Instance = "a", string(claim.UID), "dead"
		create(ctx, &half)
		change(ctx, claim, func() { claim.Annotations = nil })
		Expect(ready(ctx, claim, metav1.ConditionFalse, "AllocationFailed")).To(ContainSubstring("holder"))
		gone(ctx, &half)
	})

	It("that died without Weir leaves neither IPAddress nor record behind", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		address := answered(ctx, claim)
		body := []byte(`{"metadata":{"finalizers":null}}`)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Expect(client.IgnoreNotFound(k.Patch(ctx, claim, client.RawPatch(types.MergePatchType, body)))).To(Succeed())
		gone(ctx, address)
		Eventually(func() int { return len(records(ctx, ns)) }, "1m", "100ms").Should(BeZero())
	})

	DescribeTable("is answered although a record of a dead namesake holds", func(ctx SpecContext, spec ipamv1.IPPoolSpec, asked string) {
		spec.AddressSpace = ns
		create(ctx, newPool(ns, "p", spec))
		template := answered(ctx, create(ctx, newClaim(ns, "template", "IPPool", "p")))
		left := records(ctx, ns)[0]
		left.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "a-left", Finalizers: []string{ipamv1.AllocationFinalizer}}
		left.Spec.ClaimRef.Name, left.Spec.ClaimRef.UID, left.Spec.Manager.Instance = "a", "dead", "dead"
		left.Spec.CIDR = "10.1.0.6/32"
		left.Status.AllocatedCIDR = left.Spec.CIDR
		create(ctx, &left)
		claim := newClaim(ns, "a", "IPPool", "p")
		if asked != "" {
			claim.Annotations = map[string]string{ipamv1.AddressAnnotation: asked}
		}
		Expect(answered(ctx, create(ctx, claim)).Spec.Address).To(Equal("10.1.0.6"))
		gone(ctx, &left)
		Expect(template.Spec.Address).NotTo(Equal("10.1.0.6"))
	},
		Entry("the last address of a pool", ipamv1.IPPoolSpec{Addresses: []ipamv1.AddressEntry{"10.1.0.5-10.1.0.6"}}, ""),
		Entry("the address that it asks for", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24"}, "10.1.0.6"),
	)

	It("with an IPAddress made by hand gets that address although a dead namesake's record holds it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		answered(ctx, create(ctx, newClaim(ns, "template", "IPPool", "p")))
		left := records(ctx, ns)[0]
		left.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "a-left", Finalizers: []string{ipamv1.AllocationFinalizer}}
		left.Spec.ClaimRef.Name, left.Spec.ClaimRef.UID, left.Spec.Manager.Instance = "a", "dead", "dead"
		left.Spec.CIDR = "10.1.0.6/32"
		create(ctx, &left)
		claim := newClaim(ns, "a", "IPPool", "p")
		create(ctx, &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, PoolRef: claim.Spec.PoolRef,
				Address: "10.1.0.6", Prefix: ptr.To(int32(24)),
			},
		})
		Expect(answered(ctx, create(ctx, claim)).Spec.Address).To(Equal("10.1.0.6"))
		gone(ctx, &left)
	})

	It("keeps its finalizer when a dead namesake of its loses the last", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "a", "IPPool", "nowhere"))
		dead := claim.DeepCopy()
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
		claim = lives(ctx, ns, "a")
		Expect(finalizer.RemoveLast(ctx, k, dead, ipamv1.ClaimFinalizer)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.Finalizers).To(ConsistOf(ipamv1.ClaimFinalizer))
	})

	It("has one answer and one record, of its own, after its namesake died without Weir", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		change(ctx, claim, func() { claim.Finalizers = nil })
		Expect(client.IgnoreNotFound(k.Delete(ctx, claim))).To(Succeed())
		again := newClaim(ns, "a", "IPPool", "p")
		Eventually(func() error { return k.Create(ctx, again.DeepCopy()) }, "1m", "100ms").Should(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(again), again)).To(Succeed())
		Eventually(func(g Gomega) {
			address := &ipamv1beta2.IPAddress{}
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(again), address)).To(Succeed())
			// It is the one before only if the garbage collector has taken its owner off meanwhile: then nobody knows whose it was.
			g.Expect(address.OwnerReferences).To(ContainElement(HaveField("UID", again.UID)))
			g.Expect(address.DeletionTimestamp).To(BeNil())
			g.Expect(records(ctx, ns)).To(ConsistOf(HaveField("Spec.ClaimRef.UID", string(again.UID))))
		}, "1m", "100ms").Should(Succeed())
	})

	It("is answered anew while the answer of a dead namesake is there still, and nobody adopts that", func(ctx SpecContext) {
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		claim := lives(ctx, ns, "a")
		dead := claim.DeepCopy()
		dead.UID = "11111111-2222-3333-4444-555555555555"
		left := create(ctx, answerOf(dead))
		create(ctx, record(ns, "left", dead.UID, ledger.ForClaim))
		manager, clock := lateManager(ctx, unpaused(claim), 0)
		reconciled(ctx, manager, clock, claim)
		address := answered(ctx, claim)
		Expect(address.UID).NotTo(Equal(left.UID))
		Expect(address.DeletionTimestamp).To(BeNil())
		Expect(records(ctx, ns)).To(ConsistOf(HaveField("Spec.ClaimRef.UID", string(claim.UID))))
	})
})

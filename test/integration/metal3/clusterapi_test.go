// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// poolRef is how IPAddressClaims name pool p.
var poolRef = ipamv1beta2.IPPoolReference{APIGroup: m3v1.GroupVersion.Group, Kind: m3v1.IPPoolKind, Name: "p"}

func addressClaim(ns, name string) *ipamv1beta2.IPAddressClaim {
	return &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: poolRef}}
}

// told waits until an IPAddressClaim is answered, and returns its IPAddress as a provider finds it: by the status.
func told(ctx context.Context, c *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddress {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(c.Status.AddressRef.Name).NotTo(BeEmpty())
	}, patience, 20*time.Millisecond).Should(Succeed())
	a := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Status.AddressRef.Name}, a)).To(Succeed())
	return a
}

// setStatus writes part of a status, whatever a manager writes meanwhile.
func setStatus(ctx context.Context, obj client.Object, status string) {
	GinkgoHelper()
	Expect(k.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`)))).To(Succeed())
}

var _ = Describe("An IPAddressClaim of a Metal3 pool", func() {
	const nine = `{prefix: 24, gateway: 10.0.0.254, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, nil) })

	It("is answered by an IPAddress of its name, with Metal3's finalizers and none of Weir's", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := addressClaim(ns, "c")
		Expect(k.Create(ctx, c)).To(Succeed())
		a := told(ctx, c)
		Expect(a.Name).To(Equal("c"))
		Expect(a.Spec).To(And(HaveField("Address", "10.0.0.1"), HaveField("Prefix", HaveValue(BeEquivalentTo(24))), HaveField("Gateway", "10.0.0.254"),
			HaveField("PoolRef", poolRef)))
		Expect(a.Finalizers).To(ConsistOf(m3v1.ClusterAPIAddressFinalizer))
		Expect(c.Finalizers).To(ConsistOf(m3v1.ClusterAPIClaimFinalizer))
		Expect(metav1.GetControllerOf(a)).To(BeNil())
		Expect(k.Delete(ctx, c)).To(Succeed())
		gone(ctx, c)
		gone(ctx, a)
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(BeEmpty())
	})

	It("does not collide with an IPClaim of its name", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := addressClaim(ns, "c")
		Expect(k.Create(ctx, c)).To(Succeed())
		first := told(ctx, c).Spec.Address
		Expect(string(answer(ctx, claimOf(ns, "c")).Spec.Address)).NotTo(Equal(first))
	})

	It("gets what preAllocations keep for its name, as an IPClaim would", func(ctx SpecContext) {
		pool(ctx, ns, `{prefix: 24, preAllocations: {c: 10.0.0.5}, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`)
		c := addressClaim(ns, "c")
		Expect(k.Create(ctx, c)).To(Succeed())
		Expect(told(ctx, c).Spec.Address).To(Equal("10.0.0.5"))
		second := claimOf(ns, "c")
		Expect(k.Create(ctx, second)).To(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
			g.Expect(second.Status.Address).To(BeNil(), "who came first has it")
		}, "1s").Should(Succeed())
	})

	It("asks for an address by Metal3's annotation", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := addressClaim(ns, "c")
		c.Annotations = map[string]string{m3v1.AddressAnnotation: "10.0.0.7"}
		Expect(k.Create(ctx, c)).To(Succeed())
		Expect(told(ctx, c).Spec.Address).To(Equal("10.0.0.7"))
	})

	It("leaves an IPAddress alone that a user has made for its name in another pool", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		poolNamed(ctx, ns, "q", `{prefix: 24, pools: [{start: 10.2.0.1, end: 10.2.0.9}]}`)
		byHand := func(name, claim, address string) {
			GinkgoHelper()
			a := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim}, PoolRef: poolRef, Address: address, Prefix: ptr.To[int32](24),
			}}
			a.Spec.PoolRef.Name = "q"
			Expect(k.Create(ctx, a)).To(Succeed())
		}
		byHand("reserved", "c", "10.2.0.7")
		byHand("alike", "alike", "10.2.0.8")
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.2.0.7/32", "10.2.0.8/32"))
		c, alike := addressClaim(ns, "c"), addressClaim(ns, "alike")
		Expect(k.Create(ctx, c)).To(Succeed())
		Expect(told(ctx, c).Spec.Address).To(Equal("10.0.0.1"))
		Expect(k.Create(ctx, alike)).To(Succeed())
		Eventually(func() string {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(alike), alike)).To(Succeed())
			return conditions.GetMessage(alike, ipamv1.ReadyCondition)
		}, patience).Should(Equal("IPAddress alike: spec.poolRef: names IPPool q, the claim names IPPool p"))
		Expect(records(ctx, ns)).To(ConsistOf("10.0.0.1/32", "10.2.0.7/32", "10.2.0.8/32"))
	})

	It("waits for its pool", func(ctx SpecContext) {
		c := addressClaim(ns, "c")
		Expect(k.Create(ctx, c)).To(Succeed())
		Consistently(func() string { _ = k.Get(ctx, client.ObjectKeyFromObject(c), c); return c.Status.AddressRef.Name }, "1s").Should(BeEmpty())
		pool(ctx, ns, nine)
		told(ctx, c)
	})
})

// takenOver is how many claims of each kind Metal3's own controller has answered before.
var takenOver = size.Of(30, 250, 250)

var _ = Describe("What Metal3's own controller has made", func() {
	var (
		ns string
		p  *m3v1.IPPool
	)

	owners := func(claim client.Object, apiVersion, kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: claim.GetName(), UID: claim.GetUID()}}
	}
	// upstream stores an answered IPClaim as Metal3 does.
	upstream := func(ctx context.Context, name, address string) (*m3v1.IPClaim, *m3v1.IPAddress) {
		GinkgoHelper()
		c := claimOf(ns, name)
		c.Finalizers = []string{m3v1.IPClaimFinalizer}
		Expect(k.Create(ctx, c)).To(Succeed())
		a := &m3v1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "net-" + dashed(address), Finalizers: []string{m3v1.IPAddressFinalizer},
				OwnerReferences: owners(c, m3v1.GroupVersion.String(), m3v1.IPClaimKind),
			},
			Spec: m3v1.IPAddressSpec{
				Claim: m3v1.ObjectReference{Name: name, Namespace: ns}, Pool: m3v1.ObjectReference{Name: "p", Namespace: ns},
				Address: m3v1.Address(address), Prefix: 16,
			},
		}
		Expect(k.Create(ctx, a)).To(Succeed())
		setStatus(ctx, c, `{"address":{"name":"`+a.Name+`","namespace":"`+ns+`"}}`)
		return c, a
	}
	// upstreamCAPI stores an answered IPAddressClaim as Metal3 does: its IPAddress is named after the address.
	upstreamCAPI := func(ctx context.Context, name, address string) (*ipamv1beta2.IPAddressClaim, *ipamv1beta2.IPAddress) {
		GinkgoHelper()
		c := addressClaim(ns, name)
		c.Finalizers = []string{m3v1.ClusterAPIClaimFinalizer}
		Expect(k.Create(ctx, c)).To(Succeed())
		a := &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "net-" + dashed(address), Finalizers: []string{m3v1.ClusterAPIAddressFinalizer},
				OwnerReferences: owners(c, ipamv1beta2.GroupVersion.String(), "IPAddressClaim"),
			},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: poolRef, Address: address, Prefix: ptr.To[int32](16),
			},
		}
		Expect(k.Create(ctx, a)).To(Succeed())
		setStatus(ctx, c, `{"addressRef":{"name":"`+a.Name+`"}}`)
		return c, a
	}

	BeforeEach(func(ctx SpecContext) {
		ns = suite.Namespace(ctx, k, nil)
		p = &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: m3v1.IPPoolSpec{
			NamePrefix: "net", Prefix: 16, Gateway: ptr.To(m3v1.Address("10.0.0.1")),
			Pools: []m3v1.Pool{{Start: ptr.To(m3v1.Address("10.0.0.1")), End: ptr.To(m3v1.Address("10.0.255.254"))}},
		}}
	})

	It("is not another provider's in the address space default, which it was made in", func(ctx SpecContext) {
		c, a := upstreamCAPI(ctx, "c", "100.64.208.2")
		p.Annotations = map[string]string{m3v1.AddressSpaceAnnotation: ipamv1.DefaultAddressSpace}
		p.Spec.Pools = []m3v1.Pool{{Start: ptr.To(m3v1.Address("100.64.208.2")), End: ptr.To(m3v1.Address("100.64.208.3"))}}
		p.Spec.Gateway = nil
		Expect(k.Create(ctx, p)).To(Succeed())
		Expect(string(answer(ctx, claimOf(ns, "new")).Spec.Address)).To(Equal("100.64.208.3"))
		Expect(told(ctx, c).Spec.Address).To(Equal("100.64.208.2"))
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(HaveLen(2))
		Expect(k.Delete(ctx, c)).To(Succeed())
		gone(ctx, a)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		Expect(conditions.Has(p, ipamv1.ForeignAddressesCondition)).To(BeFalse())
		Expect(string(answer(ctx, claimOf(ns, "next")).Spec.Address)).To(Equal("100.64.208.2"))
	})

	It("is kept: nothing is renumbered, handed out a second time or left over", func(ctx SpecContext) {
		held := map[string]bool{}
		claims := make([]client.Object, 0, 2*takenOver)
		for i := range takenOver {
			first, second := fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.0.1.%d", i+1) // the very first is the gateway
			c, a := upstream(ctx, fmt.Sprint("m-", i), first)
			d, b := upstreamCAPI(ctx, fmt.Sprint("c-", i), second)
			held[string(a.Spec.Address)], held[b.Spec.Address] = true, true
			claims = append(claims, c, d)
		}
		byHand := &m3v1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "by-hand"},
			Spec: m3v1.IPAddressSpec{
				Claim: m3v1.ObjectReference{Name: "to-come"}, Pool: m3v1.ObjectReference{Name: "p"}, Address: "10.0.0.251", Prefix: 16,
			},
		}
		Expect(k.Create(ctx, byHand)).To(Succeed())
		held["10.0.0.251"] = true
		Expect(k.Create(ctx, p)).To(Succeed())

		for i := range 5 {
			Expect(held).NotTo(HaveKey(string(answer(ctx, claimOf(ns, fmt.Sprint("new-", i))).Spec.Address)))
			c := addressClaim(ns, fmt.Sprint("new-", i))
			Expect(k.Create(ctx, c)).To(Succeed())
			Expect(held).NotTo(HaveKey(told(ctx, c).Spec.Address))
		}
		Expect(answer(ctx, claimOf(ns, "to-come")).Name).To(Equal("by-hand"))
		Eventually(func() int { return len(records(ctx, ns)) }, "2m").Should(Equal(2*takenOver + 11))

		for i := range takenOver {
			Expect(string(answered(ctx, claimOf(ns, fmt.Sprint("m-", i))).Spec.Address)).To(Equal(fmt.Sprintf("10.0.0.%d", i+1)))
			Expect(told(ctx, addressClaim(ns, fmt.Sprint("c-", i))).Spec.Address).To(Equal(fmt.Sprintf("10.0.1.%d", i+1)))
		}
		for _, c := range claims {
			Expect(k.Delete(ctx, c)).To(Succeed())
		}
		Eventually(func() int { return len(records(ctx, ns)) }, "3m").Should(Equal(11))
		Expect(addresses(ctx, ns)).To(HaveLen(6))
		list := &ipamv1beta2.IPAddressList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		Expect(list.Items).To(HaveLen(5))
	})

	It("is found by its claim where that has lost its status, as in a move", func(ctx SpecContext) {
		c, a := upstream(ctx, "m", "10.0.0.77")
		d, b := upstreamCAPI(ctx, "c", "10.0.0.78")
		setStatus(ctx, c, `null`)
		setStatus(ctx, d, `null`)
		Expect(k.Create(ctx, p)).To(Succeed())
		Expect(answered(ctx, c).Name).To(Equal(a.Name))
		Expect(told(ctx, d).Name).To(Equal(b.Name))
	})

	It("is chosen by nobody where several came to one claim that does not say which it had", func(ctx SpecContext) {
		c, a := upstream(ctx, "m", "10.0.0.77")
		second := a.DeepCopy()
		second.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "net-10-0-0-78", Finalizers: a.Finalizers, OwnerReferences: a.OwnerReferences}
		second.Spec.Address = "10.0.0.78"
		Expect(k.Create(ctx, second)).To(Succeed())
		setStatus(ctx, c, `null`)
		Expect(k.Create(ctx, p)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.ErrorMessage).To(HaveValue(ContainSubstring("net-10-0-0-77 net-10-0-0-78")))
		}, patience).Should(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.77/32", "10.0.0.78/32"))
		Expect(k.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"look":"again"}}}`)))).To(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Address).To(BeNil(), "also when all are recorded")
		}, "3s").Should(Succeed())
		Expect(k.Patch(ctx, second, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Expect(k.Delete(ctx, second)).To(Succeed())
		Expect(answered(ctx, c).Name).To(Equal(a.Name))
	})

	It("is its claim's, although the claim has another UID since a restore", func(ctx SpecContext) {
		Expect(k.Create(ctx, p)).To(Succeed())
		gone := claimOf(ns, "c")
		gone.UID = "an-earlier-life"
		a := &m3v1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "net-10-0-0-77", Finalizers: []string{m3v1.IPAddressFinalizer},
				OwnerReferences: owners(gone, m3v1.GroupVersion.String(), m3v1.IPClaimKind),
			},
			Spec: m3v1.IPAddressSpec{
				Claim: m3v1.ObjectReference{Name: "c", Namespace: ns}, Pool: m3v1.ObjectReference{Name: "p", Namespace: ns}, Address: "10.0.0.77",
			},
		}
		Expect(k.Create(ctx, a)).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.77/32"))
		Expect(answer(ctx, claimOf(ns, "c")).Name).To(Equal(a.Name))
	})

	It("stays, with its address, where it comes when its claim has another one already", func(ctx SpecContext) {
		Expect(k.Create(ctx, p)).To(Succeed())
		c := claimOf(ns, "c")
		own := answer(ctx, c)
		late := own.DeepCopy()
		late.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "net-10-0-0-77", Finalizers: own.Finalizers, OwnerReferences: own.OwnerReferences}
		late.Spec.Address = "10.0.0.77"
		Expect(k.Create(ctx, late)).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.2/32", "10.0.0.77/32"))
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(late), late)).To(Succeed())
			g.Expect(late.DeletionTimestamp).To(BeNil())
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Address.Name).To(Equal(own.Name))
		}, "3s").Should(Succeed())
	})

	It("is made anew where a user has removed it under its claim", func(ctx SpecContext) {
		Expect(k.Create(ctx, p)).To(Succeed())
		c := claimOf(ns, "c")
		a := answer(ctx, c)
		uid := a.UID
		Expect(k.Delete(ctx, a)).To(Succeed()) // first: the finalizer of what is not being deleted would come back
		byForce := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Expect(client.IgnoreNotFound(k.Patch(ctx, a, byForce))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
			g.Expect(a.UID).NotTo(Equal(uid))
		}, patience).Should(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		Expect(c.Status.Address.Name).To(Equal(a.Name))
	})
})

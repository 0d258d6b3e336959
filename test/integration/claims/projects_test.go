// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// label sets labels of a namespace; "" takes one away.
func label(ctx context.Context, namespace, key, value string) {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	change(ctx, ns, func() {
		delete(ns.Labels, key)
		if value != "" {
			metav1.SetMetaDataLabel(&ns.ObjectMeta, key, value)
		}
	})
}

// namespaceOf makes a namespace of a project.
func namespaceOf(ctx context.Context, project string) string {
	GinkgoHelper()
	namespace := newNamespace(ctx)
	label(ctx, namespace, ipamv1.ProjectLabel, project)
	return namespace
}

// bluePool is a GlobalIPPool of project blue, with an address space of its own name.
func bluePool(name string, spec ipamv1.IPPoolSpec) *ipamv1.GlobalIPPool {
	spec.AddressSpace = name
	return &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ipamv1.ProjectLabel: "blue"}}, Spec: spec}
}

// hidden is what a claim is told of a GlobalIPPool that there is not, or that is not visible to it.
func hidden(pool, namespace string) string {
	return fmt.Sprintf("spec.poolRef.name: there is no GlobalIPPool %q, or it is not visible to namespace %s", pool, namespace)
}

// refused waits until claims of a namespace are refused by a GlobalIPPool that was visible to it: a moment ago it still was.
func refused(ctx context.Context, namespace, pool string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		probe := newClaim(namespace, "", "GlobalIPPool", pool)
		probe.GenerateName = "probe-"
		g.Expect(k.Create(ctx, probe)).To(Succeed())
		defer func() { g.Expect(k.Delete(ctx, probe)).To(Succeed()) }()
		g.Eventually(func() (bool, error) {
			err := k.Get(ctx, client.ObjectKeyFromObject(probe), probe)
			return conditions.Has(probe, "Ready"), err
		}, "1m", "100ms").Should(BeTrue())
		g.Expect(conditions.GetReason(probe, "Ready")).To(Equal("PoolNotReady"))
	}, "1m", "100ms").Should(Succeed())
}

// readable is everything of Weir's and Cluster API's that can be read in a namespace, with the events about it.
func readable(ctx context.Context, namespace string) string {
	GinkgoHelper()
	lists := []client.ObjectList{
		&ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &ipamv1.IPPoolList{}, &ipamv1.IPAllocationList{}, &ipamv1.IPClaimList{},
		&eventsv1.EventList{},
	}
	for _, list := range lists {
		Expect(k.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	}
	text, err := json.Marshal(lists)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

var _ = Describe("A GlobalIPPool", func() {
	const blue, green = "blue", "green"
	var pool string

	BeforeEach(func(ctx SpecContext) { pool = "pool-" + newNamespace(ctx) })

	// The matrix of visibility and projects. IPPools are for the claims of their own namespace: see the other specs.
	DescribeTable("answers the claims that it is visible to, and reads as if there were none to all others:",
		func(ctx SpecContext, visibility ipamv1.PoolVisibility, selector *metav1.LabelSelector, admitted ...string) {
			where := map[string]string{
				"own": namespaceOf(ctx, blue), "own, selected": namespaceOf(ctx, blue), "other": namespaceOf(ctx, green),
				"other, selected": namespaceOf(ctx, green), "none": newNamespace(ctx), "platform": namespaceOf(ctx, "platform"), "manager's": "weir-system",
			}
			label(ctx, where["own, selected"], "tier", "gold")
			label(ctx, where["other, selected"], "tier", "gold")
			create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", Visibility: visibility, NamespaceSelector: selector}))
			asking := map[string]*ipamv1beta2.IPAddressClaim{}
			for who, namespace := range where {
				asking[who] = create(ctx, newClaim(namespace, pool, "GlobalIPPool", pool))
			}
			for _, who := range admitted {
				answered(ctx, asking[who])
				delete(asking, who)
			}
			for _, claim := range asking {
				Expect(ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")).To(Equal(hidden(pool, claim.Namespace)))
			}
		},
		Entry("by default", ipamv1.PoolVisibility(""), nil, "own", "own, selected", "other", "other, selected", "none", "platform", "manager's"),
		Entry("Shared", ipamv1.SharedVisibility, nil, "own", "own, selected", "other", "other, selected", "none", "platform", "manager's"),
		Entry("Shared, selected", ipamv1.SharedVisibility, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}, "own, selected", "other, selected"),
		Entry("Consumer", ipamv1.ConsumerVisibility, nil, "own", "own, selected"),
		Entry("Platform", ipamv1.PlatformVisibility, nil, "platform", "manager's"),
	)

	It("that is not visible reads as one that does not exist, and one that is not valid says nothing of its spec", func(ctx SpecContext) {
		namespace := namespaceOf(ctx, green)
		create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", Visibility: ipamv1.ConsumerVisibility}))
		message := map[string]string{}
		for _, name := range []string{pool, "no-" + pool} {
			message[name] = ready(ctx, create(ctx, newClaim(namespace, name, "GlobalIPPool", name)), metav1.ConditionFalse, "PoolNotReady")
		}
		Expect(message).To(Equal(map[string]string{pool: hidden(pool, namespace), "no-" + pool: hidden("no-"+pool, namespace)}))

		create(ctx, bluePool("odd-"+pool, ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", PreAllocations: []ipamv1.PreAllocation{{ClaimName: "secret", Namespace: blue, Address: "10.9.9.9"}},
		}))
		odd := create(ctx, newClaim(namespace, "odd", "GlobalIPPool", "odd-"+pool))
		Expect(ready(ctx, odd, metav1.ConditionFalse, "PoolNotReady")).
			To(Equal(fmt.Sprintf("spec.poolRef.name: GlobalIPPool %q cannot be served; see its Ready condition", "odd-"+pool)))
	})

	It("that is drained answers nobody, and those who have an address keep it", func(ctx SpecContext) {
		p := create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24"}))
		namespace := newNamespace(ctx)
		answered(ctx, create(ctx, newClaim(namespace, "before", "GlobalIPPool", pool)))
		change(ctx, p, func() { p.Spec.Mode = ipamv1.DrainingMode })
		late := create(ctx, newClaim(namespace, "late", "GlobalIPPool", pool))
		Expect(ready(ctx, late, metav1.ConditionFalse, "PoolNotReady")).To(ContainSubstring("is draining"))
		answered(ctx, newClaim(namespace, "before", "GlobalIPPool", pool))
		change(ctx, p, func() { p.Spec.Mode = ipamv1.ServingMode })
		answered(ctx, late)
	})

	It("hands out to nobody what arrives in a namespace that may not use it yet", func(ctx SpecContext) {
		create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/29", Visibility: ipamv1.ConsumerVisibility}))
		later, blues := newNamespace(ctx), namespaceOf(ctx, "blue")
		for name, annotations := range map[string]map[string]string{"arrived": {ipamv1.ArrivedAnnotation: "true"}, "forged": nil} {
			answer := &ipamv1beta2.IPAddress{
				ObjectMeta: metav1.ObjectMeta{Namespace: later, Name: name, Finalizers: []string{ipamv1.AddressFinalizer}, Annotations: annotations},
				Spec: ipamv1beta2.IPAddressSpec{
					ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: newClaim(later, name, "GlobalIPPool", pool).Spec.PoolRef,
					Address: map[string]string{"arrived": "10.1.0.1", "forged": "10.1.0.2"}[name], Prefix: ptr.To(int32(29)),
				},
			}
			create(ctx, answer)
		}
		arrived := create(ctx, newClaim(later, "arrived", "GlobalIPPool", pool))
		Expect(ready(ctx, arrived, metav1.ConditionFalse, "PoolNotReady")).To(Equal(hidden(pool, later)))
		Eventually(func() int { return len(records(ctx, later)) }, "1m", "100ms").Should(Equal(1))
		Expect(answered(ctx, create(ctx, newClaim(blues, "first", "GlobalIPPool", pool))).Spec.Address).To(Equal("10.1.0.2"))

		label(ctx, later, ipamv1.ProjectLabel, "blue")
		Expect(answered(ctx, arrived).Spec.Address).To(Equal("10.1.0.1"))
	})

	It("answers claims that wait as soon as it becomes visible, however that comes, and they keep what they have", func(ctx SpecContext) {
		namespace := namespaceOf(ctx, green)
		p := create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", Visibility: ipamv1.ConsumerVisibility}))
		waiting := func(name string) *ipamv1beta2.IPAddressClaim {
			refused(ctx, namespace, pool) // that it is not visible any more is seen a moment later
			claim := create(ctx, newClaim(namespace, name, "GlobalIPPool", pool))
			ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")
			return claim
		}
		byNamespace := waiting("by-namespace")
		label(ctx, namespace, ipamv1.ProjectLabel, blue)
		address := answered(ctx, byNamespace).Spec.Address
		label(ctx, namespace, ipamv1.ProjectLabel, green)

		byPool := waiting("by-pool")
		change(ctx, p, func() { p.Labels[ipamv1.ProjectLabel] = green })
		answered(ctx, byPool)
		change(ctx, p, func() { p.Labels[ipamv1.ProjectLabel] = blue })

		byVisibility := waiting("by-visibility")
		change(ctx, p, func() { p.Spec.Visibility = ipamv1.SharedVisibility })
		answered(ctx, byVisibility)
		change(ctx, p, func() {
			p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
		})

		bySelector := waiting("by-selector")
		label(ctx, namespace, "tier", "gold")
		answered(ctx, bySelector)
		label(ctx, namespace, "tier", "")

		change(ctx, byNamespace, func() { metav1.SetMetaDataAnnotation(&byNamespace.ObjectMeta, "cluster.x-k8s.io/looked-at", "again") })
		waiting("last")
		Consistently(func(g Gomega) {
			g.Expect(answered(ctx, byNamespace).Spec.Address).To(Equal(address))
		}, "400ms", "100ms").Should(Succeed())
		for _, claim := range []*ipamv1beta2.IPAddressClaim{byNamespace, byPool, byVisibility, bySelector} {
			answered(ctx, claim)
			Expect(k.Delete(ctx, claim)).To(Succeed())
			gone(ctx, claim)
		}
	}, SpecTimeout(5*time.Minute))

	It("is waited for by a claim that comes before its namespace is known, or with it", func(ctx SpecContext) {
		create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", Visibility: ipamv1.ConsumerVisibility}))
		for i := range 10 {
			namespace := fmt.Sprintf("%s-new-%d", pool, i)
			create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{ipamv1.ProjectLabel: blue}}})
			answered(ctx, create(ctx, newClaim(namespace, "c", "GlobalIPPool", pool)))
		}
	})

	It("says how much keeps it, not what: many projects read it", func(ctx SpecContext) {
		p := create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24"}))
		claim := create(ctx, newClaim(namespaceOf(ctx, blue), "c", "GlobalIPPool", pool))
		answered(ctx, claim)
		Expect(k.Delete(ctx, p)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.Status.Conditions).To(ContainElement(And(
				HaveField("Reason", "Deleting"), HaveField("Message", "1 allocation is still in use"))))
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, p)
	})
})

var _ = DescribeTable("An IPPool answers the claims of its own namespace and of no other, whatever its visibility:",
	func(ctx SpecContext, visibility ipamv1.PoolVisibility) {
		own, friends := namespaceOf(ctx, "blue"), namespaceOf(ctx, "blue")
		create(ctx, newPool(own, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: own, Visibility: visibility}))
		answered(ctx, create(ctx, newClaim(own, "c", "IPPool", "p")))
		for _, namespace := range []string{friends, newNamespace(ctx), namespaceOf(ctx, "platform")} {
			message := ready(ctx, create(ctx, newClaim(namespace, "c", "IPPool", "p")), metav1.ConditionFalse, "PoolNotReady")
			Expect(message).To(Equal(`spec.poolRef.name: there is no IPPool "p" in namespace ` + namespace))
		}
	},
	Entry("by default", ipamv1.PoolVisibility("")),
	Entry("Shared", ipamv1.SharedVisibility),
	Entry("Consumer", ipamv1.ConsumerVisibility),
	Entry("Platform", ipamv1.PlatformVisibility),
)

var _ = Describe("What one project reads", func() {
	const secret = "topsecret"
	var pool, mine, friends, theirs string

	BeforeEach(func(ctx SpecContext) {
		mine, friends = namespaceOf(ctx, "blue"), namespaceOf(ctx, "blue")
		theirs = secret + "-" + mine
		create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: theirs, Labels: map[string]string{ipamv1.ProjectLabel: "green"}}})
		pool = "pool-" + mine
	})

	asking := func(ctx context.Context, namespace, name, address string) *ipamv1beta2.IPAddressClaim {
		GinkgoHelper()
		claim := newClaim(namespace, name, "GlobalIPPool", pool)
		if address != "" {
			claim.Annotations = map[string]string{ipamv1.AddressAnnotation: address}
		}
		return create(ctx, claim)
	}
	// silent waits until what is written has reached the events, and expects nothing of the other project in all that can be read.
	silent := func(ctx context.Context, about ...client.Object) {
		GinkgoHelper()
		for _, obj := range about {
			Eventually(func() []string { return eventsAbout(ctx, obj) }, "1m", "100ms").ShouldNot(BeEmpty())
		}
		Expect(readable(ctx, mine)).NotTo(ContainSubstring(secret))
	}

	It("names who holds an address within the project only", func(ctx SpecContext) {
		create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24"}))
		answered(ctx, asking(ctx, theirs, secret, "10.1.0.7"))
		answered(ctx, asking(ctx, friends, "friend", "10.1.0.8"))
		refused := asking(ctx, mine, "a", "10.1.0.7")
		Expect(ready(ctx, refused, metav1.ConditionFalse, "AllocationFailed")).
			To(Equal("metadata.annotations[ipam.weir.dev/address]: 10.1.0.7 is in use"))
		Expect(ready(ctx, asking(ctx, mine, "b", "10.1.0.8"), metav1.ConditionFalse, "AllocationFailed")).
			To(HaveSuffix("10.1.0.8 is in use by IPAddressClaim " + friends + "/friend"))
		silent(ctx, refused)
	})

	It("names whom an address is kept for within the project only", func(ctx SpecContext) {
		p := bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", PreAllocations: []ipamv1.PreAllocation{
			{ClaimName: secret, Namespace: theirs, Address: "10.1.0.7"}, {ClaimName: "friend", Namespace: friends, Address: "10.1.0.8"},
			{ClaimName: "own", Namespace: mine, Address: "10.1.0.9"},
		}})
		create(ctx, p)
		refused := asking(ctx, mine, "a", "10.1.0.7")
		Expect(ready(ctx, refused, metav1.ConditionFalse, "AllocationFailed")).To(HaveSuffix("10.1.0.7/32: is kept for another claim"))
		Expect(ready(ctx, asking(ctx, mine, "b", "10.1.0.8"), metav1.ConditionFalse, "AllocationFailed")).
			To(HaveSuffix("is kept for another claim: 10.1.0.8 is kept for IPAddressClaim " + friends + "/friend"))
		change(ctx, p, func() { p.Spec.PreAllocations = p.Spec.PreAllocations[:2] })
		answered(ctx, asking(ctx, theirs, secret+"-holder", "10.1.0.9"))
		change(ctx, p, func() {
			p.Spec.PreAllocations = append(p.Spec.PreAllocations, ipamv1.PreAllocation{ClaimName: "own", Namespace: mine, Address: "10.1.0.9"})
		})
		late := asking(ctx, mine, "own", "")
		Expect(ready(ctx, late, metav1.ConditionFalse, "AllocationFailed")).
			To(Equal("the pool keeps 10.1.0.9/32 for the claim: 10.1.0.9 is in use"))
		silent(ctx, refused, late)
	})

	It("does not say who else has the address that a claim arrived with, or asked for by an IPAddress", func(ctx SpecContext) {
		create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24"}))
		answered(ctx, asking(ctx, theirs, secret, "10.1.0.7"))
		for name, finalizers := range map[string][]string{"arrived": {ipamv1.AddressFinalizer}, "by-hand": nil} {
			create(ctx, &ipamv1beta2.IPAddress{
				ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: name, Finalizers: finalizers},
				Spec: ipamv1beta2.IPAddressSpec{
					ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: newClaim(mine, name, "GlobalIPPool", pool).Spec.PoolRef,
					Address: "10.1.0.7", Prefix: ptr.To(int32(24)),
				},
			})
		}
		arrived, byHand := asking(ctx, mine, "arrived", ""), asking(ctx, mine, "by-hand", "")
		Expect(ready(ctx, arrived, metav1.ConditionFalse, "AddressConflict")).To(Equal("IPAddress arrived: 10.1.0.7 is in use"))
		Expect(ready(ctx, byHand, metav1.ConditionFalse, "AllocationFailed")).To(Equal("recording IPAddress by-hand: 10.1.0.7 is in use"))
		silent(ctx, arrived, byHand)
	})

	It("does not say who holds what an IPClaim asks for", func(ctx SpecContext) {
		create(ctx, bluePool(pool, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24"}))
		answered(ctx, asking(ctx, theirs, secret, "10.1.0.7"))
		own := newIPClaim(mine, "own", "GlobalIPPool", pool)
		own.Spec.CIDR = "10.1.0.7/32" // no webhook refuses it here
		create(ctx, own)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
			g.Expect(conditions.IsFalse(own, ipamv1.ReadyCondition)).To(BeTrue())
			g.Expect(conditions.GetMessage(own, ipamv1.ReadyCondition)).To(Equal("spec.cidr: conflicts with another allocation; neither is renumbered"))
		}, "1m", "100ms").Should(Succeed())
		silent(ctx, own)
	})

	It("does not say whose pool a pool overlaps, nor where", func(ctx SpecContext) {
		held := create(ctx, newPool(theirs, secret, ipamv1.IPPoolSpec{CIDR: "10.1.7.0/24", AddressSpace: pool}))
		poolReady(ctx, held, metav1.ConditionTrue, "Available")
		own := create(ctx, newPool(friends, "own", ipamv1.IPPoolSpec{CIDR: "10.2.7.0/24", AddressSpace: pool}))
		poolReady(ctx, own, metav1.ConditionTrue, "Available")
		loser := create(ctx, newPool(mine, "loser", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/16", AddressSpace: pool}))
		Expect(poolReady(ctx, loser, metav1.ConditionFalse, "Overlap")).To(Equal("10.1.0.0/16 is in use, or part of it"))
		second := create(ctx, newPool(mine, "second", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/16", AddressSpace: pool}))
		Expect(poolReady(ctx, second, metav1.ConditionFalse, "Overlap")).
			To(Equal("10.2.0.0/16 is in use, or part of it: 10.2.7.0/24 is in use by IPPool " + friends + "/own"))
		silent(ctx, loser)
		Expect(readable(ctx, mine)).NotTo(ContainSubstring("10.1.7.0"))
	})
})

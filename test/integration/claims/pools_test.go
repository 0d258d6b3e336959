// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// poolReady waits until the pool's Ready condition has this status and reason, and returns its message.
func poolReady(ctx context.Context, pool *ipamv1.IPPool, status metav1.ConditionStatus, reason string) string {
	GinkgoHelper()
	var message string
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		c := conditions.Get(pool, ipamv1.ReadyCondition)
		g.Expect(c).NotTo(BeNil())
		g.Expect(string(c.Status)+"/"+c.Reason).To(Equal(string(status)+"/"+reason), c.Message)
		message = c.Message
	}, "1m", "50ms").Should(Succeed())
	return message
}

// blocks returns the prefixes that a pool's own records hold, in the order of their names.
func blocks(ctx context.Context, ns, pool string) []string {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	var found []string
	for _, a := range list.Items {
		if a.Spec.Purpose == ipamv1.RootPurpose && a.Spec.PoolRef.Name == pool {
			found = append(found, a.Spec.CIDR)
		}
	}
	return found
}

// eventsAbout returns the reasons of the events about an object.
func eventsAbout(ctx context.Context, obj client.Object) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(k.List(ctx, list, client.InNamespace(obj.GetNamespace()))).To(Succeed())
	var reasons []string
	for _, e := range list.Items {
		if e.Regarding.UID == obj.GetUID() {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

var _ = Describe("A pool", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("shows its capacity, each address counted once", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/28", AddressSpace: ns, Network: &ipamv1.Network{Gateway: "10.1.0.1"},
			ExcludedAddresses: []ipamv1.AddressEntry{"10.1.0.1", "10.1.0.4-10.1.0.5"},
		}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Expect(pool.Status.Capacity).To(Equal(ipamv1.Capacity{
			Total: "16", Excluded: "5", Allocated: "0", Available: "11", Cooling: "0", Delegated: "0",
		}))
		answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p")))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.Capacity.Available).To(Equal("10"))
			g.Expect(pool.Status.Capacity.Allocated).To(Equal("1"))
			g.Expect(pool.Status.Claims).To(HaveValue(Equal(int32(1))))
			g.Expect(pool.Status.UtilizationPercent).To(HaveValue(Equal(int32(37))))
			g.Expect(pool.Status.LargestFreePrefixLength).To(HaveValue(Equal(int32(29))))
		}, "1m", "100ms").Should(Succeed())
		Expect(pool.Status.ObservedGeneration).To(Equal(pool.Generation))
		Expect(conditions.IsFalse(pool, ipamv1.PausedCondition)).To(BeTrue())
	})

	It("and the other kinds are named and labelled as Cluster API's contract wants", func(ctx SpecContext) {
		crds := &metav1.PartialObjectMetadataList{}
		crds.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
		Expect(k.List(ctx, crds)).To(Succeed())
		names := map[string]bool{}
		for _, crd := range crds.Items {
			names[crd.Name] = true
		}
		for _, kind := range []string{"IPPool", "GlobalIPPool", "IPClaim", "IPAllocation"} {
			Expect(names).To(HaveKey(contract.CalculateCRDName(ipamv1.GroupVersion.Group, kind)))
		}
	})

	It("of IPv6 counts exactly", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "2001:db8::/32", AddressSpace: ns}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Expect(pool.Status.Capacity.Total).To(Equal("79228162514264337593543950336"))
		Expect(pool.Status.Capacity.Available).To(Equal("79228162514264337593543950335"))
	})

	It("that overlaps another one of its address space serves nothing until that one is gone", func(ctx SpecContext) {
		first := create(ctx, newPool(ns, "first", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/16", AddressSpace: ns}))
		poolReady(ctx, first, metav1.ConditionTrue, "Available")
		second := create(ctx, newPool(ns, "second", ipamv1.IPPoolSpec{
			Addresses: []ipamv1.AddressEntry{"10.1.5.0-10.1.5.7"}, AddressSpace: ns,
		}))
		Expect(poolReady(ctx, second, metav1.ConditionFalse, "Overlap")).To(ContainSubstring("IPPool " + ns + "/first"))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "second"))
		ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")
		other := create(ctx, newPool(ns, "other-space", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/16", AddressSpace: ns + "-b"}))
		poolReady(ctx, other, metav1.ConditionTrue, "Available")
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		poolReady(ctx, second, metav1.ConditionTrue, "Available")
		Expect(answered(ctx, claim).Spec.Address).To(Equal("10.1.5.0"))
	})

	It("that died without Weir leaves its space to others once nothing of it is in use", func(ctx SpecContext) {
		first := create(ctx, newPool(ns, "first", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "first"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, first)).To(Succeed())
		Expect(client.IgnoreNotFound(k.Patch(ctx, first, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
		second := create(ctx, newPool(ns, "second", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		Expect(poolReady(ctx, second, metav1.ConditionFalse, "Overlap")).To(ContainSubstring("IPPool " + ns + "/first"))
		Consistently(func() []string { return blocks(ctx, ns, "first") }, "4s", "200ms").Should(HaveLen(1))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		poolReady(ctx, second, metav1.ConditionTrue, "Available")
		Expect(blocks(ctx, ns, "first")).To(BeEmpty())
	})

	It("that was recorded although it is gone does not keep its space", func(ctx SpecContext) {
		first := create(ctx, newPool(ns, "first", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		poolReady(ctx, first, metav1.ConditionTrue, "Available")
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		late := list.Items[0]
		late.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "late", Finalizers: []string{ipamv1.AllocationFinalizer}, OwnerReferences: late.OwnerReferences}
		late.Spec.Holder.CreatedRevision = "" // as a manager makes it; one that came with it would be restored
		create(ctx, &late)
		gone(ctx, &late)
	})

	It("grows and shrinks, and its blocks with it", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			Addresses: []ipamv1.AddressEntry{"10.1.0.0-10.1.0.1"}, AddressSpace: ns,
		}))
		answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p")))
		answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p")))
		waiting := create(ctx, newClaim(ns, "c", "IPPool", "p"))
		ready(ctx, waiting, metav1.ConditionFalse, "PoolExhausted")
		Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		change(ctx, pool, func() { pool.Spec.Addresses = []ipamv1.AddressEntry{"10.1.0.0-10.1.0.3"} })
		Expect(answered(ctx, waiting).Spec.Address).To(Equal("10.1.0.2"))
		Eventually(func() []string { return blocks(ctx, ns, "p") }, "1m", "50ms").Should(ConsistOf("10.1.0.0/30"))
		change(ctx, pool, func() { pool.Spec.Addresses = []ipamv1.AddressEntry{"10.1.0.0-10.1.0.2"} })
		Eventually(func() []string { return blocks(ctx, ns, "p") }, "1m", "50ms").Should(ConsistOf("10.1.0.0/31", "10.1.0.2/32"))
	})

	It("is kept while something is allocated from it, and says what", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, pool)).To(Succeed())
		Expect(poolReady(ctx, pool, metav1.ConditionFalse, "Deleting")).To(ContainSubstring("10.1.0.1/32 (IPAddressClaim " + ns + "/a)"))
		late := create(ctx, newClaim(ns, "late", "IPPool", "p"))
		Expect(ready(ctx, late, metav1.ConditionFalse, "PoolNotReady")).To(ContainSubstring("being deleted"))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
		gone(ctx, pool)
		Expect(blocks(ctx, ns, "p")).To(BeEmpty())
	})

	It("of a Cluster that is gone, or paused by its annotation, answers those that waited when that is over", func(ctx SpecContext) {
		cluster := create(ctx, newCluster(ns, false))
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, ClusterName: "c"}))
		Eventually(komega.Object(pool), "1m", "50ms").Should(HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", ipamv1.ReadyCondition), HaveField("Status", metav1.ConditionTrue)))))
		for name, held := range map[string]struct{ begin, end func() }{
			"annotated": {
				func() {
					change(ctx, cluster, func() { metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, clusterv1.PausedAnnotation, "") })
				},
				func() { change(ctx, cluster, func() { delete(cluster.Annotations, clusterv1.PausedAnnotation) }) },
			},
			"gone": {
				func() { Expect(k.Delete(ctx, cluster)).To(Succeed()) },
				func() { cluster = create(ctx, newCluster(ns, false)) },
			},
		} {
			held.begin()
			var claim *ipamv1beta2.IPAddressClaim                                 // it belongs to no Cluster
			for n := 0; claim == nil || claim.Status.AddressRef.Name != ""; n++ { // until the manager knows
				claim = create(ctx, newClaim(ns, fmt.Sprintf("%s-%d", name, n), "IPPool", "p"))
				time.Sleep(300 * time.Millisecond)
				Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			}
			held.end()
			answered(ctx, claim)
		}
	})

	It("of a Cluster carries its label and pauses with it", func(ctx SpecContext) {
		cluster := create(ctx, newCluster(ns, true))
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, ClusterName: "c"}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(conditions.IsTrue(pool, ipamv1.PausedCondition)).To(BeTrue())
		}, "1m", "50ms").Should(Succeed())
		Expect(conditions.Has(pool, ipamv1.ReadyCondition)).To(BeFalse())
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Eventually(komega.Object(pool), "1m", "50ms").Should(HaveField("Labels", HaveKeyWithValue(clusterv1.ClusterNameLabel, "c")))
		answered(ctx, claim)
	})

	It("that is paused answers nothing until it is not", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		change(ctx, pool, func() { pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(conditions.IsTrue(pool, ipamv1.PausedCondition)).To(BeTrue())
		}, "1m", "50ms").Should(Succeed())
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.Conditions).To(BeEmpty())
		}, "400ms", "50ms").Should(Succeed())
		change(ctx, pool, func() { delete(pool.Annotations, clusterv1.PausedAnnotation) })
		answered(ctx, claim)
	})

	It("tells of refusals and recoveries in events, and of an ordinary success in none", func(ctx SpecContext) {
		poolReady(ctx, create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/31", AddressSpace: ns})), metav1.ConditionTrue, "Available")
		plain := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, plain)
		answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p")))
		waiting := create(ctx, newClaim(ns, "c", "IPPool", "p"))
		ready(ctx, waiting, metav1.ConditionFalse, "PoolExhausted")
		Expect(k.Delete(ctx, plain)).To(Succeed())
		answered(ctx, waiting)
		Eventually(func() []string { return eventsAbout(ctx, waiting) }, "1m", "100ms").
			Should(ConsistOf("AllocationRefused", "AddressAllocated"))
		Expect(eventsAbout(ctx, plain)).To(BeEmpty())
	})

	It("tells of its own states in events", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/30", AddressSpace: ns}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		change(ctx, pool, func() { pool.Spec.Mode = ipamv1.DrainingMode })
		poolReady(ctx, pool, metav1.ConditionFalse, "Draining")
		change(ctx, pool, func() { pool.Spec.Mode = ipamv1.ServingMode })
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Eventually(func() []string { return eventsAbout(ctx, pool) }, "1m", "100ms").Should(ContainElements("Draining", "Available"))
	})

	It("answers many claims at once, each with an address of its own", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		seen := map[string]string{}
		for i := range 60 {
			create(ctx, newClaim(ns, fmt.Sprint("c", i), "IPPool", "p"))
		}
		for i := range 60 {
			name := fmt.Sprint("c", i)
			address := answered(ctx, newClaim(ns, name, "IPPool", "p")).Spec.Address
			Expect(seen).NotTo(HaveKey(address), "claims %s and %s", name, seen[address])
			seen[address] = name
		}
	})
})

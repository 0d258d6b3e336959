// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"slices"
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
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
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
	}, "1m", "100ms").Should(Succeed())
	return message
}

// poolExhausted waits until the pool says that nothing of it is available, and that it is healthy all the same; it returns the message.
func poolExhausted(ctx context.Context, pool *ipamv1.IPPool) string {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		g.Expect(conditions.IsTrue(pool, ipamv1.ExhaustedCondition)).To(BeTrue())
	}, "1m", "100ms").Should(Succeed())
	return conditions.GetMessage(pool, ipamv1.ExhaustedCondition)
}

// blocks returns the prefixes that a pool's own records hold, in the order of their names.
func blocks(ctx context.Context, ns, pool string) []string {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	var found []string
	for _, a := range list.Items {
		if a.Spec.IsRootBlock() && a.Spec.PoolRef.Name == pool && !isOther(&a) {
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

// heldIn says whether exactly this prefix is held for what has moved to another cluster.
func heldIn(ctx context.Context, cidr string) bool {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list)).To(Succeed())
	return slices.ContainsFunc(list.Items, func(a ipamv1.IPAllocation) bool {
		return a.Spec.CIDR == cidr && a.Spec.State == ipamv1.MovedState && a.Spec.ReleasedAt.IsZero()
	})
}

// patchedRecords counts the patches of records.
func patchedRecords(ctx context.Context) float64 {
	GinkgoHelper()
	counts, err := framework.APIRequests(ctx, site.Config())
	Expect(err).NotTo(HaveOccurred())
	return counts[framework.RequestKey{Verb: "PATCH", Code: "200", Group: ipamv1.GroupVersion.Group, Resource: "ipallocations"}]
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

	It("that is at home in another cluster has nothing available here", func(ctx SpecContext) {
		pool := &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: ipamv1.IPPoolSpec{CIDR: "10.1.0.0/28", AddressSpace: ns}}
		create(ctx, pool)
		answered(ctx, create(ctx, newClaim(ns, "a", "GlobalIPPool", ns)))
		home := pool.Annotations[ipamv1.HomeAnnotation]
		for _, at := range []struct{ home, reason, available string }{{"elsewhere", "HomedElsewhere", "0"}, {home, "Available", "13"}} {
			change(ctx, pool, func() { pool.Annotations[ipamv1.HomeAnnotation] = at.home })
			Eventually(func(g Gomega) {
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
				g.Expect(conditions.GetReason(pool, ipamv1.ReadyCondition)).To(Equal(at.reason))
				g.Expect(pool.Status.Capacity).To(Equal(ipamv1.Capacity{
					Total: "16", Excluded: "2", Allocated: "1", Available: at.available, Cooling: "0", Delegated: "0",
				}))
			}, "1m", "100ms").Should(Succeed())
			here := at.home == home
			Expect(pool.Status.UtilizationPercent != nil).To(Equal(here))
			Expect(pool.Status.LargestFreePrefixLength != nil).To(Equal(here))
		}
	})

	It("that is full is healthy, says where its addresses have gone, and when it has some again", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/30", AddressSpace: ns}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Expect(conditions.IsFalse(pool, ipamv1.ExhaustedCondition)).To(BeTrue())
		first := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, first)
		answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p")))
		Expect(poolExhausted(ctx, pool)).To(Equal("no address is available: of 4, 2 are allocated, 0 delegated, 0 cooling and 2 excluded"))
		ready(ctx, create(ctx, newClaim(ns, "c", "IPPool", "p")), metav1.ConditionFalse, "PoolExhausted")
		Expect(k.Delete(ctx, newClaim(ns, "c", "IPPool", "p"))).To(Succeed())
		Expect(k.Delete(ctx, first)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(conditions.IsFalse(pool, ipamv1.ExhaustedCondition)).To(BeTrue())
		}, "1m", "100ms").Should(Succeed())
		Eventually(func() []string { return eventsAbout(ctx, pool) }, "1m", "100ms").Should(ConsistOf("Exhausted", "Available"))
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

	It("that is carved keeps its block while somebody else's finalizer is on it, and says so", func(ctx SpecContext) {
		parent := create(ctx, newPool(ns, "parent", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		poolReady(ctx, parent, metav1.ConditionTrue, "Available")
		child := newPool(ns, "child", ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Name: "parent"}, PrefixLength: ptr.To[int32](28)})
		child.Finalizers = []string{inUse}
		create(ctx, child)
		poolReady(ctx, child, metav1.ConditionTrue, "Available")
		Expect(k.Delete(ctx, child)).To(Succeed())
		Eventually(func() string { return poolReady(ctx, child, metav1.ConditionFalse, "Deleting") }, "1m", "100ms").Should(ContainSubstring(inUse))
		Consistently(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1s", "100ms").Should(HaveLen(1))
		change(ctx, child, func() { child.Finalizers = without(child.Finalizers, inUse) })
		gone(ctx, child)
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").Should(BeEmpty())
	})

	It("does not release the block that an earlier one of its name has taken to another cluster", func(ctx SpecContext) {
		other := newNamespace(ctx)
		create(ctx, newPool(other, "parent", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns, Visibility: ipamv1.SharedVisibility,
			Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](1), MinPrefixLength: ptr.To[int32](28)},
		}))
		child := create(ctx, newPool(ns, "child", ipamv1.IPPoolSpec{
			ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Namespace: other, Name: "parent"}, PrefixLength: ptr.To[int32](28),
		}))
		poolReady(ctx, child, metav1.ConditionTrue, "Available")
		block := records(ctx, ns)[0]
		parent := newPool(other, "parent", ipamv1.IPPoolSpec{})
		change(ctx, parent, func() { parent.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }) // so that nothing is held yet
		Eventually(func() bool {
			return k.Get(ctx, client.ObjectKeyFromObject(parent), parent) == nil && conditions.IsTrue(parent, ipamv1.PausedCondition)
		}, "1m", "100ms").Should(BeTrue())

		By("moving it as clusterctl does")
		for _, obj := range []client.Object{&block, child} {
			change(ctx, obj, func() { obj.SetAnnotations(map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}) })
			Expect(k.Delete(ctx, obj)).To(Succeed())
		}
		change(ctx, child, func() { child.Finalizers = nil })
		gone(ctx, child)

		By("making another pool of the name")
		next := create(ctx, newPool(ns, "child", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/24", AddressSpace: ns}))
		poolReady(ctx, next, metav1.ConditionTrue, "Available")
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(&block), &block)).To(Succeed())
			g.Expect(block.Spec.ReleasedAt.IsZero()).To(BeTrue())
			g.Expect(block.Finalizers).To(ContainElement(ipamv1.AllocationFinalizer))
		}, "2s", "100ms").Should(Succeed())

		By("holding it when the parent is looked after again")
		change(ctx, parent, func() { parent.Annotations = nil })
		gone(ctx, &block)
		Expect(heldIn(ctx, "10.1.0.0/28")).To(BeTrue())
	})

	It("of a paused Cluster is not touched, and has no finalizer", func(ctx SpecContext) {
		owner := create(ctx, newCluster(ns, true))
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, ClusterName: owner.Name}))
		Eventually(func() bool {
			return k.Get(ctx, client.ObjectKeyFromObject(pool), pool) == nil && conditions.IsTrue(pool, ipamv1.PausedCondition)
		}, "1m", "100ms").Should(BeTrue())
		Expect(pool.Finalizers).To(BeEmpty())
	})

	It("that becomes invalid tells no capacity any more", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/28", AddressSpace: ns}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		change(ctx, pool, func() { pool.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"2001:db8::1"} })
		poolReady(ctx, pool, metav1.ConditionFalse, "InvalidSpec")
		Expect(pool.Status.Capacity).To(Equal(ipamv1.Capacity{}))
	})

	It("that waits for room in its parent says so all the time, and rests", func(ctx SpecContext) {
		create(ctx, newPool(ns, "parent", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/28", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](28)},
		}))
		child := func(name string) *ipamv1.IPPool {
			return newPool(ns, name, ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Name: "parent"}, PrefixLength: ptr.To[int32](28)})
		}
		first, second := create(ctx, child("first")), child("second")
		poolReady(ctx, first, metav1.ConditionTrue, "Available")
		create(ctx, second)
		poolReady(ctx, second, metav1.ConditionFalse, "ParentNotReady")
		version := ""
		Eventually(func() bool {
			before := version
			Expect(k.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
			Expect(conditions.GetReason(second, ipamv1.ReadyCondition)).To(Equal("ParentNotReady"))
			version = second.ResourceVersion
			return before == version
		}, "1m", "5s").Should(BeTrue())
		Expect(k.Delete(ctx, first)).To(Succeed())
		poolReady(ctx, second, metav1.ConditionTrue, "Available")
	})

	It("that is full is not asked for ever by what waits for it without a prefix", func(ctx SpecContext) {
		parent := create(ctx, newPool(ns, "p", singleAddress(ns, 0)))
		poolReady(ctx, parent, metav1.ConditionTrue, "Available")
		holder := answered(ctx, create(ctx, newClaim(ns, "holder", "IPPool", "p")))
		own := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "own"}}
		own.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: "IPPool", Name: "p"}
		create(ctx, own)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
			g.Expect(conditions.GetReason(own, ipamv1.ReadyCondition)).To(Equal("PoolExhausted"))
		}, "1m", "100ms").Should(Succeed())
		before := patchedRecords(ctx)
		Consistently(func() float64 { return patchedRecords(ctx) - before }, "3s", "500ms").Should(BeNumerically("<=", 2))
		Expect(k.Delete(ctx, newClaim(ns, "holder", "IPPool", "p"))).To(Succeed())
		Eventually(func() string {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
			return own.Status.AllocatedCIDR
		}, "1m", "100ms").Should(Equal(holder.Spec.Address + "/32"))
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
		Expect(second.Status.Capacity.Available).To(Equal("0"))
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
		list.Items = slices.DeleteFunc(list.Items, func(a ipamv1.IPAllocation) bool { return isOther(&a) })
		Expect(list.Items).To(HaveLen(1))
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		late := list.Items[0]
		late.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "late", Finalizers: []string{ipamv1.AllocationFinalizer}, OwnerReferences: late.OwnerReferences}
		late.Spec.Manager.CreatedRevision = "" // as a manager makes it; one that came with it would be restored
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
		Eventually(func() []string { return blocks(ctx, ns, "p") }, "1m", "100ms").Should(ConsistOf("10.1.0.0/30"))
		change(ctx, pool, func() { pool.Spec.Addresses = []ipamv1.AddressEntry{"10.1.0.0-10.1.0.2"} })
		Eventually(func() []string { return blocks(ctx, ns, "p") }, "1m", "100ms").Should(ConsistOf("10.1.0.0/31", "10.1.0.2/32"))
	})

	It("grows from a cidr to addresses and back, and its blocks, children and claims with it", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/29", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](29)},
		}))
		held := answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p")))
		child := create(ctx, newPool(ns, "child", ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Name: "p"}, PrefixLength: ptr.To[int32](30)}))
		poolReady(ctx, child, metav1.ConditionTrue, "Available")
		block := child.Spec.CIDR
		wide := newPool(ns, "wide", ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Name: "p"}, PrefixLength: ptr.To[int32](29)})
		poolReady(ctx, create(ctx, wide), metav1.ConditionFalse, "ParentNotReady")
		Expect(blocks(ctx, ns, "p")).To(ConsistOf("10.1.0.0/29"))

		By("growing beside another root pool, which has a part of it")
		rival := create(ctx, newPool(ns, "rival", ipamv1.IPPoolSpec{CIDR: "10.2.0.0/30", AddressSpace: ns}))
		poolReady(ctx, rival, metav1.ConditionTrue, "Available")
		change(ctx, pool, func() {
			pool.Spec.CIDR, pool.Spec.Addresses = "", []ipamv1.AddressEntry{"10.1.0.0/29", "10.1.0.8/29", "10.2.0.0/29"}
		})
		poolReady(ctx, pool, metav1.ConditionFalse, "Overlap")
		Expect(blocks(ctx, ns, "p")).To(ContainElement("10.1.0.0/29"), "what is in use stays under a block")
		answered(ctx, create(ctx, newClaim(ns, "below", "IPPool", "child")))
		Expect(k.Delete(ctx, rival)).To(Succeed())
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Eventually(func() []string { return blocks(ctx, ns, "p") }, "1m", "100ms").Should(ConsistOf("10.1.0.0/28", "10.2.0.0/29"))
		poolReady(ctx, wide, metav1.ConditionTrue, "Available")

		By("being one block again")
		Expect(k.Delete(ctx, wide)).To(Succeed())
		gone(ctx, wide)
		change(ctx, pool, func() { pool.Spec.CIDR, pool.Spec.Addresses = "10.1.0.0/27", nil })
		Eventually(func() []string { return blocks(ctx, ns, "p") }, "1m", "100ms").Should(ConsistOf("10.1.0.0/27"))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Expect(answered(ctx, newClaim(ns, "a", "IPPool", "p")).UID).To(Equal(held.UID))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		Expect(child.Spec.CIDR).To(Equal(block))
		poolReady(ctx, child, metav1.ConditionTrue, "Available")
	}, SpecTimeout(5*time.Minute))

	It("is kept while something is allocated from it, and says what", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, pool)).To(Succeed())
		Expect(poolReady(ctx, pool, metav1.ConditionFalse, "Deleting")).To(ContainSubstring("10.1.0.1/32 (IPAddressClaim " + ns + "/a)"))
		Expect(pool.Status.Capacity.Available).To(Equal("0"))
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
		Eventually(komega.Object(pool), "1m", "100ms").Should(HaveField("Status.Conditions", ContainElement(And(
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
		}, "1m", "100ms").Should(Succeed())
		Expect(poolReady(ctx, pool, metav1.ConditionFalse, "Paused")).To(Equal(`Cluster "c" has spec.paused`))
		Expect(saysPaused(ctx, claim)).To(Equal(`IPPool "p" is paused, by itself or with its Cluster`))
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		Expect(conditions.IsFalse(pool, ipamv1.PausedCondition)).To(BeTrue())
		Eventually(komega.Object(pool), "1m", "100ms").Should(HaveField("Labels", HaveKeyWithValue(clusterv1.ClusterNameLabel, "c")))
		answered(ctx, claim)
		Expect(conditions.IsFalse(claim, ipamv1.PausedCondition)).To(BeTrue())
	})

	It("of a Cluster that does not exist says just that, and serves once it does", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, ClusterName: "c"}))
		Expect(poolReady(ctx, pool, metav1.ConditionFalse, "ClusterNotFound")).To(HavePrefix(`spec.clusterName: there is no Cluster "c" in namespace ` + ns))
		Expect(conditions.IsFalse(pool, ipamv1.PausedCondition)).To(BeTrue())
		Eventually(func() []string { return eventsAbout(ctx, pool) }, "1m", "100ms").Should(ContainElement("ClusterNotFound"))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		Expect(ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")).To(And(ContainSubstring("Cluster, which does not exist"), Not(ContainSubstring("paused"))))
		Expect(conditions.Has(claim, ipamv1.PausedCondition)).To(BeFalse())
		Expect(pool.Finalizers).To(BeEmpty())
		create(ctx, newCluster(ns, false))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		answered(ctx, claim)
	})

	It("that is paused answers nothing until it is not", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		earlier := create(ctx, newClaim(ns, "earlier", "IPPool", "p"))
		answered(ctx, earlier)
		change(ctx, pool, func() { pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		Expect(saysPaused(ctx, pool)).To(Equal("the IPPool has the annotation " + clusterv1.PausedAnnotation))
		Expect(poolReady(ctx, pool, metav1.ConditionFalse, "Paused")).To(Equal(conditions.GetMessage(pool, ipamv1.PausedCondition)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		Expect(ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")).To(ContainSubstring("is paused"))
		Expect(saysPaused(ctx, claim)).To(ContainSubstring(`IPPool "p" is paused`))
		change(ctx, earlier, func() { earlier.Labels = map[string]string{"looked": "at"} })
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.AddressRef.Name).To(BeEmpty())
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(earlier), earlier)).To(Succeed())
			g.Expect(conditions.IsTrue(earlier, ipamv1beta2.IPAddressClaimReadyCondition)).To(BeTrue(), "it waits for nothing")
		}, "400ms", "100ms").Should(Succeed())
		change(ctx, pool, func() { delete(pool.Annotations, clusterv1.PausedAnnotation) })
		answered(ctx, claim)
		Expect(conditions.IsFalse(claim, ipamv1.PausedCondition)).To(BeTrue())
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
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
			Should(ConsistOf("PoolExhausted", "AddressAllocated"))
		Expect(eventsAbout(ctx, plain)).To(BeEmpty())
	})

	It("tells in events of no refusal of a claim that was applied together with it, but of one that has to wait", func(ctx SpecContext) {
		lost := create(ctx, newClaim(ns, "lost", "IPPool", "nowhere"))
		tries := 0
		var together *ipamv1beta2.IPAddressClaim
		Eventually(func() time.Duration { // where this machine is slow, the claim has to wait indeed
			tries++
			name := fmt.Sprint("p", tries)
			together = create(ctx, newClaim(ns, name, "IPPool", name))
			ready(ctx, together, metav1.ConditionFalse, "PoolNotReady")
			create(ctx, newPool(ns, name, ipamv1.IPPoolSpec{CIDR: "10.1.0.0/28", AddressSpace: ns + name}))
			answered(ctx, together)
			return time.Since(together.CreationTimestamp.Time)
		}, "2m", "100ms").Should(BeNumerically("<", 4*time.Second))
		Eventually(func() []string { return eventsAbout(ctx, lost) }, "1m", "100ms").Should(ConsistOf("PoolNotReady"))
		Expect(eventsAbout(ctx, together)).To(BeEmpty())

		By("refusing it for another reason")
		spec := singleAddress(ns+"nowhere", 0)
		spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "another", Address: "10.1.0.7"}}
		create(ctx, newPool(ns, "nowhere", spec))
		Eventually(func() []string { return eventsAbout(ctx, lost) }, "1m", "100ms").Should(ContainElements("PoolNotReady", "PoolExhausted"))
	}, SpecTimeout(5*time.Minute))

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

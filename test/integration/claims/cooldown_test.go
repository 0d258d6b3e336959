// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// hour is a cooldown that no spec waits for.
const hour = int32(3600)

// singleAddress is a pool of one address with a cooldown.
func singleAddress(ns string, cooldown int32) ipamv1.IPPoolSpec {
	return ipamv1.IPPoolSpec{
		Addresses: []ipamv1.AddressEntry{"10.1.0.7"}, AddressSpace: ns,
		Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To(cooldown)},
	}
}

// cooling waits until the namespace has one record, which cools down, and returns it.
func cooling(ctx context.Context, ns string) *ipamv1.IPAllocation {
	GinkgoHelper()
	var found []ipamv1.IPAllocation
	Eventually(func(g Gomega) {
		found = records(ctx, ns)
		g.Expect(found).To(HaveLen(1))
		g.Expect(found[0].Spec.ReleasedAt.IsZero()).To(BeFalse())
	}, "1m", "100ms").Should(Succeed())
	return &found[0]
}

// coolingBesideManager waits until a record of the claim of that UID cools down in the manager's namespace, and returns it.
func coolingBesideManager(ctx context.Context, uid string) *ipamv1.IPAllocation {
	GinkgoHelper()
	var found *ipamv1.IPAllocation
	Eventually(func(g Gomega) {
		list := &ipamv1.IPAllocationList{}
		g.Expect(k.List(ctx, list, client.InNamespace("weir-system"))).To(Succeed())
		i := slices.IndexFunc(list.Items, func(a ipamv1.IPAllocation) bool { return a.Spec.ClaimRef.UID == uid })
		g.Expect(i).NotTo(Equal(-1))
		found = &list.Items[i]
		g.Expect(found.Spec.State).To(Equal(ipamv1.CoolingState))
	}, "1m", "100ms").Should(Succeed())
	return found
}

var _ = Describe("A released address", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("cools down: nobody gets it, and the claim's deletion does not wait for it", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", singleAddress(ns, hour)))
		first := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answer := answered(ctx, first)
		Expect(records(ctx, ns)).To(ConsistOf(HaveField("Spec.State", ipamv1.ActiveState)))
		suite.Settled(ctx, k, ns)
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		gone(ctx, answer)

		record := cooling(ctx, ns)
		Expect(record.Spec.State).To(Equal(ipamv1.CoolingState))
		Expect(record.OwnerReferences).To(BeEmpty(), "the garbage collector would follow owners")
		Expect(record.Labels).To(HaveKey(clusterctlv1.ClusterctlMoveLabel))
		Expect(record.Finalizers).To(ConsistOf(ipamv1.AllocationFinalizer))

		second := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		ready(ctx, second, metav1.ConditionFalse, "PoolExhausted")
		asking := newClaim(ns, "asking", "IPPool", "p")
		asking.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.1.0.7"}
		create(ctx, asking)
		Expect(ready(ctx, asking, metav1.ConditionFalse, "AllocationFailed")).To(ContainSubstring("10.1.0.7 is in use by IPAddressClaim " + ns + "/a, cooling down since"))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.Capacity.Cooling + " " + pool.Status.Capacity.Available).To(Equal("1 0"))
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Delete(ctx, asking)).To(Succeed())

		change(ctx, pool, func() { pool.Spec.Allocation.CooldownSeconds = nil })
		Expect(answered(ctx, second).Spec.Address).To(Equal("10.1.0.7"))
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").Should(HaveLen(1))
	})

	It("is handed out again once its cooldown is over, not before", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", singleAddress(ns, 2)))
		first := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, first)
		second := create(ctx, newClaim(ns, "b", "IPPool", "p"))
		ready(ctx, second, metav1.ConditionFalse, "PoolExhausted")
		deleted := time.Now()
		Expect(k.Delete(ctx, first)).To(Succeed())
		answered(ctx, second)
		Expect(time.Since(deleted)).To(BeNumerically(">=", 2*time.Second))
	})

	It("keeps cooling when somebody deletes its record or its pool is deleted", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", singleAddress(ns, hour)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		suite.Settled(ctx, k, ns)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		record := cooling(ctx, ns)
		Expect(k.Delete(ctx, record)).To(Succeed())
		Expect(k.Delete(ctx, pool)).To(Succeed())
		Expect(poolReady(ctx, pool, metav1.ConditionFalse, "Deleting")).To(ContainSubstring("10.1.0.7/32 (IPAddressClaim " + ns + "/a, cooling down since "))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())

		change(ctx, pool, func() { pool.Spec.Allocation.CooldownSeconds = ptr.To[int32](0) })
		gone(ctx, pool)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(record), record)).NotTo(Succeed())
	})

	It("of a GlobalIPPool cools beside the manager if its namespace ends, which does not wait for it", func(ctx SpecContext) {
		spec := singleAddress(ns, hour)
		pool := create(ctx, &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: spec})
		ending := newBareNamespace(ctx)
		claim := create(ctx, newClaim(ending, "a", "GlobalIPPool", ns))
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		record := cooling(ctx, ending)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ending}}
		Expect(k.Delete(ctx, namespace)).To(Succeed())
		gone(ctx, namespace)
		moved := coolingBesideManager(ctx, string(claim.UID))
		Expect(moved.Spec.CIDR).To(Equal("10.1.0.7/32"))
		Expect(moved.Spec.ReleasedAt).To(Equal(record.Spec.ReleasedAt), "the cooldown does not begin anew")

		second := create(ctx, newClaim(ns, "b", "GlobalIPPool", ns))
		ready(ctx, second, metav1.ConditionFalse, "PoolExhausted")
		Expect(k.Delete(ctx, moved)).To(Succeed())
		Consistently(func() error { return k.Get(ctx, client.ObjectKeyFromObject(moved), moved) }, "1s", "100ms").Should(Succeed())
		change(ctx, pool, func() { pool.Spec.Allocation.CooldownSeconds = nil })
		Expect(answered(ctx, second).Spec.Address).To(Equal("10.1.0.7"))
		gone(ctx, moved)
	})

	It("is told without its claim's name to a tenant whose namespace is younger", func(ctx SpecContext) {
		create(ctx, &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: singleAddress(ns, hour)})
		tenant := newBareNamespace(ctx)
		claim := create(ctx, newClaim(tenant, "secret-name", "GlobalIPPool", ns))
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		record := cooling(ctx, tenant)
		asking := func(name string) string {
			c := newClaim(tenant, name, "GlobalIPPool", ns)
			c.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.1.0.7"}
			return ready(ctx, create(ctx, c), metav1.ConditionFalse, "AllocationFailed")
		}
		released := func(ago time.Duration) {
			body := fmt.Sprintf(`{"spec":{"releasedAt":%q}}`, time.Now().Add(-ago).UTC().Format(time.RFC3339))
			Expect(k.Patch(ctx, record, client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
		}
		released(-10 * time.Minute)
		Eventually(func() string { return asking(fmt.Sprint("b-", time.Now().UnixNano())) }, "1m", "100ms").Should(ContainSubstring("secret-name"))
		released(10 * time.Minute)
		Eventually(func() string { return asking(fmt.Sprint("c-", time.Now().UnixNano())) }, "1m", "100ms").ShouldNot(ContainSubstring("secret-name"))
	})

	It("cools no longer once its pool is gone", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", singleAddress(ns, hour)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		record := cooling(ctx, ns)
		Expect(k.Delete(ctx, pool)).To(Succeed())
		Expect(k.Patch(ctx, pool, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		gone(ctx, record)
		Eventually(func() []string { return blocks(ctx, ns, "p") }, "1m", "100ms").Should(BeEmpty())
	})

	It("stays while its Cluster is paused", func(ctx SpecContext) {
		cluster := create(ctx, newCluster(ns, false))
		pool := create(ctx, newPool(ns, "p", singleAddress(ns, hour)))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Spec.ClusterName = "c"
		create(ctx, claim)
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		record := cooling(ctx, ns)
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(true) })
		change(ctx, pool, func() { pool.Spec.Allocation.CooldownSeconds = ptr.To[int32](0) })
		Consistently(func() error { return k.Get(ctx, client.ObjectKeyFromObject(record), record) }, "4s", "200ms").Should(Succeed())
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		gone(ctx, record)
	})

	It("is given up with all the others that have cooled down, however many they are", func(ctx SpecContext) {
		const many = 70
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To(hour)},
		}))
		for i := range many {
			create(ctx, newClaim(ns, fmt.Sprintf("c-%d", i), "IPPool", "p"))
		}
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").Should(HaveLen(many))
		Expect(k.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(ns))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.Capacity.Cooling).To(Equal(strconv.Itoa(many)))
		}, "1m", "100ms").Should(Succeed())
		change(ctx, pool, func() { pool.Spec.Allocation.CooldownSeconds = nil })
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").Should(BeEmpty())
	})

	It("that the pool keeps for the claim need not cool: nobody else gets it", func(ctx SpecContext) {
		spec := singleAddress(ns, hour)
		spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "a", Address: "10.1.0.7"}}
		create(ctx, newPool(ns, "p", spec))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
		Expect(answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.7"))
	})

	It("is given up although many others must stay", func(ctx SpecContext) {
		const stay, rest = 70, 4
		cluster := create(ctx, newCluster(ns, false))
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To(hour)},
		}))
		for i := range stay + rest {
			claim := newClaim(ns, fmt.Sprintf("c-%d", i), "IPPool", "p")
			if i < stay {
				claim.Spec.ClusterName = "c"
			}
			create(ctx, claim)
		}
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").Should(HaveLen(stay + rest))
		Expect(k.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(ns))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.Status.Capacity.Cooling).To(Equal(strconv.Itoa(stay + rest)))
		}, "1m", "100ms").Should(Succeed())
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(true) })
		change(ctx, pool, func() { pool.Spec.Allocation.CooldownSeconds = nil })
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "3m", "100ms").Should(HaveLen(stay))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
	})

	It("does not cool for longer than its pool says because a clock was ahead", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", singleAddress(ns, hour)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		record := cooling(ctx, ns)
		Expect(k.Patch(ctx, record, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"releasedAt":"2066-01-01T00:00:00Z"}}`)))).To(Succeed())
		Expect(k.Delete(ctx, pool)).To(Succeed())
		change(ctx, pool, func() { pool.Spec.Allocation.CooldownSeconds = ptr.To[int32](0) })
		gone(ctx, pool)
	})

	It("that the pool begins to keep for its claim need not cool any longer", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", singleAddress(ns, hour)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		cooling(ctx, ns)
		gone(ctx, claim)
		change(ctx, pool, func() { pool.Spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "a", Address: "10.1.0.7"}} })
		Expect(answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.7"))
	})

	It("of a claim that lives is not given up, whoever says that it was released", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", singleAddress(ns, 1)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		record := records(ctx, ns)[0]
		Expect(k.Patch(ctx, &record, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"releasedAt":"2020-01-01T00:00:00Z"}}`)))).To(Succeed())
		manager, _ := lateManager(ctx, claim, 0)
		pool := poolOf(ctx, ns)
		Expect(manager.ledger.Of(pool.PoolReference()).Cooling()).To(HaveLen(1), "its cooldown has long been over")
		_, err := latePool(manager, k).Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)})
		Expect(err).NotTo(HaveOccurred())
		Expect(records(ctx, ns)).To(ConsistOf(And(
			HaveField("UID", record.UID), HaveField("DeletionTimestamp", BeNil()), HaveField("Finalizers", ContainElement(ipamv1.AllocationFinalizer)))))
		other := create(ctx, newClaim(ns, "b", "IPPool", "p"))
		ready(ctx, other, metav1.ConditionFalse, "PoolExhausted")
		Expect(records(ctx, ns)).To(ConsistOf(HaveField("UID", record.UID)), "not one of somebody else's")
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Expect(answered(ctx, other).Spec.Address).To(Equal("10.1.0.7"))
	})

	It("cools by what its pool says while that is paused", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", singleAddress(ns, 0)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		change(ctx, pool, func() {
			pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			pool.Spec.Allocation.CooldownSeconds = ptr.To(hour)
		})
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(conditions.IsTrue(pool, ipamv1.PausedCondition)).To(BeTrue())
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
		cooling(ctx, ns)
	})

	It("of a claim that died without Weir cools down as well", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", singleAddress(ns, hour)))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Expect(client.IgnoreNotFound(k.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
		cooling(ctx, ns)
		second := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		ready(ctx, second, metav1.ConditionFalse, "PoolExhausted")
		cooling(ctx, ns)
	})
})

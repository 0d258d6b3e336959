// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// owning makes the owner and returns the reference to it: the garbage collector runs.
func owning(ctx context.Context, owner client.Object, apiVersion, kind string) metav1.OwnerReference {
	GinkgoHelper()
	Expect(k.Create(ctx, owner)).To(Succeed())
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID()}
}

func configMap(ctx context.Context, ns string) metav1.OwnerReference {
	GinkgoHelper()
	return owning(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cm"}}, "v1", "ConfigMap")
}

func cluster(ctx context.Context, ns string) metav1.OwnerReference {
	GinkgoHelper()
	return owning(ctx, builder.Cluster(ns, "c").Build(), clusterv1.GroupVersion.String(), "Cluster")
}

// pause pauses the Cluster "c", or ends that.
func pause(ctx context.Context, ns string, paused *bool) {
	GinkgoHelper()
	c := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c"}}
	change(ctx, c, func() { c.Spec.Paused = paused })
}

func owned[T client.Object](obj T, owners ...metav1.OwnerReference) T {
	obj.SetOwnerReferences(owners)
	return obj
}

// mover is a pool of either kind.
type mover interface {
	client.Object
	conditions.Getter
}

// expectMovable waits until the pool's Movable condition has this status and message.
func expectMovable(ctx context.Context, pool mover, status metav1.ConditionStatus, message string) {
	GinkgoHelper()
	reason := map[metav1.ConditionStatus]string{metav1.ConditionTrue: "AllMoves", metav1.ConditionFalse: "DependentsNotMoved"}[status]
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		c := conditions.Get(pool, ipamv1.MovableCondition)
		g.Expect(c).NotTo(BeNil())
		g.Expect([]string{string(c.Status), c.Reason, c.Message}).To(Equal([]string{string(status), reason, message}))
	}, "1m", "100ms").Should(Succeed())
}

// expectBlock waits until the pool's annotation block-move has this value; "" stands for none.
func expectBlock(ctx context.Context, pool client.Object, value string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(pool.GetAnnotations()[clusterctlv1.BlockMoveAnnotation]).To(Equal(value))
	}, "1m", "100ms").Should(Succeed())
}

const blocked = "ipam.weir.dev/DependentsNotMoved"

var _ = Describe("A pool's condition Movable", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("names what clusterctl would leave behind and why, and says nothing of the pool's readiness", func(ctx SpecContext) {
		other := newNamespace(ctx)
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, Visibility: ipamv1.SharedVisibility}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		moves, stays := cluster(ctx, ns), configMap(ctx, ns)
		answered(ctx, create(ctx, owned(newClaim(ns, "moves", "IPPool", "p"), moves)))
		create(ctx, newPool(ns, "child", ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Name: "p"}, PrefixLength: ptr.To[int32](32)}))
		expectMovable(ctx, pool, metav1.ConditionTrue, "")

		lonely := create(ctx, newClaim(ns, "lonely", "IPPool", "p"))
		expectMovable(ctx, pool, metav1.ConditionFalse, fmt.Sprintf(
			"clusterctl move would leave 1 behind: IPAddressClaim %s/lonely (it has no owner that moves)", ns))
		create(ctx, owned(newClaim(ns, "both", "IPPool", "p"), moves, stays))
		own := owned(&ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "own"}}, stays)
		own.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: "IPPool", Name: "p"}
		create(ctx, own)
		foreign := create(ctx, newPool(other, "child", ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Namespace: ns, Name: "p"}, PrefixLength: ptr.To[int32](32)}))
		poolReady(ctx, foreign, metav1.ConditionTrue, "Available")
		expectMovable(ctx, pool, metav1.ConditionFalse, fmt.Sprintf("clusterctl move would leave 4 behind: "+
			"IPAddressClaim %[1]s/both (its owner ConfigMap cm is not moved), IPAddressClaim %[1]s/lonely (it has no owner that moves), "+
			"IPClaim %[1]s/own (its owner ConfigMap cm is not moved)", ns)) // what is of another project has no name here
		Expect(conditions.IsTrue(pool, ipamv1.ReadyCondition)).To(BeTrue())

		By("naming no more than five, and what comes first")
		for i := range 4 {
			create(ctx, newClaim(ns, fmt.Sprintf("a-%d", i), "IPPool", "p"))
		}
		const why = " (it has no owner that moves), "
		expectMovable(ctx, pool, metav1.ConditionFalse, fmt.Sprintf("clusterctl move would leave 8 behind: IPAddressClaim %[1]s/a-0%[2]s"+
			"IPAddressClaim %[1]s/a-1%[2]sIPAddressClaim %[1]s/a-2%[2]sIPAddressClaim %[1]s/a-3%[2]s"+
			"IPAddressClaim %[1]s/both (its owner ConfigMap cm is not moved)", ns, why))

		By("and takes back what was mended or is gone")
		for i := range 4 {
			claim := newClaim(ns, fmt.Sprintf("a-%d", i), "IPPool", "p")
			change(ctx, claim, func() { claim.Labels = map[string]string{clusterctlv1.ClusterctlMoveHierarchyLabel: ""} })
		}
		change(ctx, lonely, func() { lonely.OwnerReferences = []metav1.OwnerReference{moves} })
		both := newClaim(ns, "both", "IPPool", "p")
		change(ctx, both, func() { both.OwnerReferences = []metav1.OwnerReference{moves} })
		Expect(k.Delete(ctx, own)).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionFalse, "clusterctl move would leave 1 behind")
		Expect(k.Delete(ctx, foreign)).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
	}, SpecTimeout(5*time.Minute))

	It("names IPAddresses made by hand, whose addresses the pool would hand out again", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		made := create(ctx, &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "jumphost"},
			Spec: ipamv1beta2.IPAddressSpec{
				Address: "10.1.0.9", Prefix: ptr.To(int32(24)), ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "jumphost"},
				PoolRef: ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "p"},
			},
		})
		stays := fmt.Sprintf("clusterctl move would leave 1 behind: IPAddress %s/jumphost (it has no owner that moves)", ns)
		expectMovable(ctx, pool, metav1.ConditionFalse, stays)
		expectBlock(ctx, pool, blocked)
		change(ctx, made, func() { made.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""} })
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		expectBlock(ctx, pool, "")
		change(ctx, made, func() { made.Labels = nil })
		expectMovable(ctx, pool, metav1.ConditionFalse, stays)

		By("and not once a claim has them that moves, for they move with it")
		answered(ctx, create(ctx, owned(newClaim(ns, "jumphost", "IPPool", "p"), cluster(ctx, ns))))
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		expectBlock(ctx, pool, "")
	}, SpecTimeout(5*time.Minute))

	It("is false for a pool that stays itself, and for one of which something is held", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		owner := configMap(ctx, ns)
		change(ctx, pool, func() { pool.OwnerReferences = []metav1.OwnerReference{owner} })
		expectMovable(ctx, pool, metav1.ConditionFalse, fmt.Sprintf(
			"clusterctl move would leave 1 behind: IPPool %s/p (its owner ConfigMap cm is not moved)", ns))
		expectBlock(ctx, pool, blocked)
		change(ctx, pool, func() { pool.OwnerReferences = nil })
		expectMovable(ctx, pool, metav1.ConditionTrue, "")

		hold := &ipamv1.IPAllocation{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hold", Finalizers: []string{ipamv1.AllocationFinalizer}},
			Spec: ipamv1.IPAllocationSpec{
				PoolRef: pool.PoolReference(), AddressSpace: ns, CIDR: "10.1.0.64/26", Purpose: ipamv1.PoolBlockPurpose, State: ipamv1.MovedState,
				ClaimRef: ipamv1.ClaimReference{APIGroup: "ipam.weir.dev", Kind: "IPPool", Namespace: "gone", Name: "child", UID: "d1"},
			},
		}
		Expect(k.Create(ctx, hold)).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionFalse, "clusterctl move would leave 1 behind: 1 holds of what moved before")
		expectBlock(ctx, pool, blocked)
		Expect(k.Delete(ctx, hold)).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		expectBlock(ctx, pool, "")
	}, SpecTimeout(5*time.Minute))

	It("of a GlobalIPPool counts, and names nobody", func(ctx SpecContext) {
		pool := &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}}
		Expect(k.Create(ctx, pool)).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		labelled := newClaim(ns, "labelled", "GlobalIPPool", ns)
		labelled.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""} // its address is not
		create(ctx, labelled)
		create(ctx, newClaim(ns, "lonely", "GlobalIPPool", ns))
		create(ctx, owned(newClaim(ns, "moves", "GlobalIPPool", ns), cluster(ctx, ns)))
		expectMovable(ctx, pool, metav1.ConditionFalse, "clusterctl move would leave 2 behind")
		Expect(pool.Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation)) // it would stop the moves of all namespaces
	}, SpecTimeout(5*time.Minute))
})

var _ = Describe("clusterctl's block-move", func() {
	var ns string
	var pool *ipamv1.IPPool

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		pool = create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		Expect(pool.Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation))
	})

	It("is on an IPPool while something of it would stay", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "lonely", "IPPool", "p"))
		expectBlock(ctx, pool, blocked)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		expectBlock(ctx, pool, "")
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
	}, SpecTimeout(5*time.Minute))

	It("neither comes nor goes while a Cluster of the namespace is paused", func(ctx SpecContext) {
		cluster(ctx, ns)
		pause(ctx, ns, ptr.To(true))
		claim := create(ctx, newClaim(ns, "lonely", "IPPool", "p"))
		expectMovable(ctx, pool, metav1.ConditionFalse, fmt.Sprintf(
			"clusterctl move would leave 1 behind: IPAddressClaim %s/lonely (it has no owner that moves)", ns))
		Expect(pool.Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation))
		pause(ctx, ns, nil)
		expectBlock(ctx, pool, blocked)

		pause(ctx, ns, ptr.To(true))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		Expect(pool.Annotations).To(HaveKeyWithValue(clusterctlv1.BlockMoveAnnotation, blocked))

		By("but stays off when somebody takes it off meanwhile")
		create(ctx, newClaim(ns, "lonely", "IPPool", "p"))
		Expect(k.Patch(ctx, pool, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"clusterctl.cluster.x-k8s.io/block-move":null}}}`)))).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionFalse, fmt.Sprintf(
			"clusterctl move would leave 1 behind: IPAddressClaim %s/lonely (it has no owner that moves)", ns))
		Expect(pool.Annotations).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation))
		pause(ctx, ns, nil)
		expectBlock(ctx, pool, blocked)
	}, SpecTimeout(5*time.Minute))

	It("goes from an IPPool that is being deleted, too, once all would move", func(ctx SpecContext) {
		moves := create(ctx, owned(newClaim(ns, "moves", "IPPool", "p"), cluster(ctx, ns)))
		lonely := create(ctx, newClaim(ns, "lonely", "IPPool", "p"))
		answered(ctx, moves)
		expectBlock(ctx, pool, blocked)
		Expect(k.Delete(ctx, pool)).To(Succeed())
		poolReady(ctx, pool, metav1.ConditionFalse, "Deleting")
		Expect(pool.Annotations).To(HaveKeyWithValue(clusterctlv1.BlockMoveAnnotation, blocked)) // a move would take it as well
		Expect(k.Delete(ctx, lonely)).To(Succeed())
		expectBlock(ctx, pool, "")
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
	}, SpecTimeout(5*time.Minute))

	It("is left alone where it is somebody else's", func(ctx SpecContext) {
		change(ctx, pool, func() { pool.Annotations = map[string]string{clusterctlv1.BlockMoveAnnotation: "theirs"} })
		claim := create(ctx, newClaim(ns, "lonely", "IPPool", "p"))
		expectMovable(ctx, pool, metav1.ConditionFalse, fmt.Sprintf(
			"clusterctl move would leave 1 behind: IPAddressClaim %s/lonely (it has no owner that moves)", ns))
		Expect(pool.Annotations).To(HaveKeyWithValue(clusterctlv1.BlockMoveAnnotation, "theirs"))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		expectMovable(ctx, pool, metav1.ConditionTrue, "")
		Expect(pool.Annotations).To(HaveKeyWithValue(clusterctlv1.BlockMoveAnnotation, "theirs"))
	}, SpecTimeout(5*time.Minute))

	It("is not on an IPPool that may leave something behind", func(ctx SpecContext) {
		create(ctx, newClaim(ns, "lonely", "IPPool", "p"))
		expectBlock(ctx, pool, blocked)
		change(ctx, pool, func() { pool.Annotations[ipamv1.LeaveBehindAnnotation] = "" })
		expectBlock(ctx, pool, "")
		Expect(conditions.IsFalse(pool, ipamv1.MovableCondition)).To(BeTrue())
		change(ctx, pool, func() { delete(pool.Annotations, ipamv1.LeaveBehindAnnotation) })
		expectBlock(ctx, pool, blocked)
	}, SpecTimeout(5*time.Minute))
})

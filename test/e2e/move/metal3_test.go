// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// metal3Moves: a pool of a Cluster moves with its claims and addresses, there and back.
func metal3Moves(ctx SpecContext) {
	t := tenant{name: "metal3-moves"}
	t.found(ctx, left)
	pool := t.metal3Pool("hosts", "192.0.2.10", &t.name)
	pool.Annotations = map[string]string{m3v1.AddressSpaceAnnotation: "metal3-hosts"}
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	number := size.Of(5, 5, 50)
	t.askMetal3(ctx, left, "old", "hosts", number)
	had := t.awaitMetal3(ctx, left, 2*number)

	By("moving")
	move(ctx, left, right, t.name)
	Eventually(func() map[string]string { return metal3Book(ctx, right, t.name) }, "3m", "500ms").Should(Equal(had), func() string {
		return metal3Reasons(ctx, right, t.name)
	})
	t.expectMetal3Gone(ctx, left)
	t.askMetal3(ctx, right, "new", "hosts", 2)
	has := t.awaitMetal3(ctx, right, 2*number+4)
	Expect(changed(had, keep(has, had))).To(BeEmpty())
	check(ctx) // clusterctl stops where a record that it has seen is dropped meanwhile, as what came here under its former UID is

	By("moving back")
	t.provision(ctx, right)
	move(ctx, right, left, t.name)
	Eventually(func() map[string]string { return metal3Book(ctx, left, t.name) }, "3m", "500ms").Should(Equal(has), func() string {
		return metal3Reasons(ctx, left, t.name)
	})
	t.expectMetal3Gone(ctx, right)
	check(ctx)
}

// expectMetal3Gone expects that nothing is left on a side, also not what a manager has recorded while clusterctl deleted: see "Leftovers" in
// docs/design/known-gaps.md.
func (t tenant) expectMetal3Gone(ctx context.Context, s *side) {
	GinkgoHelper()
	Eventually(func() []string { return append(metal3Objects(ctx, s, t.name), remaining(ctx, s, t.name)...) }, "3m", "500ms").Should(BeEmpty())
}

// metal3Stays: a pool without a Cluster stays, and holds what its claims have taken along.
func metal3Stays(ctx SpecContext) {
	t := tenant{name: "metal3-stays"}
	t.found(ctx, left)
	pool := t.metal3Pool("stays", "192.0.2.130", nil)
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	number := size.Of(3, 3, 30)
	t.askMetal3(ctx, left, "old", "stays", number)
	had := t.awaitMetal3(ctx, left, 2*number)
	Eventually(func() string {
		Expect(left.Client().Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		return conditions.GetMessage(pool, ipamv1.MovableCondition)
	}, "1m", "500ms").Should(ContainSubstring("spec.clusterName"))

	By("moving")
	move(ctx, left, right, t.name)
	Eventually(func() []string { return heldOf(ctx, left, "stays") }, "1m", "500ms").Should(ConsistOf(slices.Collect(maps.Values(had))))
	Eventually(func() []string { return metal3Objects(ctx, left, t.name) }, "1m", "500ms").Should(ConsistOf("*v1alpha1.IPPool stays"))
	Expect(left.Client().Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())

	By("replacing the claims that have come, as clusterctl does that is called again")
	for _, list := range []client.ObjectList{&m3v1.IPClaimList{}, &ipamv1beta2.IPAddressClaimList{}} {
		Expect(right.Client().List(ctx, list, client.InNamespace(t.name))).To(Succeed())
		came := suite.Items(list)
		Expect(came).To(HaveLen(number), "%T", list)
		for _, obj := range came {
			suite.Change(ctx, right.Client(), obj, func() { obj.SetAnnotations(nil) })
			Expect(obj.GetAnnotations()).To(HaveKey(ipamv1.ArrivedAnnotation), "%T", obj)
		}
	}

	By("claiming where the pool is")
	t.incorporate(ctx, left)
	t.askMetal3(ctx, left, "new", "stays", 1)
	for _, address := range t.awaitMetal3(ctx, left, 2) {
		Expect(slices.Collect(maps.Values(had))).NotTo(ContainElement(address))
	}
	Expect(metal3Book(ctx, right, t.name)).To(BeEmpty(), "the claims wait for a pool")
	check(ctx)
}

// metal3Carved: a pool that is carved from a GlobalIPPool takes along what it has of that, which is held at home meanwhile.
func metal3Carved(ctx SpecContext) {
	t := tenant{name: "metal3-carved"}
	t.found(ctx, left)
	parent := builder.GlobalIPPool("metal3-parent").WithCIDR("198.18.0.0/16").WithSpace("metal3-carved").WithLengths(16, 32, 24).Build()
	Expect(left.Client().Create(ctx, parent)).To(Succeed())
	pool := t.metal3Pool("carved", "198.18.0.10", &t.name)
	pool.Annotations = map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/metal3-parent"}
	pool.Spec.Pools[0].End = ptr.To[m3v1.Address]("198.18.0.250")
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	number := size.Of(3, 3, 30)
	t.askMetal3(ctx, left, "old", "carved", number)
	t.awaitMetal3(ctx, left, 2*number)
	blocks := blocksOfMetal3(ctx, left, pool)
	Expect(blocks).NotTo(BeEmpty())

	By("restarting")
	Expect(left.manager.Kill()).To(Succeed())
	Expect(left.manager.Restart(ctx)).To(Succeed())
	Expect(left.PointWebhooks(ctx, left.manager.WebhookAddress())).To(Succeed())
	t.askMetal3(ctx, left, "restarted", "carved", 1)
	had := t.awaitMetal3(ctx, left, 2*number+2)
	Expect(blocksOfMetal3(ctx, left, pool)).To(Equal(blocks))
	check(ctx)

	By("moving")
	move(ctx, left, right, t.name)
	Eventually(func() map[string]string { return metal3Book(ctx, right, t.name) }, "3m", "500ms").Should(Equal(had), func() string {
		return metal3Reasons(ctx, right, t.name)
	})
	t.expectMetal3Gone(ctx, left)
	Eventually(func() []string { return heldOf(ctx, left, parent.Name) }, "1m", "500ms").Should(ConsistOf(blocks))
	t.metal3Ready(ctx, right, pool)
	Expect(blocksOfMetal3(ctx, right, pool)).To(Equal(blocks))
	Expect(pool.Annotations).To(HaveKeyWithValue(ipamv1.ArrivedAnnotation, "true"))
	t.askMetal3(ctx, right, "new", "carved", 2)
	has := t.awaitMetal3(ctx, right, 2*number+6)
	Expect(changed(had, keep(has, had))).To(BeEmpty())

	By("asking its parent for what it has")
	taken := builder.IPClaim(t.name, "taken").From(ipamv1.GlobalIPPoolKind, parent.Name).WithCIDR("198.18.0.200/32").Build()
	Expect(left.Client().Create(ctx, taken)).To(suite.Refused(409, "198.18.0.200"))

	By("losing the mark, and asking for more where its parent is not at home")
	suite.Change(ctx, right.Client(), pool, func() { delete(pool.Annotations, ipamv1.ArrivedAnnotation) })
	Expect(pool.Annotations).To(HaveKeyWithValue(ipamv1.ArrivedAnnotation, "true"))
	suite.Change(ctx, right.Client(), pool, func() {
		pool.Spec.Pools = append(pool.Spec.Pools, m3v1.Pool{Start: ptr.To[m3v1.Address]("198.18.9.0"), End: ptr.To[m3v1.Address]("198.18.9.7")})
	})
	Eventually(func(g Gomega) {
		g.Expect(right.Client().Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(conditions.GetMessage(pool, ipamv1.ReadyCondition)).To(And(ContainSubstring(m3v1.ParentAnnotation), ContainSubstring("at home in another cluster")))
	}, "1m", "500ms").Should(Succeed())
	suite.Change(ctx, right.Client(), pool, func() { pool.Spec.Pools = pool.Spec.Pools[:1] })
	t.metal3Ready(ctx, right, pool)
	Expect(blocksOfMetal3(ctx, right, pool)).To(Equal(blocks))
	check(ctx)

	By("moving back")
	t.provision(ctx, right)
	move(ctx, right, left, t.name)
	Eventually(func() map[string]string { return metal3Book(ctx, left, t.name) }, "3m", "500ms").Should(Equal(has), func() string {
		return metal3Reasons(ctx, left, t.name)
	})
	t.expectMetal3Gone(ctx, right)
	t.metal3Ready(ctx, left, pool)
	Eventually(func() []string { return heldOf(ctx, left, parent.Name) }, "1m", "500ms").Should(BeEmpty(), "it has them again")
	Expect(blocksOfMetal3(ctx, left, pool)).To(Equal(blocks))
	check(ctx)
}

// metal3Ready waits until a pool of Metal3's is ready on a side.
func (t tenant) metal3Ready(ctx context.Context, s *side, pool *m3v1.IPPool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(s.Client().Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		ready := conditions.Get(pool, ipamv1.ReadyCondition)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.ObservedGeneration).To(Equal(pool.Generation))
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
	}, "1m", "500ms").Should(Succeed())
}

// blocksOfMetal3 returns the blocks that are recorded for a pool of Metal3's.
func blocksOfMetal3(ctx context.Context, s *side, pool *m3v1.IPPool) []string {
	GinkgoHelper()
	var blocks []string
	for _, record := range records(ctx, s, pool.Namespace) {
		if record.Spec.Purpose == ipamv1.PoolBlockPurpose && record.Spec.ClaimRef.Name == pool.Name {
			blocks = append(blocks, record.Spec.CIDR)
		}
	}
	slices.Sort(blocks)
	return blocks
}

// metal3Pool is a pool of Metal3's from an address on, of a Cluster or none.
func (t tenant) metal3Pool(name, start string, cluster *string) *m3v1.IPPool {
	return &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name}, Spec: m3v1.IPPoolSpec{
		ClusterName: cluster, NamePrefix: name, Prefix: 24,
		Pools: []m3v1.Pool{{Start: ptr.To(m3v1.Address(start)), End: ptr.To(m3v1.Address("192.0.2.250"))}},
	}}
}

// askMetal3 makes so many claims of each kind on a pool, all the Cluster's.
func (t tenant) askMetal3(ctx context.Context, s *side, prefix, pool string, number int) {
	GinkgoHelper()
	owner := ownerOf(t.cluster(ctx, s))
	for i := range number {
		claim := &m3v1.IPClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: t.name, Name: fmt.Sprintf("%s-%d", prefix, i), OwnerReferences: []metav1.OwnerReference{owner},
				Labels: map[string]string{clusterv1.ClusterNameLabel: t.name},
			},
			Spec: m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: pool}},
		}
		Expect(s.Client().Create(ctx, claim)).To(Succeed())
		other := builder.IPAddressClaim(t.name, fmt.Sprintf("%s-capi-%d", prefix, i), "IPPool", pool).WithLabel(clusterv1.ClusterNameLabel, t.name).Build()
		other.Spec.PoolRef.APIGroup, other.OwnerReferences = m3v1.GroupVersion.Group, []metav1.OwnerReference{owner}
		Expect(s.Client().Create(ctx, other)).To(Succeed())
	}
}

func (t tenant) awaitMetal3(ctx context.Context, s *side, number int) map[string]string {
	GinkgoHelper()
	Eventually(func() map[string]string { return metal3Book(ctx, s, t.name) }, "90s", "200ms").Should(HaveLen(number), func() string {
		return metal3Reasons(ctx, s, t.name)
	})
	return metal3Book(ctx, s, t.name)
}

// metal3Book is what the claims of Metal3's pools were told, by kind and name, if the answer is there.
func metal3Book(ctx context.Context, s *side, namespace string) map[string]string {
	GinkgoHelper()
	claims, answers, others := &m3v1.IPClaimList{}, &m3v1.IPAddressList{}, &ipamv1beta2.IPAddressClaimList{}
	for _, list := range []client.ObjectList{claims, answers, others} {
		Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	}
	found := map[string]string{}
	for _, claim := range claims.Items {
		for _, answer := range answers.Items {
			if claim.Status.Address != nil && claim.Status.Address.Name == answer.Name && answer.Spec.Claim.Name == claim.Name {
				found["IPClaim "+claim.Name] = string(answer.Spec.Address) + "/32"
			}
		}
	}
	for name, address := range book(ctx, s, namespace) {
		found[name] = address + "/32"
	}
	return found
}

// keep returns of has what had has a key for.
func keep(has, had map[string]string) map[string]string {
	kept := maps.Clone(has)
	maps.DeleteFunc(kept, func(name, _ string) bool { return had[name] == "" })
	return kept
}

// heldOf returns what is held on a side for claims that have moved away from a pool.
func heldOf(ctx context.Context, s *side, pool string) []string {
	GinkgoHelper()
	var held []string
	for _, record := range records(ctx, s, framework.ManagerNamespace) {
		if record.Spec.State == ipamv1.MovedState && record.Spec.PoolRef.Name == pool {
			held = append(held, record.Spec.CIDR)
		}
	}
	return held
}

// metal3Objects names what there is in a namespace of Metal3's kinds and Cluster API's.
func metal3Objects(ctx context.Context, s *side, namespace string) []string {
	GinkgoHelper()
	var names []string
	for _, list := range []client.ObjectList{&ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &m3v1.IPPoolList{}, &m3v1.IPClaimList{}, &m3v1.IPAddressList{}} {
		Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, obj := range suite.Items(list) {
			names = append(names, fmt.Sprintf("%T %s", obj, obj.GetName()))
		}
	}
	return names
}

// metal3Reasons says why Metal3's claims of a namespace are not ready.
func metal3Reasons(ctx context.Context, s *side, namespace string) string {
	GinkgoHelper()
	found := reasons(ctx, s, namespace)
	for _, list := range []client.ObjectList{&m3v1.IPPoolList{}, &m3v1.IPClaimList{}} {
		Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, obj := range suite.Items(list) {
			found += fmt.Sprintf("\n%T %s: %+v", obj, obj.GetName(), conditions.Get(obj.(conditions.Getter), ipamv1.ReadyCondition)) //nolint:forcetypeassert // all are
		}
	}
	return found
}

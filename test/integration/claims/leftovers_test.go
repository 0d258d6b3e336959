// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// inUse is the finalizer of somebody who still uses an address.
const inUse = "example.com/uses"

func without(finalizers []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == name })
}

var _ = Describe("An IPAddress that the garbage collector has taken the claim off the owners of", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	arrived := func(address string, bits int32) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a", Finalizers: []string{ipamv1.AddressFinalizer, inUse}},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, PoolRef: newClaim(ns, "a", "IPPool", "p").Spec.PoolRef,
				Address: address, Prefix: ptr.To(bits),
			},
		}
	}

	It("goes before its address does when its claim is deleted in the foreground, however long somebody uses it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", singleAddress(ns, 0)))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Finalizers = []string{"example.com/machine"}
		answer := answered(ctx, create(ctx, claim))
		change(ctx, answer, func() { answer.Finalizers = append(answer.Finalizers, inUse) })
		Expect(k.Delete(ctx, claim, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(answer), answer)).To(Succeed())
			g.Expect(answer.OwnerReferences).To(HaveLen(1), "the pool")
		}, "1m", "100ms").Should(Succeed())
		other := create(ctx, newClaim(ns, "b", "IPPool", "p"))
		ready(ctx, other, metav1.ConditionFalse, "PoolExhausted")

		change(ctx, claim, func() { claim.Finalizers = without(claim.Finalizers, "example.com/machine") })
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(answer), answer)).To(Succeed())
			g.Expect(answer.DeletionTimestamp).NotTo(BeNil())
		}, "1m", "100ms").Should(Succeed())
		Consistently(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "3s", "100ms").Should(HaveLen(1))
		change(ctx, answer, func() { answer.Finalizers = without(answer.Finalizers, inUse) })
		gone(ctx, claim)
		Expect(answered(ctx, other).Spec.Address).To(Equal("10.1.0.7"))
	})

	It("is no answer to its successor while it goes", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/26", AddressSpace: ns}))
		left := create(ctx, arrived("10.1.0.16", 26))
		Expect(k.Delete(ctx, left)).To(Succeed())
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.AddressRef.Name).To(BeEmpty())
		}, "2s", "100ms").Should(Succeed())
		uid := left.UID
		change(ctx, left, func() { left.Finalizers = without(left.Finalizers, inUse) })
		answer := answered(ctx, claim)
		Expect(answer.UID).NotTo(Equal(uid))
		Expect(answer.DeletionTimestamp).To(BeNil())
	})

	It("keeps the block that it carries, though the pool gives blocks of another length now", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/26", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To[int32](29)},
		}))
		create(ctx, arrived("10.1.0.16", 28))
		answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p")))
		got := make([]string, 0, 3)
		for _, name := range []string{"b", "c", "d"} {
			got = append(got, answered(ctx, create(ctx, newClaim(ns, name, "IPPool", "p"))).Spec.Address)
		}
		Expect(got).To(Equal([]string{"10.1.0.0", "10.1.0.8", "10.1.0.32"}))
	})
})

var _ = Describe("An IPAddressClaim of another pool than that of the IPAddress that a dead claim of its name left behind", func() {
	var ns string
	var left *ipamv1beta2.IPAddress
	var cluster *clusterv1.Cluster

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		cluster = create(ctx, newCluster(ns, false))
		former := create(ctx, newPool(ns, "former", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns + "-former", ClusterName: cluster.Name,
			Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](3600)},
		}))
		dead := newClaim(ns, "a", "IPPool", "former")
		dead.Spec.ClusterName = cluster.Name
		create(ctx, dead)
		left = answered(ctx, dead)
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(true) }) // so that Weir does not tidy up before the next claim comes
		Eventually(func() bool {
			return k.Get(ctx, client.ObjectKeyFromObject(former), former) == nil && conditions.IsTrue(former, ipamv1.PausedCondition)
		}, "1m", "100ms").Should(BeTrue())
		Expect(k.Delete(ctx, dead)).To(Succeed())
		Expect(k.Patch(ctx, dead, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		gone(ctx, dead)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(left), left)).To(Succeed())
			g.Expect(left.OwnerReferences).To(HaveLen(1), "the pool")
			g.Expect(left.DeletionTimestamp).To(BeNil())
		}, "1m", "100ms").Should(Succeed())
	})

	for where, cidr := range map[string]string{"of other addresses": "10.2.0.0/24", "of the same addresses in another space": "10.1.0.0/24"} {
		It("is answered from its own, "+where, func(ctx SpecContext) {
			create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: cidr, AddressSpace: ns}))
			claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
			Eventually(func(g Gomega) {
				answer := &ipamv1beta2.IPAddress{}
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), answer)).To(Succeed())
				g.Expect(answer.UID).NotTo(Equal(left.UID))
				g.Expect(answer.Spec.PoolRef.Name).To(Equal("p"))
			}, "1m", "100ms").Should(Succeed())
			answered(ctx, claim)

			By("having the former address cool down as soon as the Cluster is not paused")
			change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
			Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").Should(ContainElement(HaveField("Spec", And(
				HaveField("PoolRef.Name", "former"), HaveField("CIDR", left.Spec.Address+"/32"), HaveField("ReleasedAt", Not(BeNil())),
			))))
		})
	}
})

var _ = It("Claims that cannot be recorded do not ask the API server again and again at once", func(ctx SpecContext) {
	ns := newNamespace(ctx)
	create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
	answered(ctx, create(ctx, newClaim(ns, "first", "IPPool", "p")))
	quota := create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/ipallocations.ipam.weir.dev": resource.MustParse("1")}},
	})
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
		g.Expect(quota.Status.Used).NotTo(BeEmpty())
	}, "1m", "100ms").Should(Succeed())
	before := refusedRecords(ctx)
	waiting := []*ipamv1beta2.IPAddressClaim{create(ctx, newClaim(ns, "a", "IPPool", "p")), create(ctx, newClaim(ns, "b", "IPPool", "p"))}
	Eventually(func() float64 { return refusedRecords(ctx) - before }, "1m", "100ms").Should(BeNumerically(">=", len(waiting)))
	// A claim is tried again after ever longer times: about ten times in these seconds.
	Consistently(func() float64 { return refusedRecords(ctx) - before }, "5s", "500ms").Should(BeNumerically("<", 30*len(waiting)))
	Expect(k.Delete(ctx, quota)).To(Succeed())
	for _, claim := range waiting {
		answered(ctx, claim)
	}
})

// refusedRecords counts the creates of records that the API server has refused.
func refusedRecords(ctx context.Context) float64 {
	GinkgoHelper()
	counts, err := framework.APIRequests(ctx, site.Config())
	Expect(err).NotTo(HaveOccurred())
	return counts[framework.RequestKey{Verb: "POST", Code: "403", Group: ipamv1.GroupVersion.Group, Resource: "ipallocations"}]
}

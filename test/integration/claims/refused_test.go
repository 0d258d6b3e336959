// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("A write that the API server refuses", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newBareNamespace(ctx) })

	limit := func(ctx context.Context, what corev1.ResourceName, most string) *corev1.ResourceQuota {
		GinkgoHelper()
		quota := create(ctx, &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "q"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse(most)}},
		})
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			g.Expect(quota.Status.Hard).To(HaveKey(what))
		}, "1m", "100ms").Should(Succeed())
		return quota
	}

	It("is reported by the claim whose IPAddress it is, with the API server's words, until it succeeds", func(ctx SpecContext) {
		quota := limit(ctx, "count/ipaddresses.ipam.cluster.x-k8s.io", "0")
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		message := ready(ctx, claim, metav1.ConditionFalse, ipamv1.ClaimReadyRefusedByAPIServerReason)
		Expect(message).To(And(
			HavePrefix("address 10.1.0.1 is recorded; the IPAddress could not be created: "), ContainSubstring("exceeded quota: q"),
		))
		Eventually(func() []string { return eventsAbout(ctx, claim) }, "1m", "100ms").Should(ContainElement("RefusedByAPIServer"))
		Expect(logged.of("IPAddressClaim", ns, "a")).To(ContainElement("Refused RefusedByAPIServer"))
		Expect(k.Delete(ctx, quota)).To(Succeed())
		Expect(answered(ctx, claim).Spec.Address).To(Equal("10.1.0.1"))
		Eventually(func() []string { return eventsAbout(ctx, claim) }, "1m", "100ms").Should(ContainElement("AddressAllocated"))
	})

	It("is reported by a claim where a policy wants a label of its IPAddress, in place of what the claim said before", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")
		words := "each IPAddress has the label cost-centre"
		sample := &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sample"},
			Spec: ipamv1beta2.IPAddressSpec{
				Address: "10.1.0.9", Prefix: ptr.To[int32](24), PoolRef: claim.Spec.PoolRef, ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "sample"},
			},
		}
		end := suite.WantOfNew(ctx, k, sample, "ipaddresses", "has(object.metadata.labels) && 'cost-centre' in object.metadata.labels", words)
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		Expect(ready(ctx, claim, metav1.ConditionFalse, ipamv1.ClaimReadyRefusedByAPIServerReason)).To(ContainSubstring(words))
		Eventually(func() []string { return eventsAbout(ctx, claim) }, "1m", "100ms").Should(ContainElement("RefusedByAPIServer"))
		Expect(logged.of("IPAddressClaim", ns, "a")).To(ContainElement("Refused RefusedByAPIServer"))
		end()
		Expect(answered(ctx, claim).Spec.Address).To(Equal("10.1.0.1"))
	}, SpecTimeout(4*time.Minute))

	It("is reported by a deleted claim whose IPAddress it keeps, with the API server's words, until it succeeds", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		kept := suite.KeepAll(ctx, k, ns, ipamv1beta2.GroupVersion.WithKind("IPAddress"), "ipaddresses", "IPAddresses stay for the audit")
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.GetReason(claim, ipamv1.DeletingCondition)).To(Equal(ipamv1.WaitingForAPIServerReason))
		}, "1m", "100ms").Should(Succeed())
		Expect(conditions.GetMessage(claim, ipamv1.DeletingCondition)).To(And(
			HavePrefix("what the claim has could not be released: "), ContainSubstring("IPAddresses stay for the audit")))
		Eventually(func() []string { return eventsAbout(ctx, claim) }, "1m", "100ms").Should(ContainElement("WaitingForAPIServer"))
		kept()
		gone(ctx, claim)
	}, SpecTimeout(4*time.Minute))

	It("is reported by the pool whose block's record it is, until it succeeds", func(ctx SpecContext) {
		quota := limit(ctx, "count/ipallocations.ipam.weir.dev", "3")
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			AddressSpace: ns, Addresses: []ipamv1.AddressEntry{"192.0.2.1-192.0.2.254"},
		}))
		message := poolReady(ctx, pool, metav1.ConditionFalse, ipamv1.PoolReadyRefusedByAPIServerReason)
		Expect(message).To(And(ContainSubstring("the IPAllocation could not be created: "), ContainSubstring("exceeded quota: q")))
		Expect(pool.Status.Capacity.Available).To(Equal("0"), "it hands out nothing")
		Eventually(func() []string { return eventsAbout(ctx, pool) }, "1m", "100ms").Should(ContainElement("RefusedByAPIServer"))
		Expect(logged.of("IPPool", ns, "p")).To(ContainElement("Refused RefusedByAPIServer"))
		Expect(k.Delete(ctx, quota)).To(Succeed())
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
	})
})

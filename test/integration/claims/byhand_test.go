// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var _ = Describe("An IPAddress made by hand", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newBareNamespace(ctx) })

	serve := func(ctx context.Context, name, cidr string) *ipamv1.IPPool {
		GinkgoHelper()
		pool := create(ctx, newPool(ns, name, ipamv1.IPPoolSpec{
			CIDR: cidr, AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](3600)},
		}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		return pool
	}
	made := func(name, pool, address string) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec: ipamv1beta2.IPAddressSpec{
				Address: address, Prefix: ptr.To(int32(24)), ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name},
				PoolRef: ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: pool},
			},
		}
	}
	held := func(ctx context.Context) []string {
		var found []string
		for _, a := range records(ctx, ns) {
			if a.Spec.ReleasedAt.IsZero() {
				found = append(found, string(a.Spec.Origin)+" "+a.Spec.CIDR)
			}
		}
		return found
	}
	byHand := func(ctx context.Context, pool *ipamv1.IPPool) string {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		return conditions.GetMessage(pool, ipamv1.AddressesByHandCondition)
	}

	It("holds its address until it is deleted, and its pool says so", func(ctx SpecContext) {
		pool := serve(ctx, "p", "10.1.0.0/24")
		jumphost := create(ctx, made("jumphost", "p", "10.1.0.1"))
		Eventually(held, "1m", "100ms").WithContext(ctx).Should(ConsistOf("Adopted 10.1.0.1/32"))
		Eventually(byHand, "1m", "100ms").WithContext(ctx).WithArguments(pool).Should(Equal(
			"IPAddresses of the pool that were made by hand, and that no claim has: 1: 10.1.0.1 (IPAddress " + ns + "/jumphost)"))
		Expect(answered(ctx, create(ctx, newClaim(ns, "web", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.2"))
		Expect(k.Delete(ctx, jumphost)).To(Succeed())
		Eventually(held, "1m", "100ms").WithContext(ctx).Should(ConsistOf(" 10.1.0.2/32"))
		Eventually(byHand, "1m", "100ms").WithContext(ctx).WithArguments(pool).Should(BeEmpty())
	})

	It("is that of the claim of its name when that comes, without a cooldown", func(ctx SpecContext) {
		serve(ctx, "p", "10.1.0.0/24")
		create(ctx, made("a", "p", "10.1.0.7"))
		Eventually(held, "1m", "100ms").WithContext(ctx).Should(ConsistOf("Adopted 10.1.0.7/32"))
		Expect(answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.7"))
		Eventually(held, "1m", "100ms").WithContext(ctx).Should(ConsistOf("Adopted 10.1.0.7/32"))
	})

	It("holds its address also where the claim of its name is of another pool", func(ctx SpecContext) {
		serve(ctx, "p", "10.1.0.0/24")
		serve(ctx, "q", "10.2.0.0/24")
		claim := create(ctx, newClaim(ns, "a", "IPPool", "none"))
		ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")
		create(ctx, made("a", "q", "10.2.0.1"))
		create(ctx, made("b", "q", "10.2.0.2"))
		ready(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p")), metav1.ConditionFalse, "AllocationFailed")
		Eventually(held, "1m", "100ms").WithContext(ctx).Should(ContainElement("Adopted 10.2.0.2/32"))
		Expect(answered(ctx, create(ctx, newClaim(ns, "web", "IPPool", "q"))).Spec.Address).To(Equal("10.2.0.3"))
	})

	It("holds its address there likewise if Weir made it, and it comes back from a backup", func(ctx SpecContext) {
		serve(ctx, "p", "10.1.0.0/24")
		serve(ctx, "q", "10.2.0.0/24")
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		create(ctx, claim)
		restored := made("a", "q", "10.2.0.1")
		restored.Finalizers, restored.Annotations = []string{ipamv1.AddressFinalizer}, map[string]string{ipamv1.ArrivedAnnotation: "true"}
		create(ctx, restored)
		Eventually(held, "1m", "100ms").WithContext(ctx).Should(ConsistOf("Adopted 10.2.0.1/32"))
		Expect(answered(ctx, create(ctx, newClaim(ns, "web", "IPPool", "q"))).Spec.Address).To(Equal("10.2.0.2"))
	})

	It("holds nothing that its pool does not hand out", func(ctx SpecContext) {
		pool := serve(ctx, "p", "10.1.0.0/24")
		create(ctx, made("outside", "p", "10.9.0.1"))
		create(ctx, made("marker", "p", "10.1.0.9"))
		Eventually(held, "1m", "100ms").WithContext(ctx).Should(ConsistOf("Adopted 10.1.0.9/32"))
		Eventually(byHand, "1m", "100ms").WithContext(ctx).WithArguments(pool).Should(ContainSubstring(": 2: 10.1.0.9"))
		Consistently(held, "1s", "100ms").WithContext(ctx).Should(HaveLen(1))
	})
})

var _ = It("A claim whose status is made to name another IPAddress names its own again at once", func(ctx SpecContext) {
	ns := newBareNamespace(ctx)
	create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
	claim := create(ctx, newClaim(ns, "web", "IPPool", "p"))
	answered(ctx, claim)
	Expect(k.Status().Patch(ctx, claim, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"addressRef":{"name":"no-such"}}}`)))).To(Succeed())
	Eventually(func() string {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		return claim.Status.AddressRef.Name
	}, "30s", "100ms").Should(Equal("web"))
})

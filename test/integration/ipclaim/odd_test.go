// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// withOddStatus returns the object with a status that cannot be read.
func withOddStatus(obj client.Object, kind string) *unstructured.Unstructured {
	GinkgoHelper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	Expect(err).NotTo(HaveOccurred())
	content["status"] = "x"
	odd := &unstructured.Unstructured{Object: content}
	odd.SetGroupVersionKind(ipamv1.GroupVersion.WithKind(kind))
	return odd
}

var _ = Describe("What comes with a status that nobody can read", func() {
	It("is answered, and refused, as without it", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		claim := withOddStatus(newClaim(ns, "c", "root"), "IPClaim")
		Expect(k.Create(ctx, claim)).To(Succeed())
		cidr, _, err := unstructured.NestedString(claim.Object, "spec", "cidr")
		Expect(err).NotTo(HaveOccurred())
		Expect(cidr).To(Equal("10.0.0.1/32"))
		Expect(apierrors.IsNotFound(k.Create(ctx, withOddStatus(newClaim(ns, "d", "missing"), "IPClaim")))).To(BeTrue())

		By("asking of a pool that is not there what is in use")
		spy := newPool(ns, "spy", carved(24))
		spy.Spec.ParentRef.Name, spy.Spec.PrefixLength, spy.Spec.CIDR, spy.Spec.AddressSpace = "missing", nil, "10.0.0.0/24", ns
		spy.Spec.PreAllocations = []ipamv1.PreAllocation{{Namespace: ns, ClaimName: "a", Address: "10.0.0.1"}}
		for _, pool := range []client.Object{spy, withOddStatus(spy, "IPPool")} {
			err := k.Create(ctx, pool)
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
			Expect(err).NotTo(MatchError(ContainSubstring("in use")))
		}
	})
})

var _ = Describe("A claim", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{
			CIDR: "10.0.0.0/24", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](1)},
		}))
	})

	It("that two managers have answered at once keeps no record but of what it has", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "c", "root"))
		spare := &ipamv1.IPAllocation{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "spare", Finalizers: []string{ipamv1.AllocationFinalizer},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPClaimKind, Name: "c", UID: claim.UID}},
			},
			Spec: ipamv1.IPAllocationSpec{
				PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "root"},
				AddressSpace: ns, CIDR: "10.0.0.9/32", Purpose: ipamv1.ClaimPurpose,
				ClaimRef: ipamv1.ClaimReference{
					APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: ns, Name: "c", UID: string(claim.UID),
				},
				Manager: ipamv1.AllocationManager{Instance: "a manager that hung"},
			},
		}
		Expect(k.Create(ctx, spare, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
		patch(ctx, claim, `{"metadata":{"annotations":{"example.org/seen":"true"}}}`)
		Eventually(func() []string { return records(ctx, ns) }, "1m", "100ms").Should(Equal([]string{"c 10.0.0.1/32"}))
	})

	It("that came with somebody else's prefix retains nothing of it", func(ctx SpecContext) {
		create(ctx, newClaim(ns, "has", "root"))
		copied := newClaim(ns, "copy", "root")
		copied.Finalizers, copied.Spec.CIDR, copied.Spec.ReclaimPolicy = []string{ipamv1.ClaimFinalizer}, "10.0.0.1/32", ipamv1.ClaimReclaimRetain
		create(ctx, copied)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(copied), copied)).To(Succeed())
			g.Expect(conditions.GetReason(copied, ipamv1.ReadyCondition)).To(Equal(ipamv1.ClaimReadyAddressConflictReason))
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Delete(ctx, copied)).To(Succeed())
		gone(ctx, copied)
		Eventually(func() []string { return records(ctx, ns) }, "1m", "100ms").Should(Equal([]string{"has 10.0.0.1/32"}))
		Expect(create(ctx, newClaim(ns, "copy", "root")).Spec.CIDR).To(Equal("10.0.0.2/32"))
	})
})

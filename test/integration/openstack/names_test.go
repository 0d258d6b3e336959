// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// again creates a claim of a deleted one's name as soon as the API server accepts it.
func (s *spec) again(ctx context.Context, before *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	c := s.newClaim(before.Name)
	Eventually(func() error { return k.Create(ctx, c) }, patience, "2ms").Should(Succeed())
	return c
}

var _ = Describe("A claim with the name of a deleted one", onFake(func(s *spec) {
	It("gets a floating IP of its own if it is created at the same moment", func(ctx SpecContext) {
		s.pool(ctx)
		first, f := s.newAllocated(ctx, "a")
		Expect(k.Delete(ctx, first)).To(Succeed())
		second := s.again(ctx, first)
		Expect(s.allocated(ctx, second).ID).NotTo(Equal(f.ID))
		s.gone(ctx, first)
		s.isBalanced(ctx)
	}, SpecTimeout(limit))

	It("(A4, R3) waits for the former one's record if Neutron hands out the same address again, and keeps its floating IP", func(ctx SpecContext) {
		s.pool(ctx)
		first, f := s.newAllocated(ctx, "a")
		record := s.record(ctx, first)
		suite.Change(ctx, k, record, func() { controllerutil.AddFinalizer(record, inUse) })
		Expect(k.Delete(ctx, first)).To(Succeed())
		s.leaves(ctx, first)

		second := s.claim(ctx, "a")
		s.refused(ctx, second, ipamv1.ClaimReadyAllocationFailedReason, f.Address.String())
		waiting := s.owned(ctx, second)
		Expect(waiting).To(ConsistOf(HaveField("Address", f.Address)))

		suite.Change(ctx, k, record, func() { controllerutil.RemoveFinalizer(record, inUse) })
		Expect(s.allocated(ctx, second)).To(Equal(waiting[0]))
		Expect(madeBy(s.fake(), "CreateFloatingIP")).To(Equal(2))
		s.isBalanced(ctx)
	}, SpecTimeout(limit))
}))

var _ = Describe("An IPAddress made by hand", onFake(func(s *spec) {
	// byHand creates a claim and an IPAddress of its name before the manager answers the claim.
	byHand := func(ctx context.Context, address string, isOwned bool) (*ipamv1beta2.IPAddressClaim, *ipamv1beta2.IPAddress) {
		GinkgoHelper()
		c := s.newClaim("b")
		c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		Expect(k.Create(ctx, c)).To(Succeed())
		made := &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: c.Name},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: c.Name}, PoolRef: c.Spec.PoolRef, Address: address, Prefix: ptr.To[int32](32),
			},
		}
		if isOwned {
			made.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: c.Name, UID: c.UID, Controller: ptr.To(true),
			}}
		}
		Expect(k.Create(ctx, made)).To(Succeed())
		suite.Change(ctx, k, c, func() { delete(c.Annotations, clusterv1.PausedAnnotation) })
		return c, made
	}

	for _, isOwned := range []bool{true, false} {
		owned := map[bool]string{true: "owned by its claim", false: "without an owner"}[isOwned]

		It("with another claim's floating IP, "+owned+", is refused, and that claim keeps all that it has", func(ctx SpecContext) {
			s.pool(ctx)
			other, f := s.newAllocated(ctx, "a")
			c, made := byHand(ctx, f.Address.String(), isOwned)
			s.refused(ctx, c, ipamv1.ClaimReadyAllocationFailedReason, f.Address.String())
			Expect(s.records(ctx, c)).To(BeEmpty())
			Expect(k.Delete(ctx, c)).To(Succeed())
			s.gone(ctx, c)
			s.hasAll(ctx, other, f)
			removed(ctx, made)
			s.isBalanced(ctx)
		}, SpecTimeout(limit))

		It("with a floating IP that is not Weir's, "+owned+", is refused, and that floating IP stays", func(ctx SpecContext) {
			s.pool(ctx)
			theirs := s.stranger(ctx, s.public, "theirs")
			c, made := byHand(ctx, theirs.Address.String(), isOwned)
			s.refused(ctx, c, ipamv1.ClaimReadyAllocationFailedReason, theirs.Address.String())
			Expect(s.records(ctx, c)).To(BeEmpty())
			Expect(k.Delete(ctx, c)).To(Succeed())
			s.gone(ctx, c)
			removed(ctx, made)
		}, SpecTimeout(limit))
	}
}))

var _ = Describe("A pool with the name of another one", onFake(func(s *spec) {
	It("releases nothing of the other one: its claim goes, and an event names the floating IP that stays", func(ctx SpecContext) {
		former := s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		s.deleteSecret(ctx) // else the pool stays as long as it is in use
		Expect(k.Delete(ctx, former)).To(Succeed())
		s.strip(ctx, former)
		suite.Gone(ctx, k, former)
		s.setSecret(ctx, s.CloudsYAML())
		next := s.pool(ctx)
		Expect(next.GetUID()).NotTo(Equal(former.GetUID()))

		Expect(k.Delete(ctx, c)).To(Succeed())
		s.leaves(ctx, c)
		Expect(s.records(ctx, c)).To(BeEmpty())
		Expect(s.outside(ctx)).To(ConsistOf(f))
		s.strangers = append(s.strangers, f)
		Eventually(func() []string { return s.notes(ctx, c) }, patience, "100ms").Should(
			ContainElement(And(ContainSubstring(f.Address.String()), ContainSubstring(f.ID), ContainSubstring(string(former.GetUID())))))
	}, SpecTimeout(limit))
}))

// removed deletes an IPAddress, unless it is gone with its claim.
func removed(ctx context.Context, made *ipamv1beta2.IPAddress) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(k.Delete(ctx, made))).To(Succeed())
	suite.Gone(ctx, k, made)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("The deletion of a pool of floating IPs", onFake(func(s *spec) {
	It("(key, UID of a claim that is here, no record) waits for that claim, which gives its floating IP back", func(ctx SpecContext) {
		p := s.pool(ctx)
		c := s.newClaim("a")
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.PausedAnnotation, "")
		Expect(k.Create(ctx, c)).To(Succeed())
		hasCondition(ctx, c, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
		made, err := s.member.Create(ctx, neutron.CreateOptions{
			NetworkID: s.public, Description: fmt.Sprintf("weir/1/%s/%s/%s/a", p.GetUID(), c.UID, s.ns),
		})
		Expect(err).NotTo(HaveOccurred())

		Expect(k.Delete(ctx, p)).To(Succeed())
		hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyDeletingReason, "waiting for claims", made.Address.String(), made.ID)
		Expect(s.owned(ctx, c)).To(HaveLen(1))
		suite.Change(ctx, k, c, func() { delete(c.Annotations, clusterv1.PausedAnnotation) })
		s.deleted(ctx, c)
		s.ended(ctx, p)
	}, SpecTimeout(limit))

	It("(key, free) deletes what is free with Delete; (key, UID unknown here), a person's and another pool's stay, and an event names what is the pool's", func(ctx SpecContext) {
		p := s.pool(ctx, "reclaimPolicy: Retain")
		a, _ := s.newAllocated(ctx, "a")
		b, bound := s.newAllocated(ctx, "b")
		s.deleted(ctx, a, b)
		Expect(s.outside(ctx)).To(HaveLen(2), "kept for other claims")
		port, err := s.Bind(ctx, bound.ID)
		Expect(err).NotTo(HaveOccurred())
		s.stranger(ctx, s.public, "the office's")
		s.stranger(ctx, s.public, "weir/1/another-key/-")
		unknown := s.stranger(ctx, s.public, fmt.Sprintf("weir/1/%s/no-such-uid/%s/left", p.GetUID(), s.ns))
		suite.Change(ctx, k, p, func() { sourceOf(p).ReclaimPolicy = ipamv1.DeleteFloatingIPs })
		hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason)
		Expect(k.Delete(ctx, p)).To(Succeed())
		s.ended(ctx, p)
		Expect(s.outside(ctx)).To(HaveLen(4), "the free one that no port has is deleted")
		if s.kind == ipamv1.IPPoolKind {
			Eventually(func() []string { return s.notes(ctx, p) }, patience, "100ms").Should(
				ContainElement(And(ContainSubstring(unknown.ID), ContainSubstring(bound.ID), ContainSubstring("free"))))
		}
		Expect(s.Unbind(ctx, port)).To(Succeed())
		s.discard(ctx, bound.ID, fmt.Sprintf("weir/1/%s/-", p.GetUID()))
	}, SpecTimeout(limit))
}))

// ended waits until a pool is gone. It does not wait for the manager's timers.
func (s *spec) ended(ctx context.Context, p suite.Conditioned) {
	GinkgoHelper()
	var asked polls
	Eventually(func(g Gomega) {
		err := k.Get(ctx, client.ObjectKeyFromObject(p), p)
		if asked.isTime() && err == nil {
			nudged := p.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is one
			_ = k.Patch(ctx, nudged, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata": {"annotations": {"cluster.x-k8s.io/nudged": %q}}}`, p.GetResourceVersion())))
		}
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", p.GetConditions())
	}, patience, "100ms").Should(Succeed())
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("A parent", func() {
	It("is not deleted while it has children, which the refusal names and counts", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		parent := s.Root("parent", "10.0.0.0/16").Build()
		s.Create(ctx, parent)
		children := make([]client.Object, 7)
		for i := range children {
			children[i] = s.Child(fmt.Sprintf("child-%d", i), "parent", 24).Build()
		}
		s.Create(ctx, children...)
		Expect(k.Delete(ctx, parent)).To(suite.Refused(http.StatusForbidden, "7 prefixes", "10.0.0.0/24", "child-0", "10.0.4.0/24", "child-4", "..."))
		s.Delete(ctx, children[:6]...)
		Expect(k.Delete(ctx, parent)).To(suite.Refused(http.StatusForbidden, "1 prefix", "10.0.6.0/24", "child-6"))
		s.Ready(ctx, parent)
		s.Delete(ctx, children[6])
		s.Delete(ctx, parent)
		Expect(s.InSpace(ctx)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))

	It("that the garbage collector deletes is held until its children are gone, and hands out nothing meanwhile", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "owner"}}
		s.Create(ctx, owner)
		parent := s.Root("parent", "10.0.0.0/16").Build()
		parent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		child := s.Child("child", "parent", 24).Build()
		s.Create(ctx, parent, child)
		s.Ready(ctx, parent, child)
		s.Delete(ctx, owner)
		s.NotReady(ctx, parent, ipamv1.PoolReadyDeletingReason, "10.0.0.0/24", "child")
		s.Refuses(ctx, s.Claim("late", "parent").Build(), http.StatusUnprocessableEntity, "spec.poolRef.name", "is being deleted")
		s.Refuses(ctx, s.Child("late", "parent", 24).Build(), http.StatusUnprocessableEntity, "spec.parentRef.name", "is being deleted")
		s.Create(ctx, s.Claim("web", "child").Build())
		s.Delete(ctx, s.Claim("web", "child").Build(), child)
		s.Gone(ctx, parent)
		Eventually(func() []ipamv1.IPAllocation { return s.InSpace(ctx) }, patience, "100ms").Should(BeEmpty())
	}, SpecTimeout(5*time.Minute))

	It("is deleted in the foreground once it has no children", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		parent, child := s.Root("parent", "10.0.0.0/16").Build(), s.Child("child", "parent", 24).Build()
		s.Create(ctx, parent, child)
		s.Ready(ctx, parent, child)
		for _, p := range []client.Object{child, parent} {
			Expect(k.Delete(ctx, p, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
			s.Gone(ctx, p)
		}
		Expect(s.InSpace(ctx)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})

var _ = Describe("A tree of pools with claims, all of which is deleted at once in random order,", func() {
	// plant makes a tree of three levels with a claim to each pool, and returns everything in random order.
	plant := func(ctx context.Context, s *suite.Spec) []client.Object {
		GinkgoHelper()
		root := s.GlobalRoot("root", "10.0.0.0/8").WithLengths(8, 32, 0).Build()
		all := append(make([]client.Object, 0, 26), root, s.Claim("of-root", "").From(ipamv1.GlobalIPPoolKind, root.Name).Build())
		for i := range 3 {
			name := fmt.Sprintf("child-%d", i)
			all = append(all, builder.IPPool(s.Namespace, name).WithParent(ipamv1.GlobalIPPoolKind, "", root.Name).WithBits(16).Build(),
				s.Claim("of-"+name, name).Build())
			for j := range 3 {
				leaf := fmt.Sprintf("leaf-%d-%d", i, j)
				all = append(all, s.Child(leaf, name, 24).Build(), s.Claim("of-"+leaf, leaf).Build())
			}
		}
		s.Create(ctx, all...)
		rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	}

	It("ends in nothing left, where nobody is refused", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		all := plant(ctx, s)
		collector, err := site.As("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
		Expect(err).NotTo(HaveOccurred())
		for _, obj := range all {
			Expect(collector.Delete(ctx, obj)).To(Succeed())
		}
		s.Gone(ctx, all...)
		Eventually(func() []ipamv1.IPAllocation { return s.InSpace(ctx) }, patience, "100ms").Should(BeEmpty())
	}, SpecTimeout(5*time.Minute))

	It("ends in nothing left, where who is refused tries again", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		all := plant(ctx, s)
		Eventually(func(g Gomega) {
			for _, obj := range all {
				g.Expect(client.IgnoreNotFound(k.Delete(ctx, obj))).To(Or(Succeed(), suite.Refused(http.StatusForbidden, "allocated from it")))
			}
			g.Expect(s.InSpace(ctx)).To(BeEmpty())
		}, patience, "100ms").Should(Succeed())
		s.Gone(ctx, all...)
	}, SpecTimeout(5*time.Minute))
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("An address space that an annotation names", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, suite.Guarded) })

	pool := func(name, space string) *icv1.InClusterIPPool {
		p := &icv1.InClusterIPPool{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"10.78.0.0/28"}, Prefix: 24},
		}
		if space != "" {
			p.Annotations = map[string]string{icv1.AddressSpaceAnnotation: space}
		}
		return p
	}
	annotate := func(obj client.Object, value string) func(SpecContext, client.Client) error {
		patch := `{"metadata":{"annotations":{"` + icv1.AddressSpaceAnnotation + `":` + value + `}}}`
		return func(ctx SpecContext, as client.Client) error {
			return as.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
		}
	}

	It("has each address once, in whatever pools, and is never changed", func(ctx SpecContext) {
		first := create(ctx, pool("p", ns))
		told(ctx, create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))) // its blocks are recorded
		Eventually(func() error { return k.Create(ctx, pool("q", ns), client.DryRunAll) }, patience, interval).
			Should(MatchError(ContainSubstring("overlaps other pools of address space " + ns)))
		Expect(k.Create(ctx, pool("q", ""), client.DryRunAll)).To(Succeed())
		for _, value := range []string{`"other"`, "null"} {
			Eventually(func() error { return annotate(first, value)(ctx, k) }, patience, interval).Should(MatchError(ContainSubstring("never changed")))
		}
		Eventually(func() error { return k.Create(ctx, pool("q", "in-cluster/a/p"), client.DryRunAll) }, patience, interval).
			Should(MatchError(ContainSubstring("address-space")))
	})

	It("keeps a pool from serving whose name another one had, until the claims of that are gone", func(ctx SpecContext) {
		ns = suite.Namespace(ctx, k, nil) // the webhook would refuse that the pool goes
		before := create(ctx, pool("p", ""))
		held := create(ctx, claimOf(ns, "held", icv1.InClusterIPPoolKind, "p"))
		Expect(told(ctx, held).Spec.Address).To(Equal("10.78.0.1"))
		Expect(k.Delete(ctx, before)).To(Succeed())
		Expect(client.IgnoreNotFound(k.Patch(ctx, before, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
		gone(ctx, before)

		anew := create(ctx, pool("p", ns))
		spec := suite.New(ctx, site)
		spec.NotReady(ctx, anew, ipamv1.PoolReadyInvalidSpecReason, ns, "has IPAllocations in the address space in-cluster/"+ns+"/p", "delete their claims")
		waiting := create(ctx, claimOf(ns, "waiting", icv1.InClusterIPPoolKind, "p"))
		spec.NotReady(ctx, waiting, ipamv1.ClaimReadyPoolNotReadyReason)
		Expect(k.Delete(ctx, held)).To(Succeed())
		spec.Ready(ctx, anew)
		Expect(told(ctx, waiting).Spec.Address).To(Equal("10.78.0.1"))
	})

	It("gives what one pool shrinks by to another one at once", func(ctx SpecContext) {
		first := create(ctx, pool("p", ns))
		told(ctx, create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))) // its blocks are recorded
		second := pool("q", ns)
		second.Spec.Addresses = []string{"10.78.0.8/29"}
		Eventually(func() error { return k.Create(ctx, second.DeepCopy(), client.DryRunAll) }, patience, interval).
			Should(MatchError(ContainSubstring("overlaps other pools of address space " + ns)))
		suite.Change(ctx, k, first, func() { first.Spec.Addresses = []string{"10.78.0.0/29"} })
		Expect(k.Create(ctx, second)).To(Succeed())
		Expect(told(ctx, create(ctx, claimOf(ns, "d", icv1.InClusterIPPoolKind, "q"))).Spec.Address).To(Equal("10.78.0.8"))
	})

	It("is given to new pools by their Namespace, for who may not name one, too", func(ctx SpecContext) {
		create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pools"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{icv1.GroupVersion.Group}, Resources: []string{"inclusterippools"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"patch"}, ResourceNames: []string{ns}},
		}})
		create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pools"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pools"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: ns}},
		})
		capmox, err := site.As(ns)
		Expect(err).NotTo(HaveOccurred())
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		Eventually(func() error { return annotate(namespace, `"`+ns+`"`)(ctx, capmox) }, patience, interval).Should(MatchError(ContainSubstring("createroot")))
		Eventually(func() error { return capmox.Create(ctx, pool("p", ns), client.DryRunAll) }, patience, interval).Should(MatchError(ContainSubstring("createroot")))
		Expect(annotate(namespace, `"No/Name"`)(ctx, k)).To(MatchError(ContainSubstring("as a DNS name")))

		Expect(annotate(namespace, `"`+ns+`"`)(ctx, k)).To(Succeed())
		Eventually(func(g Gomega) {
			p := pool("p", "")
			g.Expect(capmox.Create(ctx, p, client.DryRunAll)).To(Succeed())
			g.Expect(p.Annotations).To(HaveKeyWithValue(icv1.AddressSpaceAnnotation, ns))
		}, patience, interval).Should(Succeed())
		Expect(capmox.Create(ctx, pool("p", ""))).To(Succeed())
		told(ctx, create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p")))
		Eventually(func() error { return capmox.Create(ctx, pool("q", ""), client.DryRunAll) }, patience, interval).
			Should(MatchError(ContainSubstring("overlaps other pools of address space " + ns)))
	})
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("A retained prefix", func() {
	// retained leaves a pool of one address that is retained for the claim "web", and returns the record.
	retained := func(ctx SpecContext, s *suite.Spec) *ipamv1.IPAllocation {
		GinkgoHelper()
		c := s.Claim("web", "pool").Retained().Build()
		s.Create(ctx, s.Root("pool", "10.0.0.0/32").Build(), c)
		s.Ready(ctx, c)
		s.Delete(ctx, c)
		record := s.Record(ctx, c)
		Expect(record.Spec.ReleasedAt.IsZero()).To(BeFalse())
		Expect(record.OwnerReferences).To(BeEmpty())
		return record
	}

	It("goes to the next claim of the name, and to nobody else", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		record := retained(ctx, s)
		s.Refuses(ctx, s.Claim("db", "pool").Build(), http.StatusInsufficientStorage, "exhausted")
		s.Refuses(ctx, s.Claim("db", "pool").WithCIDR("10.0.0.0/32").Build(), http.StatusConflict, "in use")

		again := s.Claim("web", "pool").Build()
		s.Create(ctx, again)
		Expect(again.Spec.CIDR).To(Equal("10.0.0.0/32"))
		s.Ready(ctx, again)
		Eventually(func() []string { return s.HandedOut(ctx) }, patience, "100ms").Should(ConsistOf("10.0.0.0/32"), "the retained record goes")
		Expect(s.Record(ctx, again).UID).NotTo(Equal(record.UID))

		s.Delete(ctx, again) // its reclaimPolicy is Delete
		s.Create(ctx, s.Claim("db", "pool").Build())
	}, SpecTimeout(5*time.Minute))

	It("does not go to a claim of the same name in another namespace", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		pool := s.GlobalRoot("pool", "10.0.0.0/32").Build()
		c := s.Claim("web", "").From(ipamv1.GlobalIPPoolKind, pool.Name).Retained().Build()
		s.Create(ctx, pool, c)
		s.Ready(ctx, c)
		s.Delete(ctx, c)
		stranger := builder.IPClaim(s.Another(ctx, nil), "web").From(ipamv1.GlobalIPPoolKind, pool.Name)
		s.Refuses(ctx, stranger.Build(), http.StatusInsufficientStorage, "exhausted")
		s.Refuses(ctx, stranger.WithCIDR("10.0.0.0/32").Build(), http.StatusConflict, "in use")
		again := s.Claim("web", "").From(ipamv1.GlobalIPPoolKind, pool.Name).Build()
		s.Create(ctx, again)
		Expect(again.Spec.CIDR).To(Equal("10.0.0.0/32"))
	}, SpecTimeout(5*time.Minute))

	It("survives several lives", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build())
		for range 3 {
			c := s.Claim("web", "pool").WithBits(28).Retained().Build()
			s.Create(ctx, c)
			Expect(c.Spec.CIDR).To(Equal("10.0.0.0/28"))
			s.Ready(ctx, c)
			s.Delete(ctx, c)
		}
		other := s.Claim("db", "pool").Build()
		s.Create(ctx, other)
		Expect(other.Spec.CIDR).To(Equal("10.0.0.16/32"))
	}, SpecTimeout(5*time.Minute))

	It("is freed by whoever may manage records, by deleting its record", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		record := retained(ctx, s)
		editor, keeper := s.Namespace+"-editor", s.Namespace+"-keeper"
		rule := rbacv1.PolicyRule{APIGroups: []string{ipamv1.GroupVersion.Group}, Resources: []string{"ipallocations"}, Verbs: []string{"get", "delete"}}
		managing := *rule.DeepCopy()
		managing.Verbs = append(managing.Verbs, "manage")
		grant(ctx, editor, rule)
		grant(ctx, keeper, managing)
		as := func(user string) client.Client {
			c, err := site.As(user)
			Expect(err).NotTo(HaveOccurred())
			return c
		}
		Expect(as(editor).Delete(ctx, record.DeepCopy())).To(suite.Refused(http.StatusForbidden, "manage"))
		Expect(as(keeper).Delete(ctx, record.DeepCopy())).To(Succeed())
		s.Gone(ctx, record)
		c := s.Claim("db", "pool").Build()
		Eventually(func() error { return k.Create(ctx, c) }, patience, "100ms").Should(Succeed())
		Expect(c.Spec.CIDR).To(Equal("10.0.0.0/32"))
	}, SpecTimeout(5*time.Minute))
})

// grant gives a user rights everywhere, and waits until the API server knows of it.
func grant(ctx SpecContext, user string, rule rbacv1.PolicyRule) {
	GinkgoHelper()
	Expect(k.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{rule}})).To(Succeed())
	Expect(k.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
	Eventually(func(g Gomega) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Group: rule.APIGroups[0], Resource: rule.Resources[0], Verb: rule.Verbs[0]},
		}}
		g.Expect(k.Create(ctx, review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(BeTrue())
	}, patience, "100ms").Should(Succeed())
}

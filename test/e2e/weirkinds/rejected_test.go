// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("What is refused after Weir has answered, by a quota,", func() {
	// limit has a quota count no more than these objects in the spec's namespace.
	limit := func(ctx SpecContext, s *suite.Spec, what corev1.ResourceName, most string) {
		GinkgoHelper()
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "limit"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse(most)}},
		}
		s.Create(ctx, quota)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			g.Expect(quota.Status.Hard).To(HaveKey(what))
		}, patience, "100ms").Should(Succeed())
	}

	It("leaves nothing behind of a claim", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build())
		limit(ctx, s, "count/ipclaims.ipam.weir.dev", "1")
		s.Create(ctx, s.Claim("first", "pool").Build())
		for _, name := range []string{"second", "third", "second"} {
			Expect(k.Create(ctx, s.Claim(name, "pool").Build())).To(suite.Refused(http.StatusForbidden, "exceeded quota"))
		}
		Expect(k.Create(ctx, s.Claim("generated", "pool").Generated().Build())).To(suite.Refused(http.StatusForbidden, "exceeded quota"))
		Eventually(func() []string { return s.HandedOut(ctx) }, patience, "100ms").Should(ConsistOf("10.0.0.1/32"))
	}, SpecTimeout(5*time.Minute))

	It("leaves nothing behind of a claim whose prefix is retained: it stays retained", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		c := s.Claim("web", "pool").Retained().Build()
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build(), c)
		s.Ready(ctx, c)
		s.Delete(ctx, c)
		limit(ctx, s, "count/ipclaims.ipam.weir.dev", "0")
		Expect(k.Create(ctx, s.Claim("web", "pool").Build())).To(suite.Refused(http.StatusForbidden, "exceeded quota"))
		Eventually(func() []string { return s.HandedOut(ctx) }, patience, "100ms").Should(ConsistOf("10.0.0.1/32"))
		Expect(s.Record(ctx, c).Spec.ReleasedAt.IsZero()).To(BeFalse())
	}, SpecTimeout(5*time.Minute))

	It("leaves nothing behind of a pool: its block is free again, and its parent may be deleted", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		parent := s.Root("parent", "10.0.0.0/16").Build()
		s.Create(ctx, parent)
		limit(ctx, s, "count/ippools.ipam.weir.dev", "1")
		for _, name := range []string{"first", "second"} {
			Expect(k.Create(ctx, s.Child(name, "parent", 24).Build())).To(suite.Refused(http.StatusForbidden, "exceeded quota"))
		}
		Eventually(func() []string { return s.HandedOut(ctx) }, patience, "100ms").Should(BeEmpty())
		s.Delete(ctx, parent)
	}, SpecTimeout(5*time.Minute))
})

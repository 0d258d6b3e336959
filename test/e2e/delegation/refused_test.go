// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("Refused by a quota: the block is held, however often it is tried, and is the next pool's of that name", func(ctx SpecContext) {
	w := newWorld(ctx)
	const what = corev1.ResourceName("count/ippools.ipam.weir.dev")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "limit"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse("1")}},
	}
	w.Create(ctx, quota)
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
		g.Expect(quota.Status.Hard).To(HaveKey(what))
	}, patience, "100ms").Should(Succeed())
	refuse := func() {
		GinkgoHelper()
		Expect(k.Create(ctx, w.delegated().Build())).To(suite.Refused(http.StatusForbidden, "exceeded quota"))
	}
	refuse()
	refuse()
	isHeld := func() {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			found := w.recordedFor(ctx, g, "team")
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0].Spec).To(And(HaveField("CIDR", "10.0.0.0/26"), HaveField("State", ipamv1.ConfirmedState), HaveField("DelegatedTo", "edge-a")))
		}, patience, "100ms").Should(Succeed())
		holds(ctx, w.root, "10.0.0.0/26 is delegated to edge-a", w.Namespace+"/team is gone")
	}
	isHeld()
	refuse()
	Expect(manager.Restart(ctx)).To(Succeed())
	isHeld()

	By("lifting the quota")
	w.Delete(ctx, quota)
	var p *ipamv1.IPPool
	Eventually(func() error { p = w.delegated().Build(); return k.Create(ctx, p) }, patience, "100ms").Should(Succeed())
	Expect(p.Spec.CIDR).To(Equal("10.0.0.0/26"))
	w.Ready(ctx, p)
	w.standsFor(ctx, p)
	holdsNothing(ctx, w.root)
}, SpecTimeout(5*time.Minute))

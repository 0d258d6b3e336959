// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// installWebhooks has the API server call the manager over a link.
func installWebhooks(ctx context.Context, m *framework.Manager) *framework.ConnectionProxy {
	GinkgoHelper()
	link, err := framework.NewConnectionProxy(m.WebhookAddress())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(link.Close)
	Expect(site.PointWebhooks(ctx, link.Address())).To(Succeed())
	DeferCleanup(site.RemoveWebhooks)
	return link
}

var _ = It("Without its webhooks a manager answers and releases claims all the same, and pools are refused", func(ctx SpecContext) {
	m := suite.StartManager(ctx, site)
	t := newTenant(ctx, "webhooks")
	link := installWebhooks(ctx, m)
	asked := t.claim("with")
	Expect(k.Create(ctx, asked, client.DryRunAll)).To(Succeed())
	Expect(asked.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))
	t.create(ctx, "with", claimsAround/3)

	own := t.pool("own", "198.51.100.0/24")
	Eventually(func() error { return k.Create(ctx, own) }, "1m", "100ms").Should(Succeed())
	ending := &ipamv1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: own.Namespace, Name: "ending"},
		Spec:       ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: own.Name}},
	}
	Eventually(func() error { return k.Create(ctx, ending) }, "1m", "100ms").Should(Succeed())

	link.Down()
	Expect(k.Delete(ctx, ending)).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(ending), ending)) }, "1m", "100ms").Should(BeTrue())
	c := t.claim("without")
	Expect(k.Create(ctx, c)).To(Succeed())
	Expect(c.Finalizers).To(BeEmpty())
	err := k.Create(ctx, t.pool("refused", "192.0.2.0/24"))
	Expect(err).To(MatchError(And(ContainSubstring("failed calling webhook"), ContainSubstring("ipam.weir.dev"))))
	t.create(ctx, "without", claimsAround/3)
	t.expectAnswers(ctx, claimsAround/3*2+1)

	By("deleting claims at once and later, of both kinds")
	hasty := t.claim("hasty")
	Expect(k.Create(ctx, hasty)).To(Succeed())
	Expect(k.Delete(ctx, hasty)).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(hasty), hasty)) }, "1m", "100ms").Should(BeTrue())
	left := t.deleteHalf(ctx)
	t.expectAnswers(ctx, left)

	link.Up()
	Eventually(func() error { return k.Create(ctx, t.pool("late", "192.0.2.0/24")) }, "1m", "100ms").Should(Succeed())
}, SpecTimeout(10*time.Minute))

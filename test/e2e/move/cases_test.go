// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// settle makes a tenant of few claims, on a global pool of its own.
func settle(ctx context.Context, s *side, t tenant, second int, cidr string) map[string]string {
	GinkgoHelper()
	Expect(s.Client().Create(ctx, global(t.global, cidr))).To(Succeed())
	return settleOn(ctx, s, t, second)
}

// settleOn does so on a global pool that is there.
func settleOn(ctx context.Context, s *side, t tenant, second int) map[string]string {
	GinkgoHelper()
	t.found(ctx, s)
	for _, pool := range t.pools(second) {
		Eventually(func() error { return s.Client().Create(ctx, pool) }, "1m", "200ms").Should(Succeed())
	}
	for _, ref := range t.refs() {
		t.ask(ctx, s, "old", ref, 2, 2)
	}
	awaitAnswers(ctx, s, t.name, 5*4+4)
	return book(ctx, s, t.name)
}

// bothHave: a target that has the global pool already, and the release of what is held.
func bothHave(ctx SpecContext) {
	t := tenant{name: "both-have", global: "both-have"}
	had := settle(ctx, left, t, 3, "10.11.0.0/20")
	own := global(t.global, "10.11.0.0/20") // by GitOps, say
	Expect(right.Client().Create(ctx, own)).To(Succeed())
	move(ctx, left, right, t.name)
	expectArrived(ctx, right, t, had)
	expectEmpty(ctx, left, t.name)
	Expect(unheld(ctx, left, t.global, had)).To(BeEmpty())

	By("handing out on the target, whose home it is")
	t.ask(ctx, right, "new", t.refs()[0], 2, 2)
	awaitAnswers(ctx, right, t.name, 5*4+4+4)

	By("deleting a hold on the source")
	for _, record := range records(ctx, left, framework.ManagerNamespace) {
		if record.Spec.State != ipamv1.MovedState || record.Spec.PoolRef.Name != t.global {
			continue
		}
		Expect(left.Client().Delete(ctx, &record)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(left.Client().Get(ctx, client.ObjectKeyFromObject(&record), &record))
		}, "1m", "200ms").Should(BeTrue())
	}
}

// home: a pool is at home where somebody with the right says.
func home(ctx SpecContext) {
	pool := global("settled", "10.12.0.0/24")
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	home := pool.Annotations[ipamv1.HomeAnnotation]
	Expect(home).NotTo(BeEmpty())
	t := tenant{name: "settlers", global: pool.Name}
	t.found(ctx, left)
	t.ask(ctx, left, "old", t.refs()[0], 1, 1)
	awaitAnswers(ctx, left, t.name, 2)

	By("giving it away")
	rehome(ctx, left, pool.Name, "elsewhere")
	expectForeign(ctx, left, pool.Name)
	waiting := builder.IPAddressClaim(t.name, "waiting", ipamv1.GlobalIPPoolKind, pool.Name).WithLabel(clusterv1.ClusterNameLabel, t.name).Build()
	Expect(left.Client().Create(ctx, waiting)).To(Succeed())
	expectReason(ctx, left, waiting, ipamv1.ClaimReadyPoolNotReadyReason)
	refused := &ipamv1.IPClaim{Spec: ipamv1.IPClaimSpec{PoolRef: &t.refs()[0]}}
	refused.Namespace, refused.Name = t.name, "refused"
	Expect(left.Client().Create(ctx, refused)).To(MatchError(ContainSubstring("at home in another cluster")))
	Expect(left.Client().Create(ctx, child(t.name, "refused", ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: pool.Name}))).
		To(MatchError(ContainSubstring("at home in another cluster")))

	By("taking it back")
	rehome(ctx, left, pool.Name, home)
	expectReason(ctx, left, waiting, ipamv1.ClaimReadyAllocatedReason)
}

func rehome(ctx context.Context, s *side, name, home string) {
	GinkgoHelper()
	Eventually(func() error {
		pool := &ipamv1.GlobalIPPool{}
		Expect(s.Client().Get(ctx, client.ObjectKey{Name: name}, pool)).To(Succeed())
		pool.Annotations[ipamv1.HomeAnnotation] = home
		return s.Client().Update(ctx, pool)
	}, "1m").Should(Succeed())
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// mayExpand gives the managers the right to create pools, as the component for hubs does.
func mayExpand(ctx context.Context) {
	GinkgoHelper()
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	dir := filepath.Join(root, "config", "components", "federation")
	objects, err := framework.ReadManifests(filepath.Join(dir, "expander_role.yaml"), filepath.Join(dir, "expander_role_binding.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(framework.Apply(ctx, site.Config(), objects...)).To(Succeed())
}

// expanded waits until a pool says so of its expansion, with these words.
func expanded(ctx context.Context, p *ipamv1.IPPool, status metav1.ConditionStatus, reason, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		c := meta.FindStatusCondition(p.Status.Conditions, "Expanded")
		g.Expect(c).NotTo(BeNil())
		g.Expect(*c).To(And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(words))))
	}, patience, "100ms").Should(Succeed())
}

// siblings returns the pools that were created beside another, in order.
func (w *world) siblings(ctx context.Context, g Gomega) (found []ipamv1.IPPool) {
	list := &ipamv1.IPPoolList{}
	g.Expect(k.List(ctx, list, client.InNamespace(w.Namespace), client.MatchingFields{"spec.delegateTo": "edge-a"})).To(Succeed())
	for _, p := range list.Items {
		if p.Annotations["ipam.weir.dev/sibling-of"] != "" {
			found = append(found, p)
		}
	}
	return found
}

// sibling waits until there is one of that name, beside so many others, and returns it.
func (w *world) sibling(ctx context.Context, name string, others int) *ipamv1.IPPool {
	GinkgoHelper()
	p := builder.IPPool(w.Namespace, name).Build()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(w.siblings(ctx, g)).To(HaveLen(others + 1))
	}, patience, "100ms").Should(Succeed())
	w.Ready(ctx, p)
	return p
}

// uses relays how much of a pool is available at its member.
func uses(ctx context.Context, p *ipamv1.IPPool, available, total string) {
	GinkgoHelper()
	relay(ctx, p, &ipamv1.MemberStatus{Cluster: "edge-a", Capacity: ipamv1.Capacity{Total: total, Available: available}})
}

// eventsOf returns the events of a reason of a pool.
func eventsOf(ctx context.Context, g Gomega, p *ipamv1.IPPool, reason string) (notes []string) {
	list := &eventsv1.EventList{}
	g.Expect(k.List(ctx, list, client.InNamespace(p.Namespace))).To(Succeed())
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.UID == p.UID {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

var _ = It("Running low, with three managers and no leader: one sibling for each shortage, up to the bound, once the managers may create pools", func(ctx SpecContext) {
	flags := []string{"--feature-gates=Federation=true", "--repair-grace=2s"}
	for range 2 {
		other := suite.StartManager(ctx, site, flags...)
		DeferCleanup(other.Kill)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "weir-system-expander-rolebinding"}}
	Expect(client.IgnoreNotFound(k.Delete(ctx, binding))).To(Succeed()) // another spec may have been first
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().WithLabel("tier", "edge").WithExpansion(25, 28, 2, map[string]string{"tier": "edge"}).Build())
	expanded(ctx, p, metav1.ConditionUnknown, "NotReported", `cluster "edge-a" has not reported`)
	uses(ctx, p, "16", "64")
	expanded(ctx, p, metav1.ConditionTrue, "Sufficient", "0 of 2 further pools exist")
	uses(ctx, p, "15", "64")
	expanded(ctx, p, metav1.ConditionFalse, "Refused", "pool team-2 is refused: ")
	Expect(meta.FindStatusCondition(p.Status.Conditions, "Expanded").Message).To(ContainSubstring("cannot create resource"))
	Expect(w.siblings(ctx, Default)).To(BeEmpty())

	By("giving the right")
	mayExpand(ctx)
	suite.Change(ctx, k, p, func() { metaAnnotate(p, "example.com/look", "again") })
	second := w.sibling(ctx, "team-2", 0)
	Expect(second.Spec).To(And(HaveField("DelegateTo", "edge-a"), HaveField("CIDR", "10.0.0.64/28"), HaveField("Expansion", BeNil())))
	Expect(second.Labels).To(And(HaveKeyWithValue("tier", "edge"), HaveKeyWithValue("ipam.weir.dev/delegated-to", "edge-a")))
	Expect(metav1.IsControlledBy(second, p)).To(BeTrue())
	w.standsFor(ctx, second)
	expanded(ctx, p, metav1.ConditionTrue, "Sufficient", "1 of 2 further pools exist")
	uses(ctx, p, "0", "64")
	expanded(ctx, p, metav1.ConditionTrue, "SiblingPending", "pool team-2 is to follow")
	uses(ctx, second, "0", "16")
	third := w.sibling(ctx, "team-3", 1)
	w.standsFor(ctx, third)

	By("reaching the bound")
	uses(ctx, third, "0", "16")
	expanded(ctx, p, metav1.ConditionFalse, "MaxPoolsReached", "there are 2 further pools of spec.expansion.maxPools 2")
	Eventually(func(g Gomega) {
		g.Expect(eventsOf(ctx, g, p, "ExpansionMaxPoolsReached")).NotTo(BeEmpty())
		g.Expect(eventsOf(ctx, g, p, "SiblingCreated")).To(ConsistOf(ContainSubstring("created pool team-2 with block 10.0.0.64/28"), ContainSubstring("team-3")))
	}, patience, "100ms").Should(Succeed())
	Expect(w.siblings(ctx, Default)).To(HaveLen(2))
	for _, s := range []*ipamv1.IPPool{second, third} {
		w.standsFor(ctx, s)
	}

	By("deleting the first pool, which its siblings follow")
	w.force(ctx, p, "edge-a")
	w.Gone(ctx, p)
	for _, s := range []*ipamv1.IPPool{second, third} {
		w.NotReady(ctx, s, ipamv1.PoolReadyDeletingReason, `delegated to cluster "edge-a"`)
		w.say(ctx, s, "edge-a")
		w.Gone(ctx, s)
	}
}, SpecTimeout(5*time.Minute))

var _ = It("Running low while the parent is full: the pool says so, and has its sibling once something of the parent is freed", func(ctx SpecContext) {
	mayExpand(ctx)
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().WithExpansion(50, 26, 3, nil).Build())
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	uses(ctx, p, "0", "64")
	expanded(ctx, p, metav1.ConditionFalse, "Refused", "pool exhausted")
	w.Delete(ctx, builder.IPPool(w.Namespace, "fill-2").Build())
	sibling := w.sibling(ctx, "team-2", 0)
	Expect(sibling.Spec.CIDR).To(Equal("10.0.0.128/26"))
	expanded(ctx, p, metav1.ConditionTrue, "Sufficient", "1 of 3 further pools exist")
	w.standsFor(ctx, sibling)
}, SpecTimeout(5*time.Minute))

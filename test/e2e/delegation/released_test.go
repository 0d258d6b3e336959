// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var _ = It("Never placed, and deleted: the block is held until force-release names the member", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	record := w.Record(ctx, p)
	Expect(record.Spec.DelegatedTo).To(Equal("edge-a"))
	Expect(record.OwnerReferences).To(BeEmpty(), "the garbage collector would mark it")
	w.force(ctx, p, "edge-b")
	w.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, `force-release names "edge-b" instead`)
	Expect(manager.Restart(ctx)).To(Succeed())
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	Expect(w.Record(ctx, p).UID).To(Equal(record.UID))

	By("naming the member")
	w.say(ctx, p, "edge-a")
	w.Gone(ctx, p, record)
	Eventually(func(g Gomega) {
		events := &eventsv1.EventList{}
		g.Expect(k.List(ctx, events, client.InNamespace(w.Namespace))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", "BlockForceReleased"), HaveField("Note", ContainSubstring(`10.0.0.0/26, which was delegated to cluster "edge-a"`)))))
	}, patience, "100ms").Should(Succeed())
	next := w.make(ctx, w.pool("fill-more").Build())
	Expect(next.Spec.CIDR).To(Equal("10.0.0.0/26"))
	holdsNothing(ctx, w.root)
}, SpecTimeout(5*time.Minute))

var _ = It("A pool that has no block waits for nobody", func(ctx SpecContext) {
	w := newWorld(ctx)
	w.fill(ctx, "10.0.0.0/26", "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	Expect(site.RemoveWebhooks(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed()) }, NodeTimeout(time.Minute))
	p := w.delegated().Build()
	Expect(k.Create(ctx, p)).To(Succeed())
	w.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, "no free block")
	Expect(w.Records(ctx, p)).To(BeEmpty())
	w.Delete(ctx, p)

	By("having one that came past the webhooks")
	w.Delete(ctx, w.pool("fill-2").Build())
	p = w.delegated().Build()
	w.make(ctx, p)
	Expect(p.Spec.CIDR).To(Equal("10.0.0.64/26"))
	w.standsFor(ctx, p)
	w.force(ctx, p, "edge-a")
	w.Gone(ctx, p)
}, SpecTimeout(5*time.Minute))

var _ = It("The parent's cooldown counts when the block is released", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	w.root.Spec.Allocation.CooldownSeconds = new(int32(3600))
	Expect(k.Update(ctx, w.root)).To(Succeed())
	w.Ready(ctx, w.root)
	w.force(ctx, p, "edge-a")
	w.Gone(ctx, p)
	Expect(w.Record(ctx, p).Spec).To(And(HaveField("State", ipamv1.CoolingState), HaveField("ReleasedAt", Not(Equal(metav1.Time{})))))
	holdsNothing(ctx, w.root)
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
}, SpecTimeout(5*time.Minute))

var _ = It("Finalizer stripped: deleting the record frees the block, but not while its pool is there", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	record := w.Record(ctx, p)
	Expect(k.Delete(ctx, record)).To(Succeed())
	Expect(manager.Restart(ctx)).To(Succeed())
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	w.Ready(ctx, p)
	Expect(w.Record(ctx, p).UID).To(Equal(record.UID))
	strip(ctx, p)
	w.Gone(ctx, record)
	Eventually(func() error { return k.Create(ctx, w.pool("fill-more").Build()) }, patience, "100ms").Should(Succeed())
	holdsNothing(ctx, w.root)
}, SpecTimeout(5*time.Minute))

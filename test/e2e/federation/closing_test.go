// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// closes waits until a member has its copy of a pool of the hub in the mode Closing, and returns that.
func closes(ctx context.Context, at *suite.Spec, p ownPool) ownPool {
	GinkgoHelper()
	stored := copyOf(p)
	Eventually(func(g Gomega) {
		g.Expect(at.Client.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
		g.Expect(stored.PoolSpec().Mode).To(Equal(ipamv1.ClosingMode))
	}, patience, "20ms").Should(Succeed())
	Expect(stored.GetAnnotations()).To(HaveKeyWithValue("ipam.weir.dev/template", string(p.GetUID())))
	return stored
}

// handsBack waits until nothing at a member is in use of its copy of a pool, and has the copy say that the block of the pool is handed back.
func handsBack(ctx context.Context, at *suite.Spec, p ownPool) {
	GinkgoHelper()
	stored := closes(ctx, at, p)
	Eventually(func(g Gomega) {
		g.Expect(at.HandedOut(ctx)).To(BeEmpty())
		g.Expect(at.Client.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
		before, _ := stored.DeepCopyObject().(ownPool)
		stored.PoolStatus().Released = &ipamv1.ReleasedTemplate{TemplateUID: string(p.GetUID())}
		g.Expect(at.Client.Status().Patch(ctx, stored, client.MergeFrom(before))).To(Succeed())
	}, patience, "50ms").Should(Succeed())
}

// relay copies what edge-a reports of a pool into the pool's status at the hub, as a script does that a person runs.
func (w *world) relay(ctx context.Context, p ownPool) {
	GinkgoHelper()
	stored := copyOf(p)
	Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
	w.report(ctx, p, &ipamv1.MemberStatus{Cluster: edgeA.name, Capacity: stored.PoolStatus().Capacity, Released: stored.PoolStatus().Released})
}

// report writes a report about a pool at the hub; nil wipes what was reported.
func (w *world) report(ctx context.Context, p ownPool, report *ipamv1.MemberStatus) {
	GinkgoHelper()
	Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
	before, _ := p.DeepCopyObject().(ownPool)
	p.PoolStatus().Member = report
	Expect(w.hub.Client.Status().Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
}

// withholds expects that the hub waits for a member with the block of a pool.
func (w *world) withholds(ctx context.Context, p ownPool, words string) {
	GinkgoHelper()
	w.hub.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, words)
	Expect(w.hub.Record(ctx, p).Spec).To(And(HaveField("CIDR", p.PoolSpec().CIDR), HaveField("ReleasedAt", BeZero())))
}

var _ = DescribeTable("A pool that is deleted at the hub closes at its member, and its block is another's once the member has handed it back:",
	func(ctx SpecContext, kind string) {
		w := newWorld(ctx, "10.0.0.0/24") // which has no other block
		p := w.delegated(kind, "team", edgeA)
		w.hub.Create(ctx, p)
		at := arrived(ctx, w.a, p)
		own, address := answers(ctx, w.a, "first", at, "10.0.0.0/24")
		_, capi := claims(w.a, "first", at)
		record := w.hub.Record(ctx, p)
		Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
		closed := closes(ctx, w.a, p)
		refuses(ctx, w.a, closed, "is closing")
		Eventually(func(g Gomega) {
			g.Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(closed), closed)).To(Succeed())
			g.Expect(closed.PoolStatus().Capacity.Allocated).To(Equal("2"))
		}, patience, "100ms").Should(Succeed())
		w.relay(ctx, p)
		w.withholds(ctx, p, `cluster "edge-a" has not handed it back: of its addresses 2 allocated`)
		Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())

		By("handing it back while the hub's manager is away, whose report is relayed, lost, and relayed twice")
		Expect(hub.manager.Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { hub.serve(ctx, hub.flags...) }, NodeTimeout(time.Minute))
		w.a.Delete(ctx, own, capi)
		handsBack(ctx, w.a, p)
		w.relay(ctx, p)
		w.report(ctx, p, nil)
		Expect(w.hub.Record(ctx, p).UID).To(Equal(record.UID))
		hub.serve(ctx, hub.flags...)
		w.hub.Refuses(ctx, w.local("next", edgeB, 24).Build(), 507, "exhausted")
		w.relay(ctx, p)
		w.hub.Gone(ctx, p, record)
		w.a.Gone(ctx, closed)

		By("delegating it to another member")
		next := w.delegated(kind, "next", edgeB)
		w.hub.Create(ctx, next)
		answers(ctx, w.b, "first", arrived(ctx, w.b, next), "10.0.0.0/24")
	},
	Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind),
	Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind),
)

var _ = It("A pool that is deleted while its member is cut off: that goes on serving, the hub holds the block, and both go on when it is reached", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	mend := placement.CutOff(edgeA.name)
	defer mend()
	Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
	w.withholds(ctx, p, `cluster "edge-a"`)
	own, _ := answers(ctx, w.a, "meanwhile", at, "10.0.0.0/24")
	_, capi := claims(w.a, "meanwhile", at)
	w.hub.Refuses(ctx, w.local("next", edgeB, 24).Build(), 507, "exhausted")
	mend()
	refuses(ctx, w.a, closes(ctx, w.a, p), "is closing")
	w.a.Delete(ctx, own, capi)
	handsBack(ctx, w.a, p)
	w.relay(ctx, p)
	w.hub.Gone(ctx, p)
	w.a.Gone(ctx, at)
}, SpecTimeout(5*time.Minute))

var _ = It("A pool that is deleted in the foreground, and whose copy is deleted: the copy comes again closed, and the hub holds the block until its report", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	Expect(w.hub.Client.Delete(ctx, p, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	Expect(client.IgnoreNotFound(w.a.Client.Delete(ctx, at))).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(closes(ctx, w.a, p).GetUID()).NotTo(Equal(at.GetUID()))
		g.Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.GetFinalizers()).To(ConsistOf(ipamv1.PoolFinalizer), "what the garbage collector has to do")
	}, patience, "100ms").Should(Succeed())
	w.withholds(ctx, p, `cluster "edge-a"`)

	By("reporting of the copy that stays")
	DeferCleanup(placement.Start)
	Eventually(func(g Gomega) {
		placement.Stop()
		err := w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)
		if err != nil || at.GetDeletionTimestamp() != nil {
			placement.Start()
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(at.GetDeletionTimestamp()).To(BeNil())
	}, patience, "200ms").Should(Succeed())
	handsBack(ctx, w.a, p)
	w.relay(ctx, p)
	w.hub.Gone(ctx, p)
}, SpecTimeout(5*time.Minute))

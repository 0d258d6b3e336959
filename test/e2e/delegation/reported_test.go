// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// relay writes what a member reports of a pool, as a script does that a person runs.
func relay(ctx context.Context, p *ipamv1.IPPool, report *ipamv1.MemberStatus) {
	GinkgoHelper()
	Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
	before := p.DeepCopy()
	p.Status.Member = report
	Expect(k.Status().Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
}

// handedBack is a report of a member that it has handed back the block of a pool of that UID.
func handedBack(member, uid string, generation *int64) *ipamv1.MemberStatus {
	return &ipamv1.MemberStatus{Cluster: member, Released: &ipamv1.ReleasedTemplate{TemplateUID: uid, TemplateGeneration: generation}}
}

var _ = It("Report of an older generation, another template or another member: ignored, and said, and the pool goes by the report that hands its block back", func(ctx SpecContext) {
	w := newWorld(ctx)
	earlier := w.make(ctx, w.delegated().Build())
	w.force(ctx, earlier, "edge-a")
	w.Gone(ctx, earlier)
	p := w.make(ctx, w.delegated().Build())
	record, uid := w.Record(ctx, p), string(p.UID)
	waits := func(words ...string) {
		GinkgoHelper()
		w.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, words...)
		Expect(w.Record(ctx, p)).To(And(HaveField("UID", record.UID), HaveField("Spec.ReleasedAt", BeZero())))
	}
	Expect(p.Annotations).To(HaveKeyWithValue("ipam.weir.dev/template", uid))
	Expect(k.Delete(ctx, p)).To(Succeed())
	waits(`cluster "edge-a" has not reported the pool`)
	Expect(p.Spec.Mode).To(Equal(ipamv1.ClosingMode), "its member is told")
	suite.Change(ctx, k, p, func() { metaAnnotate(p, "example.com/seen", "") })
	Expect(p.Annotations).To(HaveKey("ipam.weir.dev/template"))
	for _, mode := range []ipamv1.PoolMode{"", ipamv1.ServingMode} {
		Eventually(func() error { // somebody may be faster
			Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			p.Spec.Mode = mode
			return k.Update(ctx, p)
		}, patience, "100ms").Should(suite.Refused(http.StatusForbidden, "Closing is not taken back"))
	}
	relay(ctx, p, &ipamv1.MemberStatus{Cluster: "edge-a", Capacity: ipamv1.Capacity{Total: "64", Allocated: "12", Available: "52"}})
	waits(`cluster "edge-a" has not handed it back: of its addresses 12 allocated`)

	By("reporting what is no answer: another member, an earlier pool of the name, an earlier generation")
	relay(ctx, p, handedBack("edge-b", uid, nil))
	waits(`the report is of cluster "edge-b", not of "edge-a"`)
	relay(ctx, p, handedBack("edge-a", string(earlier.UID), nil))
	waits(`handed back the block of another pool of the name`)
	relay(ctx, p, handedBack("edge-a", uid, new(p.Generation-1)))
	waits(`handed back generation`)
	Expect(manager.Restart(ctx)).To(Succeed())
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	waits(`handed back generation`)

	By("reporting it")
	relay(ctx, p, handedBack("edge-a", uid, &p.Generation))
	w.Gone(ctx, p, record)
	next := w.make(ctx, w.pool("fill-more").Build())
	Expect(next.Spec.CIDR).To(Equal("10.0.0.0/26"))
	holdsNothing(ctx, w.root)
}, SpecTimeout(5*time.Minute))

var _ = It("Refused by its member, and deleted: the pool waits in the member's words, and goes by force-release", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	record := w.Record(ctx, p)
	relay(ctx, p, &ipamv1.MemberStatus{Cluster: "edge-a", Applied: ipamv1.MemberRefused, Message: "spec.cidr: overlaps lab"})
	Expect(k.Delete(ctx, p)).To(Succeed())
	w.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, `cluster "edge-a" refuses the pool: spec.cidr: overlaps lab`)
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	Expect(w.Record(ctx, p)).To(And(HaveField("UID", record.UID), HaveField("Spec.ReleasedAt", BeZero())))
	w.say(ctx, p, "edge-a")
	w.Gone(ctx, p, record)
}, SpecTimeout(5*time.Minute))

var _ = It("Reported before it is deleted: the pool keeps its block, and a report without a generation counts once it is", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	relay(ctx, p, handedBack("edge-a", string(p.UID), nil))
	Expect(manager.Restart(ctx)).To(Succeed())
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	w.standsFor(ctx, p)

	By("deleting it while the pool above lets blocks cool down")
	suite.Change(ctx, k, w.root, func() { w.root.Spec.Allocation.CooldownSeconds = new(int32(3600)) })
	w.Ready(ctx, w.root)
	w.Delete(ctx, p)
	Expect(w.Record(ctx, p).Spec.State).To(Equal(ipamv1.CoolingState))
}, SpecTimeout(5*time.Minute))

var _ = It("Reported about a pool that was made again under its name: the block goes by the report about the new one alone", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	report := handedBack("edge-a", string(p.UID), nil)
	strip(ctx, p)
	again := w.delegated().WithCIDR("10.0.0.0/26").Build()
	metaAnnotate(again, "ipam.weir.dev/template", string(p.UID)) // as a backup has it
	w.make(ctx, again)
	w.standsFor(ctx, again)
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(again), again)).To(Succeed())
		g.Expect(again.Annotations).To(HaveKeyWithValue("ipam.weir.dev/template", string(again.UID)))
	}, patience, "100ms").Should(Succeed())
	relay(ctx, again, report)
	Expect(k.Delete(ctx, again)).To(Succeed())
	w.NotReady(ctx, again, ipamv1.PoolReadyDeletingReason, "handed back the block of another pool of the name, UID "+string(p.UID))
	w.standsFor(ctx, again)
	relay(ctx, again, handedBack("edge-a", string(again.UID), nil))
	w.Gone(ctx, again)
	Eventually(func(g Gomega) { g.Expect(w.recordedFor(ctx, g, "team")).To(BeEmpty()) }, patience, "100ms").Should(Succeed())
}, SpecTimeout(5*time.Minute))

var _ = It("Deleted in the foreground: the pool tells its member, and goes by the report", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	record := w.Record(ctx, p)
	Expect(k.Delete(ctx, p, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	w.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, "has not reported the pool")
	Expect(p.Spec.Mode).To(Equal(ipamv1.ClosingMode))
	Expect(k.Delete(ctx, p)).To(Succeed(), "and once more")
	Expect(manager.Restart(ctx)).To(Succeed())
	Expect(w.Record(ctx, p)).To(And(HaveField("UID", record.UID), HaveField("DeletionTimestamp", BeNil())))
	relay(ctx, p, handedBack("edge-a", string(p.UID), &p.Generation))
	w.Gone(ctx, p, record)
}, SpecTimeout(5*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// closes waits until a member has its copy of a pool of the hub in the mode Closing, and returns that.
func closes(ctx context.Context, at *suite.Spec, p ownPool) ownPool {
	GinkgoHelper()
	stored := copyOf(p)
	Eventually(func(g Gomega) {
		g.Expect(at.Client.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
		g.Expect(stored.PoolSpec().Mode).To(Equal(ipamv1.ClosingMode))
	}, patience, "100ms").Should(Succeed())
	Expect(stored.GetAnnotations()).To(HaveKeyWithValue("ipam.weir.dev/template", string(p.GetUID())))
	return stored
}

// relay copies what edge-a reports of a pool into the pool's status at the hub, as a script does that a person runs.
func (w *world) relay(ctx context.Context, p ownPool) error {
	stored := copyOf(p)
	if err := w.a.Client.Get(ctx, client.ObjectKeyFromObject(stored), stored); err != nil {
		return err
	}
	return w.report(ctx, p, &ipamv1.MemberStatus{Cluster: edgeA.name, Capacity: stored.PoolStatus().Capacity, Released: stored.PoolStatus().Released})
}

// comesBack relays what edge-a reports of a pool until the hub has let go of it. Where Karmada's bindings are served, they may be faster.
func (w *world) comesBack(ctx context.Context, p ownPool) {
	GinkgoHelper()
	Eventually(func() error {
		err := w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err, w.relay(ctx, p))
	}, patience, "200ms").Should(Succeed())
}

// report writes a report about a pool at the hub; nil wipes what was reported.
func (w *world) report(ctx context.Context, p ownPool, report *ipamv1.MemberStatus) error {
	if err := w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
		return err
	}
	before, _ := p.DeepCopyObject().(ownPool)
	p.PoolStatus().Member = report
	return w.hub.Client.Status().Patch(ctx, p, client.MergeFrom(before))
}

// withholds expects that the hub waits for a member with the block of a pool.
func (w *world) withholds(ctx context.Context, p ownPool, words string) {
	GinkgoHelper()
	w.hub.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, words)
	Expect(w.hub.Record(ctx, p).Spec).To(And(HaveField("CIDR", p.PoolSpec().CIDR), HaveField("ReleasedAt", BeZero())))
}

// force has an operator state that a member does not use the block of a pool any more.
func (w *world) force(ctx context.Context, p ownPool, member string) {
	GinkgoHelper()
	suite.Change(ctx, w.hub.Client, p, func() {
		annotations := map[string]string{}
		maps.Copy(annotations, p.GetAnnotations())
		annotations[ipamv1.ForceReleaseAnnotation] = member
		p.SetAnnotations(annotations)
	})
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
		Expect(w.relay(ctx, p)).To(Succeed())
		w.withholds(ctx, p, `cluster "edge-a" has not handed it back: of its addresses 2 allocated`)
		Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())

		w.hub.Refuses(ctx, w.local("next", edgeB, 24).Build(), 507, "exhausted")

		By("handing it back while the hub's manager is away, whose report is relayed, lost, and relayed twice")
		Expect(hub.manager.Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { hub.serve(ctx, hub.flags...) }, NodeTimeout(time.Minute))
		w.a.Delete(ctx, own, capi)
		handsBack(ctx, w.a, closed, string(p.GetUID()))
		Expect(w.relay(ctx, p)).To(Succeed())
		Expect(w.report(ctx, p, nil)).To(Succeed())
		Expect(w.hub.Record(ctx, p).UID).To(Equal(record.UID))
		hub.serve(ctx, hub.flags...)
		w.comesBack(ctx, p)
		w.hub.Gone(ctx, record)
		w.a.Gone(ctx, closed)

		By("delegating it to another member")
		next := w.delegated(kind, "next", edgeB)
		w.hub.Create(ctx, next)
		answers(ctx, w.b, "first", arrived(ctx, w.b, next), "10.0.0.0/24")
	},
	Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind),
	suite.FromLong(Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind)),
)

var _ = It("A pool that is deleted while its member is cut off: that goes on serving, the hub holds the block, and both go on when it is reached", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	mend := placement.CutOff(edgeA.name)
	defer mend()
	Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
	w.withholds(ctx, p, `cluster "edge-a" has not`)
	own, _ := answers(ctx, w.a, "meanwhile", at, "10.0.0.0/24")
	_, capi := claims(w.a, "meanwhile", at)
	w.hub.Refuses(ctx, w.local("next", edgeB, 24).Build(), 507, "exhausted")
	mend()
	refuses(ctx, w.a, closes(ctx, w.a, p), "is closing")
	w.a.Delete(ctx, own, capi)
	w.comesBack(ctx, p)
	w.a.Gone(ctx, at)
}, SpecTimeout(5*time.Minute))

var _ = It("Member down, and deleted from Karmada meanwhile: the block is held until force-release, and nothing that comes later undoes that", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	record := w.hub.Record(ctx, p)
	mend := placement.CutOff(edgeA.name)
	defer mend()
	edgeA.unmanaged(ctx, func() {
		Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
		w.withholds(ctx, p, `cluster "edge-a" has not`)
		Expect(hub.manager.Restart(ctx)).To(Succeed())
		w.hub.Refuses(ctx, w.local("next", edgeB, 24).Build(), 507, "exhausted")
		w.withholds(ctx, p, "if the cluster cannot report, and nothing there uses the block, nor will")
	})

	By("emptying the member, which the propagation does not reach any more")
	w.a.Ready(ctx, own, capi)
	late, _ := answers(ctx, w.a, "late", at, "10.0.0.0/24")
	_, lateCAPI := claims(w.a, "late", at)
	w.a.Delete(ctx, own, capi, late, lateCAPI, at)
	Expect(w.a.InSpace(ctx)).To(BeEmpty())
	w.force(ctx, p, "edge-b")
	w.withholds(ctx, p, `names "edge-b" instead`)
	w.force(ctx, p, "edge-a")
	w.hub.Gone(ctx, p, record)
	next := w.local("next", edgeB, 24).Build()
	w.hub.Create(ctx, next)
	answers(ctx, w.b, "next", arrived(ctx, w.b, next), "10.0.0.0/24")

	By("reaching the member again")
	mend()
	later := w.hub.GlobalRoot("later", "10.1.0.0/24").WithLengths(24, 32, 0).Build()
	other := builder.IPPool(w.hub.Namespace, "other").WithParent(ipamv1.GlobalIPPoolKind, "", later.Name).WithBits(24).DelegatedTo("edge-a").Build()
	w.hub.Create(ctx, later, other)
	arrived(ctx, w.a, other)
	w.a.Gone(ctx, at)
	look(ctx)
}, SpecTimeout(5*time.Minute))

var _ = It("Policy deleted: Closing does not arrive, the member serves on, and the block comes back with the policy, or by force-release", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	back, forced := w.local("back", edgeA, 25).Build(), w.local("forced", edgeA, 25).Build()
	w.hub.Create(ctx, back, forced)
	atBack, atForced := arrived(ctx, w.a, back), arrived(ctx, w.a, forced)
	carryByHand() // which nobody does
	used := map[ownPool][]client.Object{}
	for p, at := range map[ownPool]ownPool{back: atBack, forced: atForced} {
		Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
		w.withholds(ctx, p, `cluster "edge-a" has not`)
		own, _ := answers(ctx, w.a, p.GetName(), at, p.PoolSpec().CIDR)
		_, capi := claims(w.a, p.GetName(), at)
		used[p] = []client.Object{own, capi}
		w.a.Ready(ctx, at)
		Expect(at.PoolSpec().Mode).NotTo(Equal(ipamv1.ClosingMode))
		w.withholds(ctx, p, `cluster "edge-a" has not`)
	}
	By("emptying the one at its member, and saying so")
	w.a.Delete(ctx, append(used[forced], atForced)...)
	w.force(ctx, forced, "edge-a")
	w.hub.Gone(ctx, forced)

	By("restoring the policy for the other")
	placement.Start()
	refuses(ctx, w.a, closes(ctx, w.a, back), "is closing")
	w.a.Delete(ctx, used[back]...)
	w.comesBack(ctx, back)
	w.a.Gone(ctx, atBack)
}, SpecTimeout(5*time.Minute))

var _ = It("Report lost, and the copy's status wiped: the hub waits and says so, the member writes it again, and the block is freed", func(ctx SpecContext) {
	carryByHand()
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	Expect(w.a.Client.Create(ctx, marked("edge-a", p))).To(Succeed())
	at := arrived(ctx, w.a, p)
	record := w.hub.Record(ctx, p)
	Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
	w.withholds(ctx, p, `cluster "edge-a" has not reported the pool`)
	w.carry(ctx, w.a, p)
	back := handsBack(ctx, w.a, at, string(p.GetUID()))
	w.withholds(ctx, p, `cluster "edge-a" has not reported the pool`)
	w.hub.Refuses(ctx, w.local("next", edgeB, 24).Build(), 507, "exhausted")

	By("wiping the copy's status")
	Expect(w.a.Client.Status().Patch(ctx, at, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)))).To(Succeed())
	Expect(w.relay(ctx, p)).To(Succeed())
	Expect(edgeA.manager.Restart(ctx)).To(Succeed())
	handsBack(ctx, w.a, at, string(p.GetUID()))
	Expect(handedBack(ctx, w.a)).To(ConsistOf(HaveField("UID", back.UID)))
	w.comesBack(ctx, p)
	w.hub.Gone(ctx, record)
	w.a.Delete(ctx, at)
}, SpecTimeout(5*time.Minute))

var _ = It("Foreground deletion, of a pool whose copy is deleted by hand, too: the hub holds the block until the last claim has gone", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	Expect(w.hub.Client.Delete(ctx, p, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	closes(ctx, w.a, p)
	late, _ := claims(w.a, "late", at)
	w.a.Refuses(ctx, late, http.StatusUnprocessableEntity, `IPPool "team" is`) // closing, or being deleted: the garbage collector may have been at its binding
	Expect(w.a.Client.Delete(ctx, at)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.GetFinalizers()).To(ConsistOf(ipamv1.PoolFinalizer), "what the garbage collector has to do")
	}, patience, "100ms").Should(Succeed())
	w.withholds(ctx, p, `cluster "edge-a"`)
	w.a.Delete(ctx, own, capi)
	w.comesBack(ctx, p)
	w.a.Gone(ctx, at)
}, SpecTimeout(5*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// watches is a finalizer that has the hub keep a pool, and its block: the spec looks at what the member does meanwhile.
const watches = "example.com/watches"

// takeBack deletes a pool at the hub, and waits until its member is ordered to hand the block back. The hub keeps the block until free.
func takeBack(ctx context.Context, w *world, p ownPool) {
	GinkgoHelper()
	suite.Change(ctx, w.hub.Client, p, func() { controllerutil.AddFinalizer(p, watches) })
	Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.PoolSpec().Mode).To(Equal(ipamv1.ClosingMode))
	}, patience, "100ms").Should(Succeed())
}

// free has the hub release a block that was handed back.
func free(ctx context.Context, w *world, p ownPool) {
	GinkgoHelper()
	Eventually(func() error {
		if err := w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return client.IgnoreNotFound(err)
		}
		controllerutil.RemoveFinalizer(p, watches)
		annotations := map[string]string{ipamv1.ForceReleaseAnnotation: p.PoolSpec().DelegateTo}
		maps.Copy(annotations, p.GetAnnotations())
		p.SetAnnotations(annotations)
		return client.IgnoreNotFound(w.hub.Client.Update(ctx, p))
	}, patience, "100ms").Should(Succeed())
	w.hub.Gone(ctx, p)
}

// handsBack waits until a member says of its copy that the block was handed back for a template, and returns the record.
func handsBack(ctx context.Context, at *suite.Spec, copied ownPool, template string) ipamv1.IPAllocation {
	GinkgoHelper()
	at.NotReady(ctx, copied, ipamv1.PoolReadyHandedBackReason, "handed back to the hub")
	Expect(statusOf(copied).Released).To(HaveField("TemplateUID", template))
	records := handedBack(ctx, at)
	i := slices.IndexFunc(records, func(r ipamv1.IPAllocation) bool { return r.Spec.ClaimRef.UID == template })
	Expect(i).To(BeNumerically(">=", 0))
	Expect(records[i].Namespace).To(Equal(framework.ManagerNamespace), "the copy's namespace may go")
	Expect(records[i].Spec).To(And(HaveField("State", ipamv1.ConfirmedState), HaveField("CIDR", copied.PoolSpec().CIDR)))
	return records[i]
}

// handedBack returns the records of what a member has handed back, and not got again.
func handedBack(ctx context.Context, at *suite.Spec) []ipamv1.IPAllocation {
	GinkgoHelper()
	return slices.DeleteFunc(at.InSpace(ctx), func(r ipamv1.IPAllocation) bool {
		return r.Spec.Purpose != ipamv1.HandBackPurpose || r.Spec.State == ipamv1.EndedState
	})
}

// staysHandedBack waits until just these prefixes are recorded as handed back.
func staysHandedBack(ctx context.Context, at *suite.Spec, prefixes ...string) {
	GinkgoHelper()
	Eventually(func() []string {
		records := handedBack(ctx, at)
		got := make([]string, 0, len(records))
		for _, r := range records {
			got = append(got, r.Spec.CIDR)
		}
		return got
	}, patience, "100ms").Should(ConsistOf(prefixes))
}

var _ = DescribeTable("Delete, member up, empty: the member hands the block back, and serves it again as another pool when the hub delegates it again:",
	func(ctx SpecContext, kind string) {
		w := newWorld(ctx, "10.0.0.0/23")
		p := w.delegated(kind, "team", edgeA)
		w.hub.Create(ctx, p)
		at := arrived(ctx, w.a, p)
		own, capi := claims(w.a, "first", at)
		w.a.Create(ctx, own, capi)
		w.a.Ready(ctx, own, capi)
		w.a.Delete(ctx, own, capi)
		takeBack(ctx, w, p)
		back := handsBack(ctx, w.a, at, string(p.GetUID()))
		Expect(back.OwnerReferences).To(BeEmpty())
		Expect(*statusOf(at).Released.TemplateGeneration).To(Equal(p.GetGeneration()))
		refuses(ctx, w.a, at, "is closing")

		By("keeping the record when the copy goes")
		free(ctx, w, p)
		w.a.Gone(ctx, at)
		Expect(handedBack(ctx, w.a)).To(ConsistOf(HaveField("UID", back.UID)))

		By("delegating the block again, to a pool of another name")
		next := w.delegated(kind, "next", edgeA)
		w.hub.Create(ctx, next)
		Expect(next.PoolSpec().CIDR).To(Equal(p.PoolSpec().CIDR))
		answers(ctx, w.a, "second", arrived(ctx, w.a, next), "10.0.0.0/24")
		staysHandedBack(ctx, w.a)
	},
	Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind),
	suite.FromLong(Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind)),
)

var _ = It("Part of a block that was handed back is delegated again: the rest stays handed back, until that is delegated, too", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	takeBack(ctx, w, p)
	handsBack(ctx, w.a, at, string(p.GetUID()))
	free(ctx, w, p)
	w.a.Gone(ctx, at)

	part := w.local("part", edgeA, 26).Build()
	w.hub.Create(ctx, part)
	answers(ctx, w.a, "part", arrived(ctx, w.a, part), "10.0.0.0/26")
	staysHandedBack(ctx, w.a, "10.0.0.64/26", "10.0.0.128/25")
	other := w.a.Root("other", "10.0.0.128/25").Build()
	w.a.Create(ctx, other)
	w.a.NotReady(ctx, other, ipamv1.PoolReadyOverlapReason, "which has handed it back to its hub", "IPAllocation "+framework.ManagerNamespace+"/")
	w.a.Delete(ctx, other)

	half := w.local("half", edgeA, 25).Build()
	w.hub.Create(ctx, half)
	answers(ctx, w.a, "half", arrived(ctx, w.a, half), "10.0.0.128/25")
	staysHandedBack(ctx, w.a, "10.0.0.64/26")
}, SpecTimeout(5*time.Minute))

var _ = It("In use: the copy serves nothing new, says of whom it is, and is handed back after the last claim; a copy that is deleted and made again meanwhile is still Closing", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	own, capi := claims(w.a, "held", at)
	own.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
	carved := child(w.a, "carved", at, 28).Build()
	w.a.Create(ctx, own, capi, carved)
	w.a.Ready(ctx, own, capi, carved)
	takeBack(ctx, w, p)
	w.a.NotReady(ctx, at, ipamv1.PoolReadyClosingReason, "3 allocations are still in use", "IPClaim "+w.a.Namespace+"/held", "IPPool "+w.a.Namespace+"/carved")
	refuses(ctx, w.a, at, "is closing")
	uid := at.GetUID()
	Expect(w.a.Client.Delete(ctx, at)).To(Succeed(), "by who may manage records")
	w.a.NotReady(ctx, at, ipamv1.PoolReadyDeletingReason, "3 allocations are still in use")
	w.a.Ready(ctx, own, capi, carved)

	By("releasing them, one to be retained")
	suite.Settled(ctx, w.a.Client, w.a.Namespace)
	w.a.Delete(ctx, own, capi, carved)
	w.a.NotReady(ctx, at, ipamv1.PoolReadyDeletingReason, "1 allocation is still in use", "held, retained")
	Expect(handedBack(ctx, w.a)).To(BeEmpty())
	retained := slices.DeleteFunc(w.a.InSpace(ctx), func(r ipamv1.IPAllocation) bool { return r.Spec.State != ipamv1.RetainedState })
	Expect(retained).To(HaveLen(1))
	w.a.Delete(ctx, &retained[0])

	By("being made again by the propagation, by the same template")
	Eventually(func(g Gomega) {
		g.Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
		g.Expect(at.GetUID()).NotTo(Equal(uid))
	}, patience, "100ms").Should(Succeed())
	back := handsBack(ctx, w.a, at, string(p.GetUID()))

	By("losing its status, which is written again from the record")
	wiped := copyOf(p)
	Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), wiped)).To(Succeed())
	Expect(w.a.Client.Status().Patch(ctx, wiped, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)))).To(Succeed())
	Expect(edgeA.manager.Restart(ctx)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
		g.Expect(statusOf(at).Released).To(HaveField("TemplateUID", string(p.GetUID())))
	}, patience, "100ms").Should(Succeed())
	Expect(handedBack(ctx, w.a)).To(ConsistOf(HaveField("UID", back.UID)))
	free(ctx, w, p)
	w.a.Gone(ctx, at)
}, SpecTimeout(5*time.Minute))

var _ = It("Copy deleted by hand: what is in use keeps it, it is made again by the propagation, and served, and the hub keeps the block", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	record := w.hub.Record(ctx, p)
	uid := at.GetUID()
	Expect(w.a.Client.Delete(ctx, at)).To(Succeed())
	goesOn(ctx, w.a, at, own, capi)
	w.a.Delete(ctx, own, capi)
	Eventually(func(g Gomega) {
		g.Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
		g.Expect(at.GetUID()).NotTo(Equal(uid))
	}, patience, "100ms").Should(Succeed())
	answers(ctx, w.a, "first", arrived(ctx, w.a, p), "10.0.0.0/24")
	Expect(handedBack(ctx, w.a)).To(BeEmpty())
	w.hub.Ready(ctx, p)
	Expect(w.hub.Record(ctx, p).UID).To(Equal(record.UID))
}, SpecTimeout(5*time.Minute))

var _ = It("Old manifest applied again after the hand-back: the copy of the same template is closed, and another template's is served", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	Eventually(func(g Gomega) {
		g.Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.Annotations).To(HaveKeyWithValue(ipamv1.TemplateAnnotation, string(p.UID)))
	}, patience, "100ms").Should(Succeed())
	old := marked("edge-a", p)
	takeBack(ctx, w, p)
	back := handsBack(ctx, w.a, at, string(p.GetUID()))
	free(ctx, w, p)
	w.a.Gone(ctx, at)

	carryByHand()
	Expect(w.a.Client.Create(ctx, old)).To(Succeed())
	handsBack(ctx, w.a, at, string(p.GetUID()))
	refuses(ctx, w.a, at, "has handed its block back")
	Expect(edgeA.manager.Restart(ctx)).To(Succeed())
	handsBack(ctx, w.a, at, string(p.GetUID()))
	w.a.Delete(ctx, at)
	Expect(handedBack(ctx, w.a)).To(ConsistOf(HaveField("UID", back.UID)))
	local := w.a.Root("team", "10.0.0.0/24").Build()
	w.a.Create(ctx, local)
	w.a.NotReady(ctx, local, ipamv1.PoolReadyOverlapReason, "which has handed it back to its hub", "IPAllocation "+framework.ManagerNamespace+"/"+back.Name)
	w.a.Delete(ctx, local)

	By("making it again at the hub under its name")
	again := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, again)
	Expect(again.Spec.CIDR).To(Equal(p.Spec.CIDR))
	Expect(w.a.Client.Create(ctx, marked("edge-a", again))).To(Succeed())
	answers(ctx, w.a, "again", arrived(ctx, w.a, again), "10.0.0.0/24")
	staysHandedBack(ctx, w.a)

	By("applying the first manifest once more in the place of the new one, and that again")
	served := copyOf(again)
	suite.Change(ctx, w.a.Client, served, func() { served.SetAnnotations(old.GetAnnotations()) })
	w.a.NotReady(ctx, served, ipamv1.PoolReadyHandedBackReason, "of an earlier pool at the hub (UID "+string(p.GetUID())+")")
	refuses(ctx, w.a, served, "has handed its block back")
	w.carry(ctx, w.a, again)
	w.a.Ready(ctx, served)
	answers(ctx, w.a, "later", served, "10.0.0.0/24")
}, SpecTimeout(5*time.Minute))

var _ = It("A copy whose template is not known ends no hand-back: it names the record, which who may manage records may delete", func(ctx SpecContext) {
	carryByHand()
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := copyOf(p)
	Expect(w.a.Client.Create(ctx, bare(p, func(*ipamv1.IPPoolSpec) {}))).To(Succeed())
	w.a.Ready(ctx, at)
	suite.Change(ctx, w.a.Client, at, func() { at.PoolSpec().Mode = ipamv1.ClosingMode })
	back := handsBack(ctx, w.a, at, "copy/"+string(at.GetUID()))
	w.a.Delete(ctx, at)
	Expect(w.a.Client.Create(ctx, bare(p, func(*ipamv1.IPPoolSpec) {}))).To(Succeed())
	w.a.NotReady(ctx, at, ipamv1.PoolReadyHandedBackReason, "does not name the pool at the hub", "may delete IPAllocation "+framework.ManagerNamespace+"/"+back.Name)
	Expect(statusOf(at).Released).To(BeNil())
	w.a.Delete(ctx, &back)
	w.a.Ready(ctx, at)
	answers(ctx, w.a, "first", at, "10.0.0.0/24")

	By("having the record deleted while there is no copy")
	own, capi := claims(w.a, "first", at)
	w.a.Delete(ctx, own, capi)
	suite.Change(ctx, w.a.Client, at, func() { at.PoolSpec().Mode = ipamv1.ClosingMode })
	back = handsBack(ctx, w.a, at, "copy/"+string(at.GetUID()))
	w.a.Delete(ctx, at)
	w.a.Delete(ctx, &back)
}, SpecTimeout(5*time.Minute))

var _ = It("What is stored without a record is recorded before the block is handed back", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	own, address := answers(ctx, w.a, "first", at, "10.0.0.0/24")
	_, capi := claims(w.a, "first", at)
	Expect(edgeA.KillManagers()).To(Succeed())
	Expect(edgeA.RemoveWebhooks(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { edgeA.serve(ctx, edgeA.flags...) }, NodeTimeout(time.Minute))
	for _, r := range w.a.InSpace(ctx) {
		if r.Spec.IsRootBlock() {
			continue
		}
		Expect(w.a.Client.Patch(ctx, &r, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Expect(client.IgnoreNotFound(w.a.Client.Delete(ctx, &r))).To(Succeed())
	}
	takeBack(ctx, w, p)
	Eventually(func(g Gomega) {
		g.Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
		g.Expect(at.PoolSpec().Mode).To(Equal(ipamv1.ClosingMode))
	}, patience, "100ms").Should(Succeed())
	edgeA.serve(ctx, edgeA.flags...)
	w.a.NotReady(ctx, at, ipamv1.PoolReadyClosingReason, "1 allocation is still in use", "IPAddressClaim")
	Expect(handedBack(ctx, w.a)).To(BeEmpty())
	Expect(w.a.HandedOut(ctx)).To(ConsistOf(address.Spec.Address + "/32"))
	w.a.Delete(ctx, capi)
	w.a.NotReady(ctx, at, ipamv1.PoolReadyClosingReason, "stored out of the pool has no IPAllocation", "IPClaim "+w.a.Namespace+"/"+own.Name+" is not recorded yet")
	w.a.Delete(ctx, own)
	handsBack(ctx, w.a, at, string(p.GetUID()))
}, SpecTimeout(5*time.Minute))

var _ = It("A manager of the member was stopped before Closing and resumes after the report: no double", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	late := suite.StartManager(ctx, edgeA.Site, edgeA.flags...)
	Expect(late.WaitReady(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { edgeA.serve(ctx, edgeA.flags...) }, NodeTimeout(time.Minute))
	Expect(late.Pause()).To(Succeed())
	takeBack(ctx, w, p)
	handsBack(ctx, w.a, at, string(p.GetUID()))
	free(ctx, w, p)
	next := w.local("next", edgeB, 24).Build()
	w.hub.Create(ctx, next)
	Expect(next.Spec.CIDR).To(Equal(p.Spec.CIDR))
	answers(ctx, w.b, "next", arrived(ctx, w.b, next), "10.0.0.0/24")

	By("asking the late one while it wakes up, and knows of none of that")
	w.a.Gone(ctx, at)
	Expect(edgeA.manager.Kill()).To(Succeed())
	Expect(edgeA.RemoveWebhooks(ctx)).To(Succeed())
	const each = 8
	asking := make([]suite.Conditioned, 0, 2*each)
	for i := range each {
		own, capi := claims(w.a, fmt.Sprint("late-", i), at)
		w.a.Create(ctx, own, capi)
		asking = append(asking, own, capi)
	}
	Expect(late.Resume()).To(Succeed())
	for _, claim := range asking {
		w.a.NotReady(ctx, claim, ipamv1.ClaimReadyPoolNotReadyReason)
	}
	for _, r := range w.a.InSpace(ctx) {
		Expect(r.Spec.Purpose).To(Equal(ipamv1.HandBackPurpose), "%v", r.Spec)
	}
	look(ctx)
}, SpecTimeout(5*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// unmanaged does something while no manager runs in the cluster.
func (c *cluster) unmanaged(ctx context.Context, do func()) {
	GinkgoHelper()
	defer c.serve(ctx, c.flags...)
	Expect(c.KillManagers()).To(Succeed())
	Expect(c.RemoveWebhooks(ctx)).To(Succeed())
	do()
}

// strip removes objects behind their finalizers' backs.
func strip(ctx context.Context, at *suite.Spec, objs ...client.Object) {
	GinkgoHelper()
	finalizers := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for _, obj := range objs {
		Expect(client.IgnoreNotFound(at.Client.Delete(ctx, obj))).To(Succeed())
		Expect(client.IgnoreNotFound(at.Client.Patch(ctx, obj, finalizers))).To(Succeed())
	}
	at.Gone(ctx, objs...)
}

// vanishes removes a pool at the hub past its finalizer, before its member can be ordered to hand the block back.
func (w *world) vanishes(ctx context.Context, p ownPool) {
	GinkgoHelper()
	hub.unmanaged(ctx, func() { strip(ctx, w.hub, p) })
}

// goesOn expects that a copy is being deleted, keeps what these claims have, and hands out nothing more; it is not closing.
func goesOn(ctx context.Context, at *suite.Spec, copied ownPool, held ...suite.Conditioned) {
	GinkgoHelper()
	at.NotReady(ctx, copied, ipamv1.PoolReadyDeletingReason, "2 allocations are still in use")
	refuses(ctx, at, copied, "is being deleted")
	Expect(copied.PoolSpec().Mode).NotTo(Equal(ipamv1.ClosingMode))
	at.Ready(ctx, held...)
	Expect(handedBack(ctx, at)).To(BeEmpty())
}

var _ = It("Finalizer stripped: the member keeps what its claims have, the block is held, and the pool that is made again is served", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	record := w.hub.Record(ctx, p)
	w.vanishes(ctx, p)
	w.hub.Refuses(ctx, w.local("next", edgeB, 24).Build(), 507, "exhausted")
	Expect(w.hub.Record(ctx, p)).To(And(HaveField("UID", record.UID), HaveField("DeletionTimestamp", BeNil())))
	goesOn(ctx, w.a, at, own, capi)

	By("making it again")
	uid := at.GetUID()
	again := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, again)
	Expect(again.Spec.CIDR).To(Equal("10.0.0.0/24"))
	w.hub.Gone(ctx, record)
	w.a.Delete(ctx, own, capi)
	answers(ctx, w.a, "later", arrived(ctx, w.a, again), "10.0.0.0/24")
	Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
	Expect(at.GetUID()).NotTo(Equal(uid))
	Expect(handedBack(ctx, w.a)).To(BeEmpty())
}, SpecTimeout(5*time.Minute))

var _ = It("Made again under its name, other block: the old copy refuses it until it has gone, the old block stays held, and the new one is served", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	record := w.hub.Record(ctx, p)
	w.vanishes(ctx, p)
	goesOn(ctx, w.a, at, own, capi)
	again := w.local("team", edgeA, 24).WithCIDR("10.0.1.0/24").Build()
	w.hub.Create(ctx, again)
	w.hub.Ready(ctx, again)
	key := client.ObjectKeyFromObject(again)
	kind := ipamv1.GroupVersion.WithKind(ipamv1.IPPoolKind)
	Eventually(func() error { return placement.Applied(edgeA.name, kind, key) }, patience, "100ms").Should(
		suite.Refused(http.StatusUnprocessableEntity, "spec.cidr", "cidr is set once"))
	goesOn(ctx, w.a, at, own, capi)
	Expect(at.PoolSpec().CIDR).To(Equal("10.0.0.0/24"))

	By("releasing what keeps the old copy")
	w.a.Delete(ctx, own, capi)
	answers(ctx, w.a, "new", arrived(ctx, w.a, again), "10.0.1.0/24")
	Expect(handedBack(ctx, w.a)).To(BeEmpty())
	Expect(w.hub.Record(ctx, p).UID).To(Equal(record.UID))
	w.hub.Delete(ctx, record)
	w.hub.Ready(ctx, again)
}, SpecTimeout(5*time.Minute))

var _ = It("Made again under its name, same block, same member: the copy goes on under its claims, and hands back for the later pool alone", func(ctx SpecContext) {
	carryByHand()
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	Expect(w.a.Client.Create(ctx, marked("edge-a", p))).To(Succeed())
	at := arrived(ctx, w.a, p)
	uid := at.GetUID()
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	record := w.hub.Record(ctx, p)
	w.vanishes(ctx, p)
	again := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, again)
	w.hub.Gone(ctx, record)
	w.carry(ctx, w.a, again)
	w.a.Ready(ctx, at, own, capi)
	Expect(at.GetUID()).To(Equal(uid))
	nextOwn, _ := answers(ctx, w.a, "next", at, "10.0.0.0/24")
	_, nextCAPI := claims(w.a, "next", at)

	By("deleting it, with a report about the earlier one")
	Expect(w.report(ctx, again, &ipamv1.MemberStatus{Cluster: "edge-a", Released: &ipamv1.ReleasedTemplate{TemplateUID: string(p.UID)}})).To(Succeed())
	Expect(w.hub.Client.Delete(ctx, again)).To(Succeed())
	w.withholds(ctx, again, "another pool of the name, UID "+string(p.UID))
	w.carry(ctx, w.a, again)
	Expect(handedBack(ctx, w.a)).To(BeEmpty())
	w.a.Delete(ctx, own, capi, nextOwn, nextCAPI)
	handsBack(ctx, w.a, at, string(again.UID))
	w.comesBack(ctx, again)
}, SpecTimeout(5*time.Minute))

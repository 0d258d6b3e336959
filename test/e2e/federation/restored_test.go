// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var _ = It("Member rebuilt under its name: it is empty, the copy comes to it and is served, and its later report counts", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	uid := at.GetUID()
	own, address := answers(ctx, w.a, "before", at, "10.0.0.0/24")
	_, capi := claims(w.a, "before", at)
	record := w.hub.Record(ctx, p)

	By("losing all that the member has")
	mend := placement.CutOff(edgeA.name)
	defer mend()
	edgeA.unmanaged(ctx, func() {
		strip(ctx, w.a, own, capi, address, at)
		for _, r := range w.a.InSpace(ctx) {
			strip(ctx, w.a, &r)
		}
	})
	mend()
	at = arrived(ctx, w.a, p)
	Expect(at.GetUID()).NotTo(Equal(uid))
	own, _ = answers(ctx, w.a, "after", at, "10.0.0.0/24")
	_, capi = claims(w.a, "after", at)
	w.hub.Ready(ctx, p)
	Expect(w.hub.Record(ctx, p).UID).To(Equal(record.UID))

	By("taking the block back")
	Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
	closes(ctx, w.a, p)
	w.a.Delete(ctx, own, capi)
	w.comesBack(ctx, p)
	w.hub.Gone(ctx, record)
	Expect(handedBack(ctx, w.a)).To(ConsistOf(HaveField("Spec.ClaimRef.UID", string(p.UID))))
}, SpecTimeout(5*time.Minute))

// That two may have the block where nobody compares is what the look at all clusters finds: see test/framework/federation_test.go.
var _ = It("Member restored to before a hand-back: compared with the hub before its manager starts, it serves nothing of the block", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	restored, _ := at.DeepCopyObject().(ownPool)
	restored.SetUID("")
	restored.SetResourceVersion("")
	takeBack(ctx, w, p)
	back := handsBack(ctx, w.a, at, string(p.GetUID()))
	free(ctx, w, p)
	w.a.Gone(ctx, at)
	next := w.local("next", edgeB, 24).Build()
	w.hub.Create(ctx, next)
	answers(ctx, w.b, "next", arrived(ctx, w.b, next), "10.0.0.0/24")

	By("restoring the copy, without the record of the hand-back")
	edgeA.unmanaged(ctx, func() {
		strip(ctx, w.a, &back)
		own, capi := claims(w.a, "restored", restored)
		w.a.Create(ctx, restored, own, capi)

		By("comparing it with the hub's pools")
		pools := &ipamv1.IPPoolList{}
		Expect(w.hub.Client.List(ctx, pools)).To(Succeed())
		Expect(pools.Items).NotTo(ContainElement(HaveField("UID", types.UID(restored.GetAnnotations()[ipamv1.TemplateAnnotation]))))
		Expect(w.a.Client.Delete(ctx, restored)).To(Succeed())
	})
	w.a.Gone(ctx, restored)
	own, capi := claims(w.a, "restored", restored)
	w.a.NotReady(ctx, own, ipamv1.ClaimReadyPoolNotReadyReason)
	w.a.NotReady(ctx, capi, ipamv1.ClaimReadyPoolNotReadyReason)
	late, _ := claims(w.a, "late", restored)
	w.a.Refuses(ctx, late, http.StatusNotFound, `"team"`)
	addresses := &ipamv1beta2.IPAddressList{}
	Expect(w.a.Client.List(ctx, addresses, client.InNamespace(w.a.Namespace))).To(Succeed())
	Expect(addresses.Items).To(BeEmpty())
	Expect(w.a.InSpace(ctx)).To(BeEmpty())
	look(ctx)
}, SpecTimeout(5*time.Minute))

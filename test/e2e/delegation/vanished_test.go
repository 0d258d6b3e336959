// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("Finalizer stripped: the record is held, and made again for the same member the pool takes its block over", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	record := w.Record(ctx, p)
	strip(ctx, p)
	holds(ctx, w.root, "10.0.0.0/26 is delegated to edge-a and IPPool "+w.Namespace+"/team is gone",
		"create it again with this cidr and delegateTo", "delete IPAllocation "+w.Namespace+"/"+record.Name)
	Expect(manager.Restart(ctx)).To(Succeed())
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	Expect(w.Record(ctx, p)).To(And(HaveField("UID", record.UID), HaveField("DeletionTimestamp", BeNil())))
	holds(ctx, w.root, "10.0.0.0/26")

	By("making it again")
	again := w.make(ctx, w.delegated().Build())
	Expect(again.Spec.CIDR).To(Equal("10.0.0.0/26"))
	w.standsFor(ctx, again)
	w.Gone(ctx, record)
	holdsNothing(ctx, w.root)
}, SpecTimeout(5*time.Minute))

var _ = It("Finalizer stripped, made again under its name: with another block or member the old block stays held", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	record := w.Record(ctx, p)
	strip(ctx, p)
	for _, other := range []*ipamv1.IPPool{
		w.pool("team").DelegatedTo("edge-b").WithCIDR("10.0.0.0/26").Build(), w.pool("team").WithCIDR("10.0.0.0/26").Build(),
	} {
		Expect(k.Create(ctx, other)).To(suite.Refused(http.StatusConflict, "10.0.0.0/26 is in use"))
	}
	By("going to another member")
	other := w.make(ctx, w.pool("team").DelegatedTo("edge-b").Build())
	Expect(other.Spec.CIDR).To(Equal("10.0.0.64/26"))
	holds(ctx, w.root, "10.0.0.0/26 is delegated to edge-a")
	w.force(ctx, other, "edge-a")
	w.NotReady(ctx, other, ipamv1.PoolReadyDeletingReason, `delegated to cluster "edge-b"`)
	w.say(ctx, other, "edge-b")
	w.Gone(ctx, other)

	By("having another block")
	other = w.make(ctx, w.delegated().WithCIDR("10.0.0.128/26").Build())
	Expect(manager.Restart(ctx)).To(Succeed())
	holds(ctx, w.root, "10.0.0.0/26 is delegated to edge-a")
	w.force(ctx, other, "edge-a")
	w.Gone(ctx, other)
	Expect(w.Record(ctx, p).UID).To(Equal(record.UID), "the word is about the pool's own block")
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")

	By("having the same again, to be deleted")
	again := w.make(ctx, w.delegated().WithCIDR("10.0.0.0/26").Build())
	w.standsFor(ctx, again)
	w.force(ctx, again, "edge-a")
	w.Gone(ctx, again)
	Eventually(func(g Gomega) { g.Expect(w.recordedFor(ctx, g, "team")).To(BeEmpty()) }, patience, "100ms").Should(Succeed())
	holdsNothing(ctx, w.root)
}, SpecTimeout(5*time.Minute))

var _ = It("Hub restored to before a delegation: it holds the block of the pool that is made with the copy's cidr before anything else is carved", func(ctx SpecContext) {
	w := newWorld(ctx)
	p := w.make(ctx, w.delegated().Build())
	record := w.Record(ctx, p)
	strip(ctx, p)
	w.Delete(ctx, record)
	holdsNothing(ctx, w.root)
	Expect(manager.Restart(ctx)).To(Succeed())

	By("making what the member has a copy of")
	again := w.make(ctx, w.delegated().WithCIDR(p.Spec.CIDR).Build())
	w.standsFor(ctx, again)
	w.fill(ctx, "10.0.0.64/26", "10.0.0.128/26", "10.0.0.192/26")
	relay(ctx, again, handedBack("edge-a", string(p.UID), nil))
	Expect(k.Delete(ctx, again)).To(Succeed())
	w.NotReady(ctx, again, ipamv1.PoolReadyDeletingReason, "handed back the block of another pool of the name, UID "+string(p.UID))
	w.standsFor(ctx, again)
	relay(ctx, again, handedBack("edge-a", string(again.UID), nil))
	w.Gone(ctx, again)
}, SpecTimeout(5*time.Minute))

var _ = It("Namespace force-finalised: the record is held, and the namespace controller does not mark it", func(ctx SpecContext) {
	w := newWorld(ctx)
	root := w.GlobalRoot("root", "10.1.0.0/24").WithLengths(24, 32, 0).Build()
	w.Create(ctx, root)
	namespace := w.Another(ctx, nil)
	team := func() *ipamv1.IPPool {
		return builder.IPPool(namespace, "team").WithParent(ipamv1.GlobalIPPoolKind, "", root.Name).WithBits(25).DelegatedTo("edge-a").Build()
	}
	p := w.make(ctx, team())
	record := w.Record(ctx, p)
	deleted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	Expect(k.Delete(ctx, deleted)).To(Succeed())
	w.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, `delegated to cluster "edge-a"`, "its namespace is being deleted")
	Expect(p.Spec.Mode).To(Equal(ipamv1.ClosingMode))
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(deleted), deleted)).To(Succeed())
		g.Expect(deleted.Status.Conditions).To(ContainElement(And(HaveField("Status", corev1.ConditionTrue), HaveField("Message", ContainSubstring("ipallocations")))))
	}, patience, "100ms").Should(Succeed())
	Expect(w.Record(ctx, p).DeletionTimestamp).To(BeNil())

	By("taking what keeps it away")
	strip(ctx, p)
	deleted.Spec.Finalizers = nil
	Expect(k.SubResource("finalize").Update(ctx, deleted)).To(Succeed())
	w.Gone(ctx, deleted)
	holds(ctx, root, "10.1.0.0/25 is delegated to edge-a and its pool is gone", "delete the IPAllocation of that spec.cidr")
	Expect(manager.Restart(ctx)).To(Succeed())
	holds(ctx, root, "10.1.0.0/25")
	Expect(w.Record(ctx, p)).To(And(HaveField("UID", record.UID), HaveField("DeletionTimestamp", BeNil())))

	By("making namespace and pool again")
	w.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	again := w.make(ctx, team())
	Expect(again.Spec.CIDR).To(Equal("10.1.0.0/25"))
	w.standsFor(ctx, again)
	holdsNothing(ctx, root)
}, SpecTimeout(5*time.Minute))

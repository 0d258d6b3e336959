// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// carryByHand has the propagation rest until the spec ends, which places copies itself.
func carryByHand() {
	placement.Stop()
	DeferCleanup(func() {
		placement.Stop() // where the spec has started it
		placement.Start()
	})
}

// marked returns what Karmada sends a member of a pool at the hub.
func marked(member string, p ownPool) *unstructured.Unstructured {
	GinkgoHelper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	Expect(err).NotTo(HaveOccurred())
	template := &unstructured.Unstructured{Object: content}
	template.SetGroupVersionKind(ipamv1.GroupVersion.WithKind(kindOf(p)))
	return propagator.CopyFor(member, template)
}

// carry sends a member the pool as the hub has it now, in place of the propagation.
func (w *world) carry(ctx context.Context, to *suite.Spec, p ownPool) {
	GinkgoHelper()
	Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
	stored := copyOf(p)
	suite.Change(ctx, to.Client, stored, func() {
		annotations := stored.GetAnnotations()
		maps.Copy(annotations, marked(strings.TrimPrefix(annotations[propagator.WorkNamespaceAnnotation], "karmada-es-"), p).GetAnnotations())
		stored.SetAnnotations(annotations)
		stored.PoolSpec().Mode = p.PoolSpec().Mode
	})
}

var _ = DescribeTable("A copy that is placed at a member that it is not for is not served there, and says so:",
	func(ctx SpecContext, kind string) {
		carryByHand()
		w := newWorld(ctx, "10.0.0.0/16")
		p := w.delegated(kind, "team", edgeA)
		w.hub.Create(ctx, p)
		Expect(w.b.Client.Create(ctx, marked("edge-b", p))).To(Succeed())
		at := copyOf(p)
		w.b.NotReady(ctx, at, ipamv1.PoolReadyDelegatedElsewhereReason, "spec.delegateTo", `"edge-a"`, `--cluster-name is "edge-b"`)
		refuses(ctx, w.b, at, `is delegated to cluster "edge-a"`)
		Expect(w.b.InSpace(ctx)).To(BeEmpty())

		By("going when it is deleted")
		w.b.Delete(ctx, at)
	},
	suite.FromLong(Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind)),
	Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind),
)

var _ = It("Placement moved to another member: the copy goes once nothing is in use, and the block is held for the member that the pool names", func(ctx SpecContext) {
	carryByHand()
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	Expect(w.a.Client.Create(ctx, marked("edge-a", p))).To(Succeed())
	at := arrived(ctx, w.a, p)
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	record := w.hub.Record(ctx, p)
	Expect(w.a.Client.Delete(ctx, at)).To(Succeed())
	Expect(w.b.Client.Create(ctx, marked("edge-b", p))).To(Succeed())
	moved := copyOf(p)
	w.b.NotReady(ctx, moved, ipamv1.PoolReadyDelegatedElsewhereReason, `"edge-a"`, `--cluster-name is "edge-b"`)
	refuses(ctx, w.b, moved, `is delegated to cluster "edge-a"`)
	Expect(w.b.InSpace(ctx)).To(BeEmpty())
	goesOn(ctx, w.a, at, own, capi)
	w.a.Delete(ctx, own, capi)
	w.a.Gone(ctx, at)
	Expect(handedBack(ctx, w.a)).To(BeEmpty())

	By("holding the block at the hub, whatever the other member reports")
	w.hub.Ready(ctx, p)
	w.hub.Refuses(ctx, w.local("next", edgeB, 24).WithCIDR("10.0.0.0/24").Build(), http.StatusConflict, "10.0.0.0/24 is in use")
	Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
	Expect(w.report(ctx, p, &ipamv1.MemberStatus{Cluster: "edge-b", Released: &ipamv1.ReleasedTemplate{TemplateUID: string(p.UID)}})).To(Succeed())
	w.withholds(ctx, p, `the report is of cluster "edge-b", not of "edge-a"`)
	w.force(ctx, p, "edge-a")
	w.hub.Gone(ctx, p, record)
	w.b.Delete(ctx, moved)
}, SpecTimeout(5*time.Minute))

var _ = DescribeTable("A copy at a member that Karmada calls otherwise is not served, and says so, until it is marked as that member's:",
	func(ctx SpecContext, kind string) {
		carryByHand()
		w := newWorld(ctx, "10.0.0.0/16")
		p := w.delegated(kind, "team", edgeA)
		w.hub.Create(ctx, p)
		Expect(w.a.Client.Create(ctx, marked("edge-b", p))).To(Succeed())
		at := copyOf(p)
		w.a.NotReady(ctx, at, ipamv1.PoolReadyDelegatedElsewhereReason, `"edge-a"`, "Karmada calls this cluster otherwise")

		By("being this member's copy after all, and not")
		mark := func(member string) {
			suite.Change(ctx, w.a.Client, at, func() { at.GetAnnotations()[propagator.WorkNamespaceAnnotation] = "karmada-es-" + member })
		}
		mark("edge-a")
		w.a.Ready(ctx, at)
		held, _ := answers(ctx, w.a, "held", at, p.PoolSpec().CIDR)
		mark("edge-b")
		w.a.NotReady(ctx, at, ipamv1.PoolReadyDelegatedElsewhereReason)
		refuses(ctx, w.a, at, `is delegated to cluster "edge-a"`)
		w.a.Ready(ctx, held)
		Expect(w.a.Record(ctx, held).Spec.CIDR).To(Equal(held.Spec.CIDR))
		mark("edge-a")
		w.a.Ready(ctx, at)
		next, _ := answers(ctx, w.a, "next", at, p.PoolSpec().CIDR)
		Expect(next.Spec.CIDR).NotTo(Equal(held.Spec.CIDR))
	},
	Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind),
	suite.FromLong(Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind)),
)

var _ = DescribeTable("A copy is refused at a member when",
	func(ctx SpecContext, at func(*world) *suite.Spec, copied func(ownPool) client.Object, code int32, words ...string) {
		carryByHand()
		w := newWorld(ctx, "10.0.0.0/16")
		for _, p := range []ownPool{w.local("team", edgeA, 24).Build(), w.global("site", edgeA, 24).Build()} {
			w.hub.Create(ctx, p)
			at(w).Refuses(ctx, copied(p), code, words...)
		}
	},
	Entry("it came before it had its block", SpecTimeout(5*time.Minute),
		func(w *world) *suite.Spec { return w.a },
		func(p ownPool) client.Object {
			early := marked("edge-a", p)
			unstructured.RemoveNestedField(early.Object, "spec", "cidr")
			return early
		}, int32(http.StatusUnprocessableEntity), "spec.cidr", "Required"),
	Entry("it is written by hand without its block", SpecTimeout(5*time.Minute),
		func(w *world) *suite.Spec { return w.a },
		func(p ownPool) client.Object { return bare(p, func(spec *ipamv1.IPPoolSpec) { spec.CIDR = "" }) },
		int32(http.StatusUnprocessableEntity), "spec.cidr", "Required"),
	Entry("it is for another one, and written by hand", SpecTimeout(5*time.Minute),
		func(w *world) *suite.Spec { return w.b },
		func(p ownPool) client.Object { return bare(p, func(*ipamv1.IPPoolSpec) {}) },
		int32(http.StatusNotFound), "spec.parentRef.name", "there is no GlobalIPPool"),
)

// bare returns a manifest of a pool that nothing marks.
func bare(p ownPool, change func(*ipamv1.IPPoolSpec)) client.Object {
	manifest := copyOf(p)
	p.PoolSpec().DeepCopyInto(manifest.PoolSpec())
	change(manifest.PoolSpec())
	return manifest
}

var _ = DescribeTable("A copy that overlaps a root of the member's is refused in the member's words, and comes when the root has gone:",
	func(ctx SpecContext, kind string) {
		w := newWorld(ctx, "10.0.0.0/16")
		root := w.a.Root("lab", "10.0.0.128/25").Build()
		w.a.Create(ctx, root)
		w.a.Ready(ctx, root)
		p := w.delegated(kind, "team", edgeA)
		w.hub.Create(ctx, p)
		w.hub.Ready(ctx, p)
		key := client.ObjectKeyFromObject(p)
		Eventually(func() error { return placement.Applied(edgeA.name, ipamv1.GroupVersion.WithKind(kind), key) }, patience, "100ms").Should(
			suite.Refused(http.StatusUnprocessableEntity, "spec.cidr", "overlaps", "10.0.0.0/24", "10.0.0.128/25", "lab"))
		Expect(w.a.Client.Get(ctx, key, copyOf(p))).To(Satisfy(apierrors.IsNotFound))
		Expect(w.a.InSpace(ctx)).To(HaveLen(1), "the root's block")

		By("refusing the root once the copy is there")
		w.a.Delete(ctx, root)
		answers(ctx, w.a, "first", arrived(ctx, w.a, p), "10.0.0.0/24")
		w.a.Refuses(ctx, w.a.Root("lab", "10.0.0.128/25").Build(), http.StatusUnprocessableEntity, "spec.cidr", "overlaps", "10.0.0.128/25", "team")
	},
	suite.FromLong(Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind)),
	Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind),
)

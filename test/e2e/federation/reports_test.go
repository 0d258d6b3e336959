// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// reported waits until the hub says of a pool that it is delegated so, with these words, and all this holds for its status.
func reported(ctx context.Context, at *suite.Spec, p ownPool, status metav1.ConditionStatus, reason, words string, holds ...types.GomegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(at.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		c := meta.FindStatusCondition(p.GetConditions(), ipamv1.DelegatedCondition)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c).To(And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(words))))
		g.Expect(statusOf(p)).To(And(holds...))
	}, patience, "100ms").Should(Succeed())
}

// uses holds for a status that shows what the member has handed out of a /24.
func uses(allocated, available, utilization string) types.GomegaMatcher {
	return And(HaveField("Capacity", And(HaveField("Total", "256"), HaveField("Allocated", allocated), HaveField("Available", available))),
		HaveField("Utilization", utilization))
}

// unknown holds for a status that shows nothing of the member's.
func unknown() types.GomegaMatcher {
	return And(HaveField("Member", BeNil()), HaveField("Capacity.Total", "256"), HaveField("Capacity.Available", "0"), HaveField("Utilization", ""))
}

// applyToHub applies manifests of the repository.
func applyToHub(ctx context.Context, elem ...string) {
	GinkgoHelper()
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	objects, err := framework.ReadManifests(filepath.Join(append([]string{root, "config"}, elem...)...))
	Expect(err).NotTo(HaveOccurred())
	Expect(framework.Apply(ctx, hub.Config(), objects...)).To(Succeed())
}

// karmadaAppears installs Karmada's bindings at the hub, which nobody there may read.
func karmadaAppears(ctx context.Context) {
	GinkgoHelper()
	objects, err := framework.ParseManifests([]byte(propagator.BindingCRDs))
	Expect(err).NotTo(HaveOccurred())
	Expect(framework.Apply(ctx, hub.Config(), objects...)).To(Succeed())
	placement.Bind()
}

// mayReadBindings gives the hub's manager the right, as the component for hubs does.
func mayReadBindings(ctx context.Context) {
	GinkgoHelper()
	applyToHub(ctx, "components", "federation", "bindings_reader_role.yaml")
	applyToHub(ctx, "components", "federation", "role_binding.yaml")
}

var _ = Describe("What members report is shown at the hub", Ordered, func() {
	It("once Karmada's API is there and may be read: before, pools say what is missing, and are delegated all the same", func(ctx SpecContext) {
		w := newWorld(ctx, "10.0.0.0/16")
		team, site := w.local("team", edgeA, 24).Build(), w.global("site", edgeA, 24).Build()
		w.hub.Create(ctx, team, site)
		answers(ctx, w.a, "first", arrived(ctx, w.a, team), "10.0.0.0/24")
		answers(ctx, w.a, "second", arrived(ctx, w.a, site), "10.0.1.0/24")
		reported(ctx, w.hub, team, metav1.ConditionUnknown, "NotReported", "ResourceBinding of work.karmada.io/v1alpha2 is not served here", unknown())
		reported(ctx, w.hub, site, metav1.ConditionUnknown, "NotReported", "ClusterResourceBinding of work.karmada.io/v1alpha2 is not served here", unknown())
		w.hub.Ready(ctx, team, site)

		By("serving the API, which the manager may not read")
		karmadaAppears(ctx)
		reported(ctx, w.hub, team, metav1.ConditionUnknown, "NotReported", `cannot list resource "resourcebindings" in API group "work.karmada.io"`, unknown())
		reported(ctx, w.hub, site, metav1.ConditionUnknown, "NotReported", `cannot list resource "clusterresourcebindings" in API group "work.karmada.io"`, unknown())
		w.hub.Ready(ctx, team, site)

		By("giving the right, without another start of the manager")
		mayReadBindings(ctx)
		for _, p := range []ownPool{team, site} {
			reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", `cluster "edge-a" serves the pool`, uses("2", "252", "1%"), HaveField("Claims", HaveValue(BeEquivalentTo(2))))
		}

		By("taking the right away, which leaves what was reported last, and giving it again")
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "weir-system-bindings-reader-rolebinding"}}
		Expect(hub.Client().Delete(ctx, binding)).To(Succeed())
		reported(ctx, w.hub, team, metav1.ConditionTrue, "Serving", `this was reported last: listing ResourceBindings: `, uses("2", "252", "1%"))
		answers(ctx, w.a, "meanwhile", team, "10.0.0.0/24")
		mayReadBindings(ctx)
		reported(ctx, w.hub, team, metav1.ConditionTrue, "Serving", "", uses("4", "250", "2%"))
		reported(ctx, w.hub, site, metav1.ConditionTrue, "Serving", "", uses("2", "252", "1%"))
	}, SpecTimeout(8*time.Minute))

	It("also what the member hands out later, in capacity, utilisation and claims, while the hub hands out nothing", func(ctx SpecContext) {
		w := newWorld(ctx, "10.0.0.0/16")
		p := w.local("team", edgeB, 24).Build()
		w.hub.Create(ctx, p)
		at := arrived(ctx, w.b, p)
		own, _ := answers(ctx, w.b, "first", at, "10.0.0.0/24")
		carved := child(w.b, "carved", at, 25).Build()
		w.b.Create(ctx, carved)
		member := HaveField("Member", HaveValue(And(HaveField("Cluster", "edge-b"), HaveField("Applied", "True"), HaveField("Reason", "Available"))))
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "", HaveField("Capacity.Delegated", "128"), HaveField("Capacity.Allocated", "2"), member)
		refuses(ctx, w.hub, p, `is delegated to cluster "edge-b"`)
		w.b.Delete(ctx, own, carved)
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "", uses("1", "253", "1%"), member)
		Expect(p.GetResourceVersion()).NotTo(BeEmpty())

		By("starting the hub's manager again")
		Expect(hub.manager.Restart(ctx)).To(Succeed())
		answers(ctx, w.b, "later", at, "10.0.0.0/24")
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "", uses("3", "251", "1%"))
	}, SpecTimeout(8*time.Minute))

	It("a refused copy in the member's words, and one that the member does not serve", func(ctx SpecContext) {
		w := newWorld(ctx, "10.0.0.0/16")
		root := w.a.Root("lab", "10.0.0.128/25").Build()
		w.a.Create(ctx, root)
		w.a.Ready(ctx, root)
		p := w.local("team", edgeA, 24).Build()
		w.hub.Create(ctx, p)
		reported(ctx, w.hub, p, metav1.ConditionFalse, "Refused", `overlaps`, HaveField("Capacity.Available", "0"),
			HaveField("Member.Message", And(ContainSubstring("spec.cidr"), ContainSubstring("lab"))))
		w.hub.Ready(ctx, p)
		w.a.Delete(ctx, root)
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "", uses("0", "254", "0%"))

		By("draining it")
		suite.Change(ctx, w.hub.Client, p, func() { p.Spec.Mode = ipamv1.DrainingMode })
		reported(ctx, w.hub, p, metav1.ConditionFalse, "NotServing", "Draining: the pool hands out nothing more")
	}, SpecTimeout(8*time.Minute))

	It("as it was reported last while the member is cut off, and that a pool made meanwhile has not been sent", func(ctx SpecContext) {
		w := newWorld(ctx, "10.0.0.0/16")
		p := w.local("team", edgeA, 24).Build()
		w.hub.Create(ctx, p)
		at := arrived(ctx, w.a, p)
		answers(ctx, w.a, "first", at, "10.0.0.0/24")
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "", uses("2", "252", "1%"))
		mend := placement.CutOff(edgeA.name)
		defer mend()
		answers(ctx, w.a, "meanwhile", at, "10.0.0.0/24")
		next := w.local("next", edgeA, 24).Build()
		w.hub.Create(ctx, next)
		reported(ctx, w.hub, next, metav1.ConditionUnknown, "NotReported", `Karmada has not sent the pool to cluster "edge-a" yet`, unknown())
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "", uses("2", "252", "1%"))
		mend()
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "", uses("4", "250", "2%"))
		reported(ctx, w.hub, next, metav1.ConditionTrue, "Serving", "")
	}, SpecTimeout(8*time.Minute))

	It("and stays where the binding goes, or another relays it: nothing newer overwrites what stands", func(ctx SpecContext) {
		carryByHand()
		w := newWorld(ctx, "10.0.0.0/16")
		p := w.local("team", edgeA, 24).Build()
		w.hub.Create(ctx, p)
		reported(ctx, w.hub, p, metav1.ConditionUnknown, "NotReported", "no ResourceBinding of work.karmada.io is for the pool", unknown())
		relayed := &ipamv1.MemberStatus{Cluster: "edge-a", Capacity: ipamv1.Capacity{Total: "256", Allocated: "9", Available: "245"}}
		relay := func() {
			before := p.DeepCopy()
			p.Status.Member = relayed
			Expect(w.hub.Client.Status().Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		}
		relay()
		reported(ctx, w.hub, p, metav1.ConditionTrue, "Serving", "this was reported last: no ResourceBinding", HaveField("Capacity.Allocated", "9"))

		By("having a binding, and losing it")
		binding := propagator.BindingOf(p, ipamv1.IPPoolKind)
		binding.Object["spec"] = map[string]any{"resource": map[string]any{
			"apiVersion": ipamv1.GroupVersion.String(), "kind": ipamv1.IPPoolKind, "namespace": p.Namespace, "name": p.Name, "uid": string(p.UID),
		}}
		Expect(w.hub.Client.Create(ctx, binding)).To(Succeed())
		binding.Object["status"] = map[string]any{"aggregatedStatus": []any{map[string]any{
			"clusterName": "edge-a", "appliedMessage": "spec.cidr: overlaps",
		}}}
		Expect(w.hub.Client.Status().Update(ctx, binding)).To(Succeed())
		reported(ctx, w.hub, p, metav1.ConditionFalse, "Refused", "spec.cidr: overlaps", HaveField("Capacity.Allocated", "9"))
		Expect(w.hub.Client.Delete(ctx, binding)).To(Succeed())
		reported(ctx, w.hub, p, metav1.ConditionFalse, "Refused", "this was reported last: no ResourceBinding", HaveField("Capacity.Allocated", "9"))
	}, SpecTimeout(8*time.Minute))

	It("and makes one further pool for each shortage, with three managers: claims by selector go on, and none fails for longer than until that pool arrives", func(ctx SpecContext) {
		applyToHub(ctx, "components", "federation", "expander_role.yaml")
		applyToHub(ctx, "components", "federation", "expander_role_binding.yaml")
		for range 2 {
			other := suite.StartManager(ctx, hub.Site, hub.flags...)
			DeferCleanup(other.Kill)
		}
		e := &tier{world: newWorld(ctx, "10.0.0.0/24"), shortages: size.Of(2, 10, 10)}
		e.begin(ctx)
		last := e.shortages * tierRoom
		for n := range tierRoom - 1 {
			Expect(e.claim(ctx, n)).To(Equal("tier"))
		}
		e.arrives(ctx, 2)
		for n := tierRoom - 1; n <= tierRoom; n++ {
			e.claim(ctx, n)
		}
		Expect(e.refused).To(BeZero(), "the further pool came before the first was full")
		for n := tierRoom + 1; n <= last; n++ {
			e.claim(ctx, n)
		}
		framework.Account(fmt.Sprintf("expansion: %d claims by selector, %d shortages, %d claims waited for a pool", last+1, e.shortages, e.refused))

		By("having the numbers of all reported, which are those of so many shortages")
		e.isExpanded(ctx, last+1)
	}, SpecTimeout(8*time.Minute))

	It("and frees the blocks of pools that are deleted, member up, with nobody's help: one in use, and one that no claim has used", func(ctx SpecContext) {
		w := newWorld(ctx, "10.0.0.0/24")
		used, unused := w.local("used", edgeA, 25).Build(), w.global("unused", edgeA, 25).Build()
		w.hub.Create(ctx, used, unused)
		own, _ := answers(ctx, w.a, "first", arrived(ctx, w.a, used), "10.0.0.0/25")
		_, capi := claims(w.a, "first", used)
		record := w.hub.Record(ctx, used)
		arrived(ctx, w.a, unused)
		Expect(w.hub.Client.Delete(ctx, used)).To(Succeed())
		Expect(w.hub.Client.Delete(ctx, unused)).To(Succeed())
		closed := closes(ctx, w.a, used)
		w.withholds(ctx, used, "of its addresses 2 allocated")
		w.a.Delete(ctx, own, capi)
		w.hub.Gone(ctx, used, record, unused)
		w.a.Gone(ctx, closed, copyOf(unused))
		staysHandedBack(ctx, w.a, "10.0.0.0/25", "10.0.0.128/25")
		events := &eventsv1.EventList{}
		Expect(w.hub.Client.List(ctx, events)).To(Succeed())
		Expect(events.Items).NotTo(ContainElement(And(HaveField("Reason", ipamv1.BlockForceReleasedReason),
			HaveField("Regarding.UID", Or(Equal(used.UID), Equal(unused.UID))))))
	}, SpecTimeout(5*time.Minute))

	It("but not once the hub's namespace is deleted: the pool says so, its copy goes when nothing is in use, and the block is held until force-release", func(ctx SpecContext) {
		w := newWorld(ctx, "10.0.0.0/24")
		p := w.local("team", edgeA, 24).Build()
		w.hub.Create(ctx, p)
		at := arrived(ctx, w.a, p)
		own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
		_, capi := claims(w.a, "held", at)
		record := w.hub.Record(ctx, p)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.hub.Namespace}}
		mend := placement.CutOff(edgeA.name) // until the binding has gone: the order may be as quick
		defer mend()
		Expect(w.hub.Client.Delete(ctx, namespace)).To(Succeed())
		w.hub.Gone(ctx, propagator.BindingOf(p, ipamv1.IPPoolKind))
		mend()
		w.withholds(ctx, p, "its namespace is being deleted: by Karmada neither the order to hand the block back nor a report gets through any more")
		goesOn(ctx, w.a, at, own, capi)
		w.a.Delete(ctx, own, capi)
		w.a.Gone(ctx, at)
		Expect(handedBack(ctx, w.a)).To(BeEmpty())

		By("holding the block")
		next := w.global("next", edgeB, 24)
		w.hub.Refuses(ctx, next.Build(), 507, "exhausted")
		w.withholds(ctx, p, `cluster "edge-a" has not`)
		Expect(w.hub.Record(ctx, p)).To(And(HaveField("UID", record.UID), HaveField("DeletionTimestamp", BeNil())))
		w.force(ctx, p, "edge-a")
		w.hub.Gone(ctx, p, record)
		freed := next.Build()
		w.hub.Create(ctx, freed)
		answers(ctx, w.b, "next", arrived(ctx, w.b, freed), "10.0.0.0/24")
		w.a.Gone(ctx, at)
	}, SpecTimeout(5*time.Minute))

	size.FromLong(func() { It(failuresTitle, failures, SpecTimeout(size.Of[time.Duration](0, 60, 120)*time.Minute)) })
})

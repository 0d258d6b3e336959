// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = DescribeTable("A copy is a root at its member, which hands out the block soon after it has arrived:",
	func(ctx SpecContext, kind string) {
		w := newWorld(ctx, "10.0.0.0/16")
		p := w.delegated(kind, "team", edgeB)
		p.SetLabels(map[string]string{"for": w.hub.Namespace})
		w.hub.Create(ctx, w.delegated(kind, "first", edgeA), p)
		at := copyOf(p)
		Eventually(func() error { return w.b.Client.Get(ctx, client.ObjectKeyFromObject(at), at) }, patience, "10ms").Should(Succeed())
		came := time.Now()
		own, _ := claims(w.b, "first", at)
		Eventually(func() error { return w.b.Client.Create(ctx, own) }, patience, "10ms").Should(Succeed())
		framework.Account(fmt.Sprintf("%s: the first claim of a copy was answered %d ms after its arrival", kind, time.Since(came).Milliseconds()))
		Expect(own.Spec.CIDR).To(Equal("10.0.1.1/32"))
		w.b.Ready(ctx, own, at)
		answers(ctx, w.b, "second", at, "10.0.1.0/24")
		chooses := builder.IPClaim(w.b.Namespace, "chooses").FromAny(kind, "for", w.hub.Namespace).Build()
		w.b.Create(ctx, chooses)
		Expect(chooses.Spec.PoolRef.Name).To(Equal(p.GetName()))
		record := w.b.Record(ctx, at)
		Expect(record.Spec.IsRootBlock()).To(BeTrue())
		Expect(record.Spec.CIDR).To(Equal("10.0.1.0/24"))
		Expect(record.Spec.AddressSpace).To(Equal(w.hub.Namespace))

		By("being nowhere else")
		Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), copyOf(p))).NotTo(Succeed())
		Eventually(func() []ipamv1.IPAllocation { return w.a.InSpace(ctx) }, patience, "100ms").Should(HaveLen(1), "the other pool's block")
	},
	Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind),
	suite.FromLong(Entry("a GlobalIPPool, whose home is the hub", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind)),
)

// stopHub stops the hub's API server, manager and propagation, and returns what starts them again.
func stopHub(ctx context.Context) (start func(context.Context)) {
	GinkgoHelper()
	Expect(look(ctx).Hub).To(Succeed(), "from now on this is what the hub has")
	placement.Stop()
	Expect(hub.KillManagers()).To(Succeed())
	restart, err := hub.KillAPIServer()
	Expect(err).NotTo(HaveOccurred())
	isUp := false
	start = func(ctx context.Context) {
		GinkgoHelper()
		if isUp {
			return
		}
		isUp = true
		Expect(restart(ctx)).To(Succeed())
		hub.serve(ctx, hub.flags...)
		placement.Start()
	}
	DeferCleanup(func(ctx SpecContext) { start(ctx) }, NodeTimeout(3*time.Minute))
	return start
}

var _ = It("While the hub's API server and manager and the propagation are stopped, members answer claims of all kinds and carve pools", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	team, site, other := w.local("team", edgeA, 24).Build(), w.global("site", edgeA, 24).Build(), w.local("other", edgeB, 24).Build()
	w.hub.Create(ctx, team, site, other)
	atTeam, atSite, atOther := arrived(ctx, w.a, team), arrived(ctx, w.a, site), arrived(ctx, w.b, other)
	before, _ := answers(ctx, w.a, "before", atTeam, "10.0.0.0/24")

	startHub := stopHub(ctx)
	Expect(hub.Client().List(ctx, &ipamv1.IPPoolList{})).NotTo(Succeed())
	By("answering claims of Weir's and of Cluster API")
	answers(ctx, w.a, "team", atTeam, "10.0.0.0/24")
	answers(ctx, w.a, "site", atSite, "10.0.1.0/24")
	answers(ctx, w.b, "other", atOther, "10.0.2.0/24")
	By("carving pools from copies, and answering claims of those")
	for _, parent := range []ownPool{atTeam, atSite} {
		carved := child(w.a, "of-"+parent.GetName(), parent, 28).Build()
		w.a.Create(ctx, carved)
		w.a.Ready(ctx, carved)
		answers(ctx, w.a, "of-"+parent.GetName(), carved, carved.Spec.CIDR)
	}
	By("answering Metal3's claims of a pool that is carved from a copy")
	metal3Answers(ctx, w.a, atSite, "10.0.1.100", "10.0.1.103")

	By("releasing, and starting the member's manager again")
	w.a.Delete(ctx, before)
	Expect(edgeA.manager.Restart(ctx)).To(Succeed())
	w.a.Ready(ctx, atTeam, atSite)
	answers(ctx, w.a, "again", atTeam, "10.0.0.0/24")
	report := look(ctx)
	Expect(report.Hub).To(HaveOccurred(), "it is away still")
	Expect(report.Blocks).To(BeNumerically(">=", 3))
	Expect(report.InUse).To(BeNumerically(">=", 20))

	By("starting the hub")
	startHub(ctx)
	w.hub.Ready(ctx, team, site, other)
	next := w.local("next", edgeA, 24).Build()
	w.hub.Create(ctx, next)
	answers(ctx, w.a, "next", arrived(ctx, w.a, next), "10.0.3.0/24")
}, SpecTimeout(8*time.Minute))

var _ = It("A copy that a person makes with kubectl is served like any other", func(ctx SpecContext) {
	carryByHand()
	w := newWorld(ctx, "10.0.0.0/16")
	team, site := w.local("team", edgeA, 24).Build(), w.global("site", edgeA, 24).Build()
	w.hub.Create(ctx, team, site)
	w.hub.Ready(ctx, team, site)
	Expect(propagator.Copy(ctx, hub, edgeA, "ippools.ipam.weir.dev", team.Name, "--namespace="+team.Namespace)).To(Succeed())
	Expect(propagator.Copy(ctx, hub, edgeA, "globalippools.ipam.weir.dev", site.Name)).To(Succeed())
	answers(ctx, w.a, "team", arrived(ctx, w.a, team), "10.0.0.0/24")
	answers(ctx, w.a, "site", arrived(ctx, w.a, site), "10.0.1.0/24")
}, SpecTimeout(5*time.Minute))

var _ = It("The Cluster that a pool belongs to at the hub means nothing to its copy, and the hub's pool pauses with it alone", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	prod := builder.Cluster(w.hub.Namespace, "prod").Build()
	p := w.local("team", edgeA, 24).WithCluster(prod.Name).Build()
	w.hub.Create(ctx, prod, p)
	at := arrived(ctx, w.a, p)
	answers(ctx, w.a, "first", at, "10.0.0.0/24")
	Eventually(func(g Gomega) {
		g.Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, prod.Name))
	}, patience, "50ms").Should(Succeed())
	suite.Change(ctx, w.hub.Client, prod, func() { prod.Spec.Paused = new(bool); *prod.Spec.Paused = true })
	w.hub.NotReady(ctx, p, ipamv1.PoolReadyPausedReason)
	answers(ctx, w.a, "second", at, "10.0.0.0/24")
	w.a.Ready(ctx, at)
}, SpecTimeout(5*time.Minute))

var _ = It("A change of a delegated pool at the hub reaches the copy, which keeps what it has handed out", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 30).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	first, _ := claims(w.a, "first", at)
	w.a.Create(ctx, first)
	uid := at.GetUID()
	suite.Change(ctx, w.hub.Client, p, func() { p.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"10.0.0.2"} })
	Eventually(func(g Gomega) {
		g.Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
		g.Expect(at.PoolSpec().ExcludedAddresses).To(HaveLen(1))
	}, patience, "100ms").Should(Succeed())
	w.a.Exhausted(ctx, at)
	Expect(at.GetUID()).To(Equal(uid))
	Expect(at.GetFinalizers()).To(ContainElement(ipamv1.PoolFinalizer), "the member's own")
	w.a.Ready(ctx, first)
	suite.Change(ctx, w.hub.Client, p, func() { p.Spec.ExcludedAddresses = nil })
	second, _ := claims(w.a, "second", at)
	Eventually(func() error { return w.a.Client.Create(ctx, second) }, patience, "50ms").Should(Succeed())
	Expect(second.Spec.CIDR).To(Equal("10.0.0.2/32"))
}, SpecTimeout(5*time.Minute))

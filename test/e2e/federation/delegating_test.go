// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = DescribeTable("The answer to the create of a delegated pool has its block, and the labels that policies select it by:",
	func(ctx SpecContext, kind string) {
		w := newWorld(ctx, "10.0.0.0/16")
		dry := w.delegated(kind, "team", edgeA)
		Expect(w.hub.Client.Create(ctx, dry, client.DryRunAll)).To(Succeed())
		p := w.delegated(kind, "team", edgeA)
		p.SetLabels(map[string]string{"team": "blue"})
		w.hub.Create(ctx, p)
		for _, answer := range []ownPool{dry, p} {
			Expect(answer.PoolSpec().CIDR).To(Equal("10.0.0.0/24"))
			Expect(answer.PoolSpec().AddressSpace).To(Equal(w.hub.Namespace))
			Expect(answer.GetLabels()).To(And(HaveKeyWithValue("ipam.weir.dev/allocated", "true"), HaveKeyWithValue("ipam.weir.dev/delegated-to", "edge-a")))
		}
		Expect(p.GetLabels()).To(HaveKeyWithValue("team", "blue"))

		By("being ready, with nothing to hand out here")
		w.hub.Ready(ctx, p)
		ready := meta.FindStatusCondition(p.GetConditions(), ipamv1.ReadyCondition)
		Expect(ready.Reason).To(Equal("Delegated"))
		Expect(ready.Message).To(ContainSubstring(`"edge-a"`))
		Expect(statusOf(p).Capacity.Total).To(Equal("256"))
		record := w.hub.Record(ctx, p)
		Expect(record.Spec.CIDR).To(Equal("10.0.0.0/24"))
		Expect(record.Spec.PoolRef.Name).To(Equal(w.hub.Global("root")))

		By("being written without the labels, or with another member's name")
		for _, labels := range []map[string]string{{"team": "red"}, {"team": "red", "ipam.weir.dev/allocated": "no", "ipam.weir.dev/delegated-to": "edge-b"}} {
			suite.Change(ctx, w.hub.Client, p, func() { p.SetLabels(labels) })
			Expect(p.GetLabels()).To(Equal(map[string]string{"team": "red", "ipam.weir.dev/allocated": "true", "ipam.weir.dev/delegated-to": "edge-a"}))
		}
	},
	Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind),
	suite.FromLong(Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind)),
)

func statusOf(p ownPool) ipamv1.IPPoolStatus {
	switch p := p.(type) {
	case *ipamv1.IPPool:
		return p.Status
	case *ipamv1.GlobalIPPool:
		return p.Status
	}
	return ipamv1.IPPoolStatus{}
}

var _ = DescribeTable("The hub hands out nothing of a delegated pool, and names the cluster that does:",
	func(ctx SpecContext, kind string) {
		w := newWorld(ctx, "10.0.0.0/16")
		p := w.delegated(kind, "team", edgeA)
		p.SetLabels(map[string]string{"for": w.hub.Namespace})
		w.hub.Create(ctx, p)
		refuses(ctx, w.hub, p, `is delegated to cluster "edge-a"`)
		chooses := builder.IPClaim(w.hub.Namespace, "chooses").FromAny(kind, "for", w.hub.Namespace).Build()
		Expect(w.hub.Client.Create(ctx, chooses)).NotTo(Succeed(), "there is no other pool")
		Expect(w.hub.HandedOut(ctx)).To(ConsistOf("10.0.0.0/24"))
	},
	suite.FromLong(Entry("an IPPool", SpecTimeout(5*time.Minute), ipamv1.IPPoolKind)),
	Entry("a GlobalIPPool", SpecTimeout(5*time.Minute), ipamv1.GlobalIPPoolKind),
)

var _ = It("A root is not delegated, nor a pool to what cannot be a label's value", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	w.hub.Refuses(ctx, w.hub.Root("other", "10.1.0.0/16").DelegatedTo("edge-a").Build(), http.StatusUnprocessableEntity, "spec.delegateTo", "carved from another")
	w.hub.Refuses(ctx, builder.IPPool(w.hub.Namespace, "other").WithAddresses("10.1.0.0/16").WithSpace(w.hub.Namespace).DelegatedTo("edge-a").Build(),
		http.StatusUnprocessableEntity, "spec.delegateTo", "carved from another")
	w.hub.Refuses(ctx, w.local("team", &cluster{name: "edge/a"}, 24).Build(), http.StatusUnprocessableEntity, "spec.delegateTo", "edge/a")
}, SpecTimeout(5*time.Minute))

var _ = It("The block of a delegated pool does not change, at the hub nor at its member", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	arrived(ctx, w.a, p)
	for _, at := range []*suite.Spec{w.hub, w.a} {
		for words, change := range map[string]func(*ipamv1.IPPoolSpec){
			"cidr is set once":              func(spec *ipamv1.IPPoolSpec) { spec.CIDR = "10.0.1.0/24" },
			"a carved pool keeps its block": func(spec *ipamv1.IPPoolSpec) { spec.CIDR, spec.Addresses = "", []ipamv1.AddressEntry{"10.0.0.0/25"} },
			"cidr or addresses":             func(spec *ipamv1.IPPoolSpec) { spec.Addresses = []ipamv1.AddressEntry{"10.0.0.0/25"} },
		} {
			Eventually(func() error {
				changed := copyOf(p)
				if err := at.Client.Get(ctx, client.ObjectKeyFromObject(changed), changed); err != nil {
					return err
				}
				change(changed.PoolSpec())
				return at.Client.Update(ctx, changed)
			}, patience, "100ms").Should(suite.Refused(http.StatusUnprocessableEntity, words))
		}
	}
	answers(ctx, w.a, "first", p, "10.0.0.0/24")
}, SpecTimeout(5*time.Minute))

var _ = It("Deleted while its member uses it: the pool stays at the hub with its block, and says what it waits for", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	for _, p := range []ownPool{w.local("team", edgeA, 25).Build(), w.global("site", edgeA, 25).Build()} {
		w.hub.Create(ctx, p)
		at := arrived(ctx, w.a, p)
		own, _ := answers(ctx, w.a, "before-"+at.GetName(), at, p.PoolSpec().CIDR)
		Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
		w.hub.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, `delegated to cluster "edge-a"`)
		Expect(p.GetFinalizers()).To(ContainElement(ipamv1.PoolFinalizer))

		By("having the manager start again")
		Expect(hub.manager.Restart(ctx)).To(Succeed())
		Expect(w.hub.Record(ctx, p).Spec.CIDR).To(Equal(p.PoolSpec().CIDR))
		Eventually(func(g Gomega) {
			g.Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
			g.Expect(at.PoolSpec().Mode).To(Equal(ipamv1.ClosingMode))
		}, patience, "100ms").Should(Succeed())
		refuses(ctx, w.a, at, "is closing")
		w.a.Ready(ctx, own)
	}
	By("keeping the block from others")
	Eventually(func() error { return w.hub.Client.Create(ctx, w.local("next", edgeB, 25).Build()) }, patience, "100ms").
		Should(MatchError(ContainSubstring("exhausted")))
}, SpecTimeout(5*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// below begins a pool that is delegated to edge-a, and carved from the pool "site".
func (w *world) below(name string) *localBuilder {
	return builder.IPPool(w.hub.Namespace, name).WithParent(ipamv1.GlobalIPPoolKind, "", w.hub.Global("site")).WithBits(24).DelegatedTo(edgeA.name)
}

// Members do not know the pools above, so nothing that those keep back may be in a block that a member hands out.
var _ = DescribeTable("A block that is delegated contains nothing that a pool above keeps back:",
	func(ctx SpecContext, change func(root, site *ipamv1.GlobalIPPool), words string) {
		w := &world{hub: suite.New(ctx, hub.Site)}
		root, site := w.root("10.0.0.0/16").Build(), w.global("site", hub, 20).Build()
		w.hub.Create(ctx, root, site)
		for _, p := range []*ipamv1.GlobalIPPool{root, site} {
			suite.Change(ctx, w.hub.Client, p, func() { change(root, site) })
		}
		w.hub.Ready(ctx, root, site)
		w.hub.Refuses(ctx, w.below("refused").WithCIDR("10.0.0.0/24").Build(), http.StatusUnprocessableEntity, "spec.cidr: 10.0.0.0/24", words)
		p := w.below("team").WithNetwork(0, "10.0.1.1").Build()
		w.hub.Create(ctx, p)
		Expect(p.Spec.CIDR).To(Equal("10.0.1.0/24"))
		w.hub.Ready(ctx, p)
	},
	Entry("an exclusion of the parent", SpecTimeout(5*time.Minute),
		func(_, site *ipamv1.GlobalIPPool) { site.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"10.0.0.7"} }, "excluded"),
	Entry("an exclusion of the root", SpecTimeout(5*time.Minute),
		func(root, _ *ipamv1.GlobalIPPool) {
			root.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"10.0.0.16-10.0.0.23"}
		}, "kept back"),
	Entry("the gateway of the root", SpecTimeout(5*time.Minute),
		func(root, _ *ipamv1.GlobalIPPool) { root.Spec.Network = &ipamv1.Network{Gateway: "10.0.0.1"} }, "gateway"),
)

var _ = DescribeTable("A delegated pool has network settings of its own where a pool above has some, or is refused:",
	func(ctx SpecContext, above func(root, site *globalBuilder), says func(*localBuilder)) {
		w := &world{hub: suite.New(ctx, hub.Site)}
		root, site := w.root("10.0.0.0/16"), w.global("site", hub, 20)
		above(root, site)
		w.hub.Create(ctx, root.Build(), site.Build())
		w.hub.Refuses(ctx, w.below("team").Build(), http.StatusUnprocessableEntity, "spec.network", "gateway", "dnsServers")
		complete := w.below("team")
		says(complete)
		p := complete.Build()
		w.hub.Create(ctx, p)
		w.hub.Ready(ctx, p)
		Expect(p.Spec.CIDR).To(Equal("10.0.0.0/24"))
	},
	Entry("a gateway", SpecTimeout(5*time.Minute),
		func(root, _ *globalBuilder) { root.WithNetwork(16, "10.0.255.254") },
		func(p *localBuilder) { p.WithNetwork(16, "10.0.255.254") }),
	Entry("DNS servers", SpecTimeout(5*time.Minute),
		func(_, site *globalBuilder) { site.WithNetwork(0, "", "192.0.2.53") },
		func(p *localBuilder) { p.WithNetwork(0, "", "192.0.2.53") }),
)

// Its member may use it: what pools above keep back since it was carved is no reason to give it to others.
var _ = It("A delegated pool that comes back from a backup has its block, whatever pools above keep back by then", func(ctx SpecContext) {
	w := &world{hub: suite.New(ctx, hub.Site)}
	w.hub.Create(ctx, w.root("10.0.0.0/16").WithExcluded("10.0.0.7").WithNetwork(16, "10.0.255.254").Build())
	restored := w.local("restored", edgeA, 24).WithCIDR("10.0.0.0/24").WithSpace(w.hub.Namespace).Build()
	restored.Finalizers = []string{ipamv1.PoolFinalizer}
	w.hub.Create(ctx, restored)
	Expect(restored.Annotations).To(HaveKey(ipamv1.ArrivedAnnotation))
	w.hub.Ready(ctx, restored)
	Expect(w.hub.Record(ctx, restored).Spec.CIDR).To(Equal("10.0.0.0/24"))
}, SpecTimeout(5*time.Minute))

var _ = It("What a delegated pool keeps back itself a member does not hand out, and has its network settings", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 29).WithExcluded("10.0.0.1", "10.0.0.2-10.0.0.3").WithNetwork(29, "10.0.0.6", "192.0.2.53").Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	_, address := answers(ctx, w.a, "first", at, "10.0.0.4/31")
	Expect(address.Spec.Gateway).To(Equal("10.0.0.6"))
	Expect(address.Annotations).To(HaveKeyWithValue(ipamv1.DNSServersAnnotation, "192.0.2.53"))
	own, _ := claims(w.a, "second", at)
	w.a.Refuses(ctx, own, http.StatusInsufficientStorage, "exhausted")
}, SpecTimeout(5*time.Minute))

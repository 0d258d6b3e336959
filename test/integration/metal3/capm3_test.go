// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// weirs is how fromPoolRef names Weir's IPPool w.
var weirs = ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "w"}

// weirPool stores Weir's IPPool w.
func weirPool(ctx context.Context, ns string, change func(*ipamv1.IPPoolSpec)) {
	GinkgoHelper()
	p := builder.IPPool(ns, "w").WithSpace(ns).WithAddresses("192.0.2.10-192.0.2.19").WithNetwork(24, "192.0.2.1").Build()
	change(&p.Spec)
	Expect(k.Create(ctx, p)).To(Succeed())
}

// deleting is the message of the condition Deleting.
func deleting(c suite.Conditioned) string { return conditions.GetMessage(c, ipamv1.DeletingCondition) }

var _ = DescribeTable("CAPM3 tells a host", func(ctx SpecContext, spec, want string) {
	ns := suite.Namespace(ctx, k, nil)
	pool(ctx, ns, spec)
	Expect(provision(ctx, ns, "data-0", "host-0").configured(ctx)).To(Equal(want))
},
	Entry("address, netmask, gateway and name servers", `{prefix: 24, gateway: 10.0.0.254, dnsServers: [8.8.8.8, 8.8.4.4], pools: [{subnet: 10.0.0.0/24}]}`,
		"10.0.0.1 mask 255.255.255.0 via 10.0.0.254 dns 8.8.8.8 dns 8.8.4.4"),
	Entry("those of the entry", `{prefix: 24, gateway: 10.0.0.254, dnsServers: [8.8.8.8], pools: [{start: 10.0.4.7, prefix: 22, gateway: 10.0.4.1, dnsServers: [9.9.9.9]}]}`,
		"10.0.4.7 mask 255.255.252.0 via 10.0.4.1 dns 9.9.9.9"),
	Entry("those of IPv6", `{prefix: 64, gateway: "2001:db8::1", dnsServers: ["2001:db8::53"], pools: [{start: "2001:db8::10"}]}`,
		"2001:db8::10 mask ffff:ffff:ffff:ffff:: via 2001:db8::1 dns 2001:db8::53"),
	Entry("no gateway and no name server where there is none", `{prefix: 30, pools: [{start: 10.0.0.1}]}`, "10.0.0.1 mask 255.255.255.252"),
)

var _ = Describe("CAPM3", func() {
	const (
		several = `{prefix: 24, gateway: 10.0.0.254, dnsServers: [8.8.8.8], pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`
		one     = `{prefix: 24, gateway: 10.0.0.254, dnsServers: [8.8.8.8], pools: [{start: 10.0.0.1, end: 10.0.0.1}]}`
		keeping = `{prefix: 24, gateway: 10.0.0.254, dnsServers: [8.8.8.8], preAllocations: {host-0-p: 10.0.0.5, host-1-p: 10.0.0.6},
			pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`
		rest = " mask 255.255.255.0 via 10.0.0.254 dns 8.8.8.8"
	)
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, nil) })

	// empty waits until nothing is left of any claim.
	empty := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(BeEmpty())
		Expect(addresses(ctx, ns)).To(BeEmpty())
	}

	It("gives a host what is kept for it, whichever Metal3Data it has, when it names claims after hosts", func(ctx SpecContext) {
		pool(ctx, ns, keeping)
		for _, data := range []string{"data-0", "data-3", "data-0"} {
			first, second := provision(ctx, ns, data, "host-0").byHost(), provision(ctx, ns, "other-"+data, "host-1").byHost()
			Expect(second.configured(ctx)).To(Equal("10.0.0.6" + rest))
			Expect(first.configured(ctx)).To(Equal("10.0.0.5" + rest))
			first.deprovision(ctx)
			second.deprovision(ctx)
			empty(ctx)
		}
	})

	It("gets the next address for a host that nothing is kept for", func(ctx SpecContext) {
		pool(ctx, ns, keeping)
		Expect(provision(ctx, ns, "data-0", "host-9").byHost().configured(ctx)).To(Equal("10.0.0.1" + rest))
		Expect(provision(ctx, ns, "data-1", "host-0").configured(ctx)).To(Equal("10.0.0.2"+rest), "named after the Metal3Data")
	})

	It("makes claims of both kinds for one host", func(ctx SpecContext) {
		pool(ctx, ns, several)
		weirPool(ctx, ns, func(*ipamv1.IPPoolSpec) {})
		d := provision(ctx, ns, "data-0", "host-0")
		storage := *d
		storage.from(weirs)
		Expect(d.configured(ctx)).To(Equal("10.0.0.1" + rest))
		Expect(storage.configured(ctx)).To(Equal("192.0.2.10 mask 255.255.255.0 via 192.0.2.1"))
		Expect(storage.release(ctx)).To(Succeed())
		d.deprovision(ctx)
		empty(ctx)
	})

	It("fails while the pool is exhausted, and recovers by itself", func(ctx SpecContext) {
		pool(ctx, ns, one)
		first, second := provision(ctx, ns, "data-0", "host-0"), provision(ctx, ns, "data-1", "host-1")
		Expect(first.configured(ctx)).To(Equal("10.0.0.1" + rest))
		Eventually(func() error { _, err := second.reconcile(ctx); return err }, patience).Should(MatchError("IP Allocation for p failed : Exhausted IP Pools"))
		first.deprovision(ctx)
		Expect(second.configured(ctx)).To(Equal("10.0.0.1" + rest))
	})

	It("goes on with a claim that somebody deletes, until it releases that itself", func(ctx SpecContext) {
		pool(ctx, ns, one)
		first, second := provision(ctx, ns, "data-0", "host-0"), provision(ctx, ns, "data-1", "host-1")
		Expect(first.configured(ctx)).To(Equal("10.0.0.1" + rest))
		Expect(k.Delete(ctx, &m3v1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: first.name()}})).To(Succeed())
		Consistently(func(g Gomega) {
			got, err := first.reconcile(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.networkData()).To(Equal("10.0.0.1" + rest))
			_, err = second.reconcile(ctx)
			g.Expect(err).To(HaveOccurred())
		}, "1s").Should(Succeed())
		first.deprovision(ctx)
		Expect(second.configured(ctx)).To(Equal("10.0.0.1" + rest))
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.1/32"))
	})

	// The predecessor's Metal3Data was lost, and the garbage collector has deleted the claim, which CAPM3's finalizer keeps.
	DescribeTable("waits for the IPClaim of a predecessor that is being deleted", func(ctx SpecContext, successor string, named func(*capm3) *capm3) {
		pool(ctx, ns, several)
		old := named(provision(ctx, ns, "data-0", "host-0"))
		Expect(old.configured(ctx)).To(Equal("10.0.0.1" + rest))
		before, err := old.ipClaim(ctx)
		Expect(err).NotTo(HaveOccurred())
		old.lose(ctx)
		Expect(client.IgnoreNotFound(k.Delete(ctx, before))).To(Succeed())
		young := named(provision(ctx, ns, successor, "host-0"))
		_, err = young.reconcile(ctx)
		Expect(errors.Is(err, errLater)).To(BeTrue(), "it is another's")
		Expect(young.configured(ctx)).To(HaveSuffix(rest))
		after, err := young.ipClaim(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(And(HaveField("Name", before.Name), HaveField("UID", Not(Equal(before.UID)))))
		Eventually(func(g Gomega) {
			g.Expect(addresses(ctx, ns)).To(ConsistOf(HaveField("OwnerReferences", ContainElement(HaveField("UID", after.UID)))))
			g.Expect(records(ctx, ns)).To(HaveLen(1))
		}, patience).Should(Succeed())
		young.deprovision(ctx)
		empty(ctx)
	},
		Entry("of the Metal3Data's name", "data-0", func(d *capm3) *capm3 { return d }),
		Entry("of the host's name", "data-7", (*capm3).byHost),
	)

	// Such claims CAPM3 makes like others, and never releases.
	DescribeTable("leaves its finalizer on claims of fromPoolAnnotation, which then say so", func(ctx SpecContext, from ipamv1beta2.IPPoolReference) {
		const slow = "example.com/slow"
		pool(ctx, ns, one)
		weirPool(ctx, ns, func(*ipamv1.IPPoolSpec) {})
		d := provision(ctx, ns, "data-0", "host-0").from(from)
		want := d.configured(ctx)
		claims, err := d.claims(ctx)
		Expect(err).NotTo(HaveOccurred())
		c, ok := claims[0].(suite.Conditioned)
		Expect(ok).To(BeTrue())
		finalizers := c.GetFinalizers()
		suite.Change(ctx, k, c, func() { c.SetFinalizers(append(c.GetFinalizers(), slow)) })
		d.lose(ctx)
		Expect(client.IgnoreNotFound(k.Delete(ctx, c))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(deleting(c)).To(And(ContainSubstring(capm3Finalizer+", "+slow), ContainSubstring("never off claims of fromPoolAnnotation")))
		}, patience).Should(Succeed())
		suite.Change(ctx, k, c, func() { c.SetFinalizers(finalizers) })
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(deleting(c)).To(And(ContainSubstring(capm3Finalizer), Not(ContainSubstring(slow))))
		}, patience).Should(Succeed())
		version := c.GetResourceVersion()
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.GetResourceVersion()).To(Equal(version), "said once")
			g.Expect(records(ctx, ns)).To(HaveLen(1), "who uses it keeps it: %s", want)
		}, "2s").Should(Succeed())
		suite.Change(ctx, k, c, func() { controllerutil.RemoveFinalizer(c, capm3Finalizer) })
		gone(ctx, c)
		empty(ctx)
	},
		Entry("an IPClaim", poolRef),
		Entry("an IPAddressClaim", weirs),
	)

	It("waits for the IPAddressClaim of a predecessor that is being deleted", func(ctx SpecContext) {
		const slow = "example.com/slow"
		weirPool(ctx, ns, func(*ipamv1.IPPoolSpec) {})
		old := provision(ctx, ns, "data-0", "host-0").from(weirs)
		Expect(old.configured(ctx)).To(HavePrefix("192.0.2.10 "))
		c := &ipamv1beta2.IPAddressClaim{}
		Expect(k.Get(ctx, old.key(old.name()), c)).To(Succeed())
		before := c.UID
		c.Finalizers = append(c.Finalizers, slow)
		Expect(k.Update(ctx, c)).To(Succeed())
		old.deprovision(ctx)
		young := provision(ctx, ns, "data-0", "host-1").from(weirs)
		Consistently(func() error { _, err := young.reconcile(ctx); return err }, "1s").Should(MatchError(errLater))
		Eventually(func() error {
			Expect(k.Get(ctx, young.key(young.name()), c)).To(Succeed())
			c.Finalizers = []string{ipamv1.ClaimFinalizer}
			return k.Update(ctx, c)
		}, patience).Should(Succeed())
		Expect(young.configured(ctx)).To(Equal("192.0.2.10 mask 255.255.255.0 via 192.0.2.1"))
		Expect(k.Get(ctx, young.key(young.name()), c)).To(Succeed())
		Expect(c.UID).NotTo(Equal(before))
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(HaveLen(1))
	})
})

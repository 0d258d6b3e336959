// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

var _ = Describe("A site that follows the guide from the in-cluster provider to Weir, and back", Ordered, func() {
	var (
		t   *takeover
		had map[string]string
		m   *framework.Manager
	)

	BeforeAll(func(ctx SpecContext) {
		out, err := admin.Clusterctl.Run(ctx, "init", "--core", "cluster-api", "--bootstrap", "-", "--control-plane", "-", "--ipam", "in-cluster")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(site.StartControllerManager(ctx)).To(Succeed())
		t = newTakeover()
		Expect(provider.Silence(ctx, t.k)).To(Succeed())
		t.settle(ctx, size.Of(4, 84, 84))
		out, err = admin.Shell(ctx, `for kind in inclusterippools globalinclusterippools; do # pools of before 2023
  kubectl patch crd "$kind.ipam.cluster.x-k8s.io" --subresource=status --type=merge -p '{"status":{"storedVersions":["v1alpha1","v1alpha2"]}}' || exit
done`)
		Expect(err).NotTo(HaveOccurred(), out)
		had = t.answers(ctx)
	}, NodeTimeout(5*time.Minute))

	It("keeps every address, answers the claims in flight and touches no other provider's", func(ctx SpecContext) {
		before := t.foreign(ctx)
		Expect(admin.Follow(ctx, "### 0. Check what is there")).To(BeEmpty(), "no address is in use twice")
		out, err := admin.Shell(ctx, admin.Commands("### 0. Check what is there")[0])
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal("inclusterippools.ipam.cluster.x-k8s.io v1alpha2\nglobalinclusterippools.ipam.cluster.x-k8s.io v1alpha2\n"))
		m = takeOver(ctx)
		Expect(admin.Lines("in-use.txt")).To(HaveLen(len(had)))
		t.inFlight(ctx, had)
		t.more(ctx, "weir")
		t.expectKept(ctx, had)
		Expect(t.foreign(ctx)).To(Equal(before))
		report, err := fsck.Check(ctx, site.Config())
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Of(fsck.Overlap)).To(BeEmpty())
		Expect(report.Of(fsck.NoRecord)).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))

	Describe("and then by kubectl weir", Ordered, pluginSpecs)

	It("refuses what a manager of the in-cluster provider's does that still runs, and tells its pool", func(ctx SpecContext) {
		for _, manifest := range provider.Rights() { // it has its rights still
			Expect(framework.Apply(ctx, site.Config(), manifest)).To(Succeed())
		}
		upstream, err := site.As(provider.Account())
		Expect(err).NotTo(HaveOccurred())
		address := addressOf(claimOf("red", "more", icv1.InClusterIPPoolKind, pool), "10.0.3.200")
		err = upstream.Create(ctx, address)
		Expect(err).To(Satisfy(apierrors.IsForbidden))
		Expect(err).To(MatchError(ContainSubstring("user " + provider.Account())))
		Eventually(func(g Gomega) {
			events := &eventsv1.EventList{}
			g.Expect(t.k.List(ctx, events, client.InNamespace("red"))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", "OtherController"), HaveField("Regarding.Name", pool))))
		}, patience, interval).Should(Succeed())
		t.expectKept(ctx, had)
	}, SpecTimeout(5*time.Minute))

	It("goes back: the in-cluster provider finds each address, releases what Weir handed out, and hands it out again", func(ctx SpecContext) {
		before := t.answers(ctx)
		out, err := admin.Shell(ctx, admin.Commands("### 1. Remove Weir")[0])
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(BeEmpty(), "each record has its IPAddress")
		admin.Follow(ctx, "### 1. Remove Weir")
		Expect(m.Stop()).To(Succeed())
		admin.Follow(ctx, "### 2. Give the kinds back")
		admin.Follow(ctx, "### 3. Install the in-cluster provider")
		Expect(provider.Silence(ctx, t.k)).To(Succeed())
		t.expectUpstreams(ctx)
		Expect(t.answers(ctx)).To(Equal(before))
		for _, ns := range t.namespaces {
			for _, kind := range kinds {
				released := claimOf(ns, name(kind, "weir"), kind, poolOf(kind))
				address := before[key(released)]
				t.upstream.release(ctx, released)
				answer := t.upstream.answer(ctx, createOn(ctx, t.k, claimOf(ns, name(kind, "back"), kind, poolOf(kind))))
				Expect(text(answer)).To(Equal(address))
			}
		}
		admin.Follow(ctx, "### 4. Remove Weir's records")
		records := &ipamv1.IPAllocationList{}
		Expect(t.k.List(ctx, records)).To(Succeed())
		Expect(records.Items).To(BeEmpty())
		had = t.answers(ctx)
		expectOthers(ctx, t.waiting[0])
	}, SpecTimeout(8*time.Minute))

	It("comes once more, and keeps what the in-cluster provider has handed out meanwhile", func(ctx SpecContext) {
		before := t.foreign(ctx)
		m = takeOver(ctx)
		t.more(ctx, "again")
		t.expectKept(ctx, had)
		Expect(t.foreign(ctx)).To(Equal(before))
		report, err := fsck.Check(ctx, site.Config())
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Safe()).To(Succeed())
	}, SpecTimeout(8*time.Minute))
})

// takeOver follows the guide there, and returns the manager.
func takeOver(ctx context.Context) *framework.Manager {
	GinkgoHelper()
	admin.Follow(ctx, "### 1. Stop the in-cluster provider")
	admin.Follow(ctx, "### 2. Give the kinds to Weir")
	admin.Follow(ctx, "### 3. Install Weir")
	m := admin.StartInstalled(ctx)
	Eventually(func() string { return admin.Follow(ctx, "### 4. Check") }, patience, "1s").Should(BeEmpty())
	return m
}

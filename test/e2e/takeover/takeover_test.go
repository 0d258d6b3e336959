// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("A site that follows the guide from Metal3's IP address manager to Weir, and back", Ordered, func() {
	var (
		pool, lab *m3v1.IPPool
		m         *framework.Manager
		had       map[string]string
	)

	BeforeAll(func(ctx SpecContext) {
		namespace(ctx, hosts)
		out, err := admin.Clusterctl.Run(ctx, "init", "--core", "cluster-api", "--bootstrap", "-", "--control-plane", "-", "--ipam", "metal3")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(site.StartControllerManager(ctx)).To(Succeed())
		Expect(metal3.Silence(ctx, k)).To(Succeed())
		pool, lab = settle(ctx)
		had = told(ctx)
		Expect(had).To(HaveLen(2*each + 2))
		Expect(known(ctx, pool)).To(HaveLen(2*each + 2)) // with what was made by hand
	}, NodeTimeout(5*time.Minute))

	It("renumbers nothing, and hands out nothing that is in use", func(ctx SpecContext) {
		m = takeOver(ctx)
		Expect(admin.Lines("in-use.txt")).To(HaveLen(2*each + 3))
		Expect(told(ctx)).To(Equal(had))
		used := known(ctx, pool)
		for name, address := range askMore(ctx, pool, "weir") {
			Expect(used).NotTo(HaveKey(address), name)
			Expect(address).NotTo(Equal("10.0.3.200"), "which is kept")
		}
		Expect(keep(told(ctx), had)).To(Equal(had))
		report, err := fsck.Check(ctx, site.Config())
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Of(fsck.Overlap)).To(BeEmpty())
		Expect(report.Of(fsck.SeveralAnswers)).To(BeEmpty())
		Expect(report.Of(fsck.NoRecord)).To(ConsistOf(ContainSubstring("hosts-10-9-9-9"))) // which is not in the pool

		By("telling what the pool would not give, and keeping it")
		lost := addressClaim(pool.Name, "lost")
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(lost), lost)).To(Succeed())
			g.Expect(lost.Status.AddressRef.Name).To(Equal("hosts-10-9-9-9"))
			g.Expect(conditions.GetMessage(lost, ipamv1.ReadyCondition)).To(HaveSuffix("10.9.9.9/32: is not in the pool"))
		}, patient, "200ms").Should(Succeed())

		By("giving a claim what was made for it by hand, under the name that it has")
		made := ipClaim(pool.Name, "to-come")
		Expect(k.Create(ctx, made)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(made), made)).To(Succeed())
			g.Expect(made.Status.Address).To(HaveValue(HaveField("Name", "by-hand")))
		}, patient, "200ms").Should(Succeed())
		had = told(ctx)
	}, SpecTimeout(8*time.Minute))

	It("refuses what a manager of Metal3's does that still runs, and tells its pool", func(ctx SpecContext) {
		// It has its rights still.
		for _, manifest := range metal3.Rights() {
			Expect(framework.Apply(ctx, site.Config(), manifest)).To(Succeed())
		}
		upstream, err := site.As(metal3.Account())
		Expect(err).NotTo(HaveOccurred())
		free := next(ctx, pool)
		claim, other := ipClaim(pool.Name, "m-0"), addressClaim(pool.Name, "c-0")
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(other), other)).To(Succeed())
		for _, err := range []error{answer(ctx, upstream, pool, claim, free), answerCAPI(ctx, upstream, pool, other, free)} {
			Expect(err).To(Satisfy(apierrors.IsForbidden))
			Expect(err).To(MatchError(ContainSubstring("user " + metal3.Account() + " creates IPAddress " + nameOf(pool, free) + " out of IPPool hosts/hosts")))
		}
		Eventually(func(g Gomega) {
			events := &eventsv1.EventList{}
			g.Expect(k.List(ctx, events, client.InNamespace(hosts))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", "OtherController"), HaveField("Regarding.Name", "hosts"),
				HaveField("Note", ContainSubstring("stop the other IPAM controller")))))
		}, patient, "200ms").Should(Succeed())
		Expect(told(ctx)).To(Equal(had))
	}, SpecTimeout(5*time.Minute))

	It("releases what is deleted, whoever answered it", func(ctx SpecContext) {
		for i := range 3 {
			release(ctx, ipClaim(pool.Name, fmt.Sprint("m-", i)), had)
			release(ctx, addressClaim(pool.Name, fmt.Sprint("c-", i)), had)
		}
		release(ctx, addressClaim(pool.Name, "lost"), had)
		By("and what somebody has needed till now")
		for _, c := range []client.Object{ipClaim(pool.Name, "m-7"), addressClaim(pool.Name, "c-7")} {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			c.SetFinalizers(slices.DeleteFunc(c.GetFinalizers(), func(f string) bool { return f == foreign }))
			Expect(k.Update(ctx, c)).To(Succeed())
			suite.Gone(ctx, k, c)
		}
		delete(had, "IPClaim m-7")
		delete(had, "IPAddressClaim c-7")
		Expect(told(ctx)).To(Equal(had))
		Eventually(func() int { return len(known(ctx, lab)) + len(addressesOf(ctx)) }, patient, "500ms").Should(Equal(len(had)))
	}, SpecTimeout(5*time.Minute))

	It("goes back: Metal3's manager knows every address, and would hand out none a second time", func(ctx SpecContext) {
		goBack(ctx, m, pool)
		Expect(told(ctx)).To(Equal(had))
		of := known(ctx, pool)
		Expect(of).To(HaveLen(len(had) - 1))
		expectFindable(ctx, pool)
		expectFindable(ctx, lab)
		for address, who := range of {
			Expect(had[who]).To(HavePrefix(address + "/"))
		}
		records := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, records)).To(Succeed())
		Expect(records.Items).To(BeEmpty())

		claim := ipClaim(pool.Name, "meanwhile")
		Expect(k.Create(ctx, claim)).To(Succeed())
		free := next(ctx, pool)
		Expect(answer(ctx, k, pool, claim, free)).To(Succeed())
		had["IPClaim meanwhile"] = free + "/22"
	}, SpecTimeout(8*time.Minute))

	It("comes once more, and renumbers nothing", func(ctx SpecContext) {
		m = takeOver(ctx)
		Expect(told(ctx)).To(Equal(had))
		used := known(ctx, pool)
		for name, address := range askMore(ctx, pool, "again") {
			Expect(used).NotTo(HaveKey(address), name)
		}
		Expect(keep(told(ctx), had)).To(Equal(had))
		report, err := fsck.Check(ctx, site.Config())
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Safe()).To(Succeed())
	}, SpecTimeout(8*time.Minute))
})

// askMore makes five claims of each kind, and returns their addresses.
func askMore(ctx context.Context, pool *m3v1.IPPool, prefix string) map[string]string {
	GinkgoHelper()
	got := map[string]string{}
	for i := range 5 {
		m, c := ipClaim(pool.Name, fmt.Sprint(prefix, "-", i)), addressClaim(pool.Name, fmt.Sprint(prefix, "-", i))
		m.Finalizers, c.Finalizers = nil, nil
		Expect(k.Create(ctx, m)).To(Succeed())
		Expect(k.Create(ctx, c)).To(Succeed())
		a, b := &m3v1.IPAddress{}, &ipamv1beta2.IPAddress{}
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
			g.Expect(m.Status.Address).NotTo(BeNil())
			g.Expect(k.Get(ctx, types.NamespacedName{Namespace: hosts, Name: m.Status.Address.Name}, a)).To(Succeed())
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(k.Get(ctx, types.NamespacedName{Namespace: hosts, Name: c.Status.AddressRef.Name}, b)).To(Succeed())
		}, patient, "100ms").Should(Succeed())
		got["IPClaim "+m.Name], got["IPAddressClaim "+c.Name] = string(a.Spec.Address), b.Spec.Address
	}
	Expect(slices.Compact(slices.Sorted(maps.Values(got)))).To(HaveLen(10))
	return got
}

// release deletes a claim, and expects that it goes.
func release(ctx context.Context, claim client.Object, had map[string]string) {
	GinkgoHelper()
	Expect(k.Delete(ctx, claim)).To(Succeed())
	suite.Gone(ctx, k, claim)
	kind := "IPAddressClaim "
	if _, ok := claim.(*m3v1.IPClaim); ok {
		kind = "IPClaim "
	}
	delete(had, kind+claim.GetName())
}

// keep returns what has says of what had names.
func keep(has, had map[string]string) map[string]string {
	kept := maps.Clone(has)
	maps.DeleteFunc(kept, func(name, _ string) bool { _, ok := had[name]; return !ok })
	return kept
}

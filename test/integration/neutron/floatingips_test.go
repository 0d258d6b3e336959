// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/netip"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

const unknownID = "00000000-0000-0000-0000-000000000000"

var _ = Describe("A floating IP", onEvery(func(s *site) {
	It("has its description from its creation on, and is found by all that is known of it", func(ctx SpecContext) {
		created := s.create(ctx, "weir key=1 & more")
		Expect(created.Address.IsValid()).To(BeTrue())
		Expect(created).To(And(
			HaveField("Description", "weir key=1 & more"), HaveField("NetworkID", s.public.ID), HaveField("PortID", ""),
			HaveField("ProjectID", s.member.Project()), HaveField("Status", "DOWN")))
		Expect(s.member.Get(ctx, created.ID)).To(Equal(created))
		Expect(s.member.FindByAddress(ctx, s.public.ID, created.Address)).To(Equal(created))
		Expect(s.member.FindByDescription(ctx, s.public.ID, created.Description)).To(ConsistOf(created))
		Expect(s.member.FindByDescription(ctx, s.public.ID, "weir key=1")).To(BeEmpty())
		Expect(s.member.FindByDescription(ctx, s.tiny.ID, created.Description)).To(BeEmpty())
		_, err := s.member.FindByAddress(ctx, s.tiny.ID, created.Address)
		Expect(err).To(failAs(neutron.NotFound))
	})

	It("is found by its description beside those of another one, in one list", func(ctx SpecContext) {
		const claims, free = "weir/1/key/uid/namespace/name", "weir/1/key/-"
		first, second, third := s.create(ctx, claims), s.create(ctx, free), s.create(ctx, claims)
		s.create(ctx, "weir/1/key/uid/namespace/other")
		s.create(ctx, "")
		found, err := s.member.FindByDescription(ctx, s.public.ID, claims, free)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(ConsistOf(first, second, third))
		Expect(slices.IsSortedFunc(found, func(a, b neutron.FloatingIP) int { return strings.Compare(a.ID, b.ID) })).To(BeTrue())
		Expect(s.member.FindByDescription(ctx, s.public.ID, free)).To(ConsistOf(second))
		_, err = s.member.FindByDescription(ctx, s.public.ID, claims, "")
		Expect(err).To(failAs(neutron.Invalid))
	})

	It("is listed once, in the order of ids, over several pages", func(ctx SpecContext) {
		ids := make([]string, 5) // with two a page
		for i := range ids {
			ids[i] = s.create(ctx, "").ID
		}
		all, err := s.member.List(ctx, s.public.ID)
		Expect(err).NotTo(HaveOccurred())
		listed := make([]string, 0, len(all))
		for _, f := range all {
			listed = append(listed, f.ID)
		}
		slices.Sort(ids)
		Expect(listed).To(Equal(ids))
		Expect(s.member.List(ctx, s.tiny.ID)).To(BeEmpty())
	})

	It("is its project's only, even for an administrator", func(ctx SpecContext) {
		created := s.create(ctx, "mine")
		for _, user := range []string{openstack.Other, openstack.Admin} {
			stranger := s.connect(ctx, user)
			Expect(stranger.List(ctx, s.public.ID)).To(BeEmpty())
			Expect(stranger.FindByDescription(ctx, s.public.ID, "mine")).To(BeEmpty())
			_, err := stranger.Get(ctx, created.ID)
			Expect(err).To(failAs(neutron.NotFound), user)
		}
		Expect(s.connect(ctx, openstack.Other).Delete(ctx, created)).To(failAs(neutron.NotFound))
		Expect(s.now(ctx, created.ID)).To(Equal(created))
	})

	It("is refused where the quota is used up", func(ctx SpecContext) {
		Expect(s.SetQuota(ctx, 1)).To(Succeed())
		s.create(ctx, "")
		Expect(s.member.Quota(ctx)).To(Equal(neutron.QuotaOf{Limit: 1, Used: 1}))
		_, err := s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.public.ID})
		Expect(err).To(failAs(neutron.Quota))
	})

	It("is refused where no address is left, and comes when one is given back", func(ctx SpecContext) {
		var last neutron.FloatingIP
		for range 3 {
			var err error
			last, err = s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.tiny.ID})
			Expect(err).NotTo(HaveOccurred())
		}
		_, err := s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.tiny.ID})
		Expect(err).To(failAs(neutron.NoAddress))
		Expect(s.SetQuota(ctx, 3)).To(Succeed())
		_, err = s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.tiny.ID})
		Expect(err).To(failAs(neutron.Quota))
		Expect(s.member.Delete(ctx, last)).To(Succeed())
		again, err := s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.tiny.ID})
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Address).To(Equal(last.Address))
		Expect(again.ID).NotTo(Equal(last.ID))
	})

	It("has a chosen address for an administrator only", func(ctx SpecContext) {
		chosen := neutron.CreateOptions{NetworkID: s.tiny.ID, Address: netip.MustParseAddr("192.0.2.3")}
		_, err := s.member.Create(ctx, chosen)
		Expect(err).To(failAs(neutron.Forbidden))
		admin := s.connect(ctx, openstack.Admin)
		created, err := admin.Create(ctx, chosen)
		Expect(err).NotTo(HaveOccurred())
		Expect(created.Address).To(Equal(chosen.Address))
		_, err = admin.Create(ctx, chosen)
		Expect(err).To(failAs(neutron.Conflict))
		chosen.Address = netip.MustParseAddr("192.0.3.3")
		_, err = admin.Create(ctx, chosen)
		Expect(err).To(failAs(neutron.Invalid))
		Expect(admin.Delete(ctx, created)).To(Succeed())
	})

	It("is not created on a network or subnet that does not exist, nor with too long a description", func(ctx SpecContext) {
		_, err := s.member.Create(ctx, neutron.CreateOptions{NetworkID: unknownID})
		Expect(err).To(failAs(neutron.NotFound))
		_, err = s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.public.ID, SubnetID: unknownID})
		Expect(err).To(failAs(neutron.NotFound))
		_, err = s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.public.ID, Description: strings.Repeat("x", 256)})
		Expect(err).To(failAs(neutron.Invalid))
		longest := s.create(ctx, strings.Repeat("x", neutron.MaxDescription))
		Expect(longest.Description).To(HaveLen(neutron.MaxDescription))
		Expect(s.member.List(ctx, s.public.ID)).To(ConsistOf(longest))
	})

	It("has the tags that were given last", func(ctx SpecContext) {
		created := s.create(ctx, "tagged")
		Expect(s.member.Tag(ctx, created.ID, []string{"a", "b"})).To(Succeed())
		Expect(s.now(ctx, created.ID).Tags).To(ConsistOf("a", "b"))
		Expect(s.member.Tag(ctx, created.ID, nil)).To(Succeed())
		Expect(s.now(ctx, created.ID)).To(And(HaveField("Tags", BeEmpty()), HaveField("Description", "tagged")))
		Expect(s.member.Tag(ctx, unknownID, []string{"a"})).To(failAs(neutron.NotFound))
	})

	It("is gone once it is deleted, and stays where a policy forbids its deletion", func(ctx SpecContext) {
		created := s.create(ctx, "")
		Expect(s.SetPolicy(map[string]string{"delete_floatingip": "!"})).To(Succeed())
		Expect(s.member.Delete(ctx, created)).To(failAs(neutron.Forbidden))
		Expect(s.now(ctx, created.ID)).To(Equal(created))
		Expect(s.SetPolicy(nil)).To(Succeed())
		Expect(s.member.Delete(ctx, created)).To(Succeed())
		_, err := s.member.Get(ctx, created.ID)
		Expect(err).To(failAs(neutron.NotFound))
		Expect(s.member.Delete(ctx, created)).To(failAs(neutron.NotFound))
		_, err = s.member.Describe(ctx, created, "gone")
		Expect(err).To(failAs(neutron.NotFound))
	})
}))

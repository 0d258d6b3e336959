// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

var _ = Describe("A conditional change", onEvery(func(s *site) {
	It("of the description is made once, of two that saw the same", func(ctx SpecContext) {
		seen := s.create(ctx, "old")
		second := s.connect(ctx, openstack.Member)
		described, err := s.member.Describe(ctx, seen, "first")
		Expect(err).NotTo(HaveOccurred())
		Expect(described).To(And(HaveField("Description", "first"), HaveField("Address", seen.Address)))
		_, err = second.Describe(ctx, seen, "second")
		Expect(err).To(failAs(neutron.Changed))
		Expect(second.Delete(ctx, seen)).To(failAs(neutron.Changed))
		Expect(s.now(ctx, seen.ID)).To(Equal(described))
		_, err = second.Describe(ctx, described, "second")
		Expect(err).NotTo(HaveOccurred())
		Expect(s.member.Delete(ctx, described)).To(failAs(neutron.Changed))
		Expect(s.member.Delete(ctx, s.now(ctx, seen.ID))).To(Succeed())
	})

	It("to the description that is there already makes the other's view old, where there are revisions", func(ctx SpecContext) {
		seen := s.create(ctx, "same")
		_, err := s.member.Describe(ctx, seen, "same")
		Expect(err).NotTo(HaveOccurred())
		Expect(s.member.Tag(ctx, seen.ID, []string{"a"})).To(Succeed())
		_, err = s.member.Describe(ctx, seen, "new")
		if s.kind.lacksRevisions {
			Expect(err).NotTo(HaveOccurred())
		} else {
			Expect(err).To(failAs(neutron.Changed))
		}
	})

	It("keeps port and tags, and nothing that is or was bound meanwhile is deleted", func(ctx SpecContext) {
		seen := s.create(ctx, "old")
		Expect(s.member.Tag(ctx, seen.ID, []string{"a"})).To(Succeed())
		seen = s.now(ctx, seen.ID)
		port, err := s.Bind(ctx, seen.ID)
		Expect(err).NotTo(HaveOccurred())

		Expect(s.member.Delete(ctx, seen)).To(failAs(neutron.Changed), "it was seen without a port")
		_, err = s.member.Describe(ctx, seen, "new")
		Expect(err).To(failAs(neutron.Changed))
		bound := s.now(ctx, seen.ID)
		Expect(bound).To(And(HaveField("PortID", port), HaveField("Description", "old")))
		Expect(s.member.Delete(ctx, bound)).To(And(failAs(neutron.Conflict), MatchError(ContainSubstring(port))))

		described, err := s.member.Describe(ctx, bound, "new")
		Expect(err).NotTo(HaveOccurred())
		Expect(described).To(And(HaveField("PortID", port), HaveField("Description", "new"), HaveField("Tags", ConsistOf("a"))))
		Expect(s.now(ctx, seen.ID)).To(Equal(described))

		Expect(s.Unbind(ctx, port)).To(Succeed())
		Expect(s.now(ctx, seen.ID)).To(And(HaveField("PortID", ""), HaveField("RouterID", ""), HaveField("Description", "new"), HaveField("Tags", ConsistOf("a"))))
		_, err = s.member.Describe(ctx, described, "newer")
		Expect(err).To(failAs(neutron.Changed), "the port went")
	})

	It("is refused where port forwardings have come, which set a router and no port; none of them is deleted", func(ctx SpecContext) {
		seen := s.create(ctx, "old")
		Expect(seen.IsInUse()).To(BeFalse())
		port, err := s.Forward(ctx, seen.ID)
		Expect(err).NotTo(HaveOccurred())
		used := s.now(ctx, seen.ID)
		Expect(used).To(And(HaveField("PortID", ""), HaveField("RouterID", Not(BeEmpty())), HaveField("Description", "old")))

		_, err = s.member.Describe(ctx, seen, "new")
		Expect(err).To(failAs(neutron.Changed))
		Expect(s.member.Delete(ctx, seen)).To(Or(failAs(neutron.Changed), failAs(neutron.Conflict)), "it was seen unused")
		Expect(s.member.Delete(ctx, used)).To(And(failAs(neutron.Conflict), MatchError(ContainSubstring("port forwardings of router "+used.RouterID))))
		described, err := s.member.Describe(ctx, used, "new")
		Expect(err).NotTo(HaveOccurred())
		Expect(described).To(And(HaveField("RouterID", used.RouterID), HaveField("Description", "new")))

		Expect(s.Unbind(ctx, port)).To(Succeed())
		unused := s.now(ctx, seen.ID)
		Expect(unused.IsInUse()).To(BeFalse())
		Expect(s.member.Delete(ctx, described)).NotTo(Succeed())
		Expect(s.member.Delete(ctx, unused)).To(Succeed())
	})

	It("of one that was disassociated finds neither port nor router", func(ctx SpecContext) {
		seen := s.create(ctx, "")
		port, err := s.Bind(ctx, seen.ID)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.now(ctx, seen.ID)).To(And(HaveField("PortID", port), HaveField("RouterID", Not(BeEmpty()))))
		Expect(s.Disassociate(ctx, seen.ID)).To(Succeed())
		unused := s.now(ctx, seen.ID)
		Expect(unused.IsInUse()).To(BeFalse())
		described, err := s.member.Describe(ctx, unused, "described")
		Expect(err).NotTo(HaveOccurred())
		Expect(described.IsInUse()).To(BeFalse())
		Expect(s.Unbind(ctx, port)).To(Succeed())
		Expect(s.member.Delete(ctx, described)).To(Succeed())
	})

	It("of one that was created with a description is refused when it has been bound, and when it is free again", func(ctx SpecContext) {
		const owner, free = "weir/1/key/uid/namespace/name", "weir/1/key/-"
		seen := s.create(ctx, owner)
		port, err := s.Bind(ctx, seen.ID)
		Expect(err).NotTo(HaveOccurred())
		found, err := s.member.FindByDescription(ctx, s.public.ID, owner)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(ConsistOf(And(HaveField("ID", seen.ID), HaveField("PortID", port))))
		Expect(s.member.Delete(ctx, seen)).To(failAs(neutron.Changed))
		_, err = s.member.Describe(ctx, seen, free)
		Expect(err).To(failAs(neutron.Changed))
		described, err := s.member.Describe(ctx, found[0], free)
		Expect(err).NotTo(HaveOccurred())
		Expect(described).To(And(HaveField("PortID", port), HaveField("Description", free)))

		Expect(s.Unbind(ctx, port)).To(Succeed())
		unbound := s.now(ctx, seen.ID)
		Expect(unbound).To(And(HaveField("PortID", ""), HaveField("Description", free)))
		Expect(s.member.Delete(ctx, seen)).To(failAs(neutron.Changed), "it has another description since")
		Expect(s.member.Delete(ctx, unbound)).To(Succeed())
	})
}))

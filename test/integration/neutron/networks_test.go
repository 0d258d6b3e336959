// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

var _ = Describe("Finding", onEvery(func(s *site) {
	It("finds a network by name and by id", func(ctx SpecContext) {
		Expect(s.public.Name).To(Equal(openstack.Public))
		Expect(s.member.FindNetwork(ctx, neutron.NetworkFilter{ID: s.public.ID})).To(Equal(s.public))
	})

	It("names all networks where several match", func(ctx SpecContext) {
		_, err := s.member.FindNetwork(ctx, neutron.NetworkFilter{})
		Expect(err).To(And(failAs(neutron.Invalid),
			MatchError(ContainSubstring(openstack.Public)), MatchError(ContainSubstring(openstack.Tiny)), MatchError(ContainSubstring(s.tiny.ID))))
	})

	DescribeTable("says that no network matches", func(ctx SpecContext, filter neutron.NetworkFilter) {
		_, err := s.member.FindNetwork(ctx, filter)
		Expect(err).To(failAs(neutron.NotFound))
	},
		Entry("of a name", neutron.NetworkFilter{Name: "nonesuch"}),
		Entry("of an id", neutron.NetworkFilter{ID: "00000000-0000-0000-0000-000000000000"}),
		Entry("of tags", neutron.NetworkFilter{Name: openstack.Public, Tags: []string{"nonesuch"}}),
	)

	It("finds a subnet by name for its owner, and for no other project, which may use it by its id", func(ctx SpecContext) {
		subnet, err := s.connect(ctx, openstack.Admin).Subnet(ctx, s.public.ID, "", "public-b")
		Expect(err).NotTo(HaveOccurred())
		_, err = s.member.Subnet(ctx, s.public.ID, subnet.ID, "")
		Expect(err).To(failAs(neutron.NotFound))
		_, err = s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.public.ID, SubnetID: subnet.ID})
		Expect(err).NotTo(HaveOccurred())
	})
}))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

var _ = Describe("Logging in", onEvery(func(s *site) {
	It("works with an application credential as with a password, and is for the same project", func(ctx SpecContext) {
		id, err := s.ApplicationCredential(ctx, "weir", "a-secret")
		Expect(err).NotTo(HaveOccurred())
		byPassword := string(s.CloudsYAML())
		authURL := strings.TrimSpace(strings.SplitN(strings.SplitN(byPassword, "auth_url:", 2)[1], "\n", 2)[0])
		yaml := fmt.Sprintf(`{clouds: {c: {auth_type: v3applicationcredential, region_name: elsewhere, auth: {
			auth_url: "%s", application_credential_id: %s, application_credential_secret: a-secret}}}}`, authURL, id)
		credentials, err := neutron.ParseClouds([]byte(yaml), nil, "c", openstack.Region)
		Expect(err).NotTo(HaveOccurred())
		client, err := neutron.Connect(ctx, credentials, s.options())
		Expect(err).NotTo(HaveOccurred())
		Expect(client.Project()).To(Equal(s.member.Project()))
		created := s.create(ctx, "of both")
		Expect(client.Get(ctx, created.ID)).To(Equal(created))
	})

	It("with a wrong password is Unauthorized, and says no password", func(ctx SpecContext) {
		yaml := strings.ReplaceAll(string(s.CloudsYAML()), openstack.Password(openstack.Member), "hunter2")
		credentials, err := neutron.ParseClouds([]byte(yaml), nil, openstack.Member, "")
		Expect(err).NotTo(HaveOccurred())
		_, err = neutron.Connect(ctx, credentials, s.options())
		Expect(err).To(failAs(neutron.Unauthorized))
		Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
	})

	It("is refused by the default policy, which wants https", func(ctx SpecContext) {
		credentials, err := neutron.ParseClouds(s.CloudsYAML(), nil, openstack.Member, "")
		Expect(err).NotTo(HaveOccurred())
		_, err = neutron.Connect(ctx, credentials, neutron.Options{})
		Expect(err).To(failAs(neutron.Invalid))
		Expect(err).To(MatchError(ContainSubstring("--openstack-endpoint-allow")))
	})

	It("to a region without a network service is Invalid", func(ctx SpecContext) {
		credentials, err := neutron.ParseClouds(s.CloudsYAML(), nil, openstack.Member, "nowhere")
		Expect(err).NotTo(HaveOccurred())
		_, err = neutron.Connect(ctx, credentials, s.options())
		Expect(err).To(And(failAs(neutron.Invalid), MatchError(ContainSubstring(`region "nowhere"`))))
	})
}))

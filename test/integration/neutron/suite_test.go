// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neutron tests the client of Neutron against a real Keystone and Neutron and against the fake, with the same expectations.
//
//   - login_test.go: passwords, application credentials, endpoints.
//   - networks_test.go: which network and subnet is meant.
//   - floatingips_test.go: the life of a floating IP: creation, search, descriptions, tags, deletion, and who may do what.
//   - changes_test.go: conditional changes, with ports and with two clients.
package neutron

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	_ "github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite" // prints what specs cost
)

// cloud is what the suite runs against.
type cloud interface {
	CloudsYAML() []byte
	Endpoints() []string
	ApplicationCredential(ctx context.Context, name, secret string) (id string, err error)
	SetQuota(ctx context.Context, limit int) error
	SetPolicy(rules map[string]string) error
	Bind(ctx context.Context, floatingIP string) (port string, err error)
	Disassociate(ctx context.Context, floatingIP string) error
	Forward(ctx context.Context, floatingIP string) (port string, err error)
	Unbind(ctx context.Context, port string) error
	Stop() error
}

var (
	_ cloud = (*openstack.Cloud)(nil)
	_ cloud = (*fake.Cloud)(nil)
)

// kind is one of the clouds.
type kind struct {
	name  string
	start func(context.Context) (cloud, error)
	// lacksRevisions says that changes are checked by a read before.
	lacksRevisions bool
}

var kinds = []kind{
	{name: "real", start: func(ctx context.Context) (cloud, error) { return openstack.Start(ctx) }},
	{name: "fake", start: func(context.Context) (cloud, error) { return fake.Start(), nil }},
	{name: "fake without revisions", lacksRevisions: true, start: func(context.Context) (cloud, error) {
		c := fake.Start()
		c.SetRevisions(false)
		return c, nil
	}},
}

func TestNeutron(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Neutron")
}

// site is the cloud of a spec, with the member's client and its networks.
type site struct {
	cloud

	kind   kind
	member *neutron.Client
	public neutron.Network
	tiny   neutron.Network
}

// clouds run since the first spec that needed them.
var clouds = map[string]cloud{}

var _ = AfterSuite(func() {
	for _, c := range clouds {
		Expect(c.Stop()).To(Succeed())
	}
})

// onEvery returns a container with one for each kind of cloud. After each spec the member has no floating IP, no quota and no policy.
func onEvery(specs func(s *site)) func() {
	return func() {
		for _, k := range kinds {
			Context("on the cloud: "+k.name, func() {
				s := &site{kind: k}
				BeforeEach(s.open, NodeTimeout(3*time.Minute))
				AfterEach(s.clear, NodeTimeout(time.Minute))
				specs(s)
			})
		}
	}
}

func (s *site) open(ctx SpecContext) {
	if clouds[s.kind.name] == nil {
		started, err := s.kind.start(ctx)
		Expect(err).NotTo(HaveOccurred())
		clouds[s.kind.name] = started
	}
	s.cloud = clouds[s.kind.name]
	s.member = s.connect(ctx, openstack.Member)
	var err error
	s.public, err = s.member.FindNetwork(ctx, neutron.NetworkFilter{Name: openstack.Public})
	Expect(err).NotTo(HaveOccurred())
	s.tiny, err = s.member.FindNetwork(ctx, neutron.NetworkFilter{Name: openstack.Tiny})
	Expect(err).NotTo(HaveOccurred())
}

func (s *site) clear(ctx SpecContext) {
	Expect(s.SetPolicy(nil)).To(Succeed())
	Expect(s.SetQuota(ctx, -1)).To(Succeed())
	for _, network := range []neutron.Network{s.public, s.tiny} {
		all, err := s.member.List(ctx, network.ID)
		Expect(err).NotTo(HaveOccurred())
		for _, f := range all {
			Expect(s.member.Delete(ctx, f)).To(Succeed())
		}
	}
}

// options allow for the cloud's endpoints.
func (s *site) options() neutron.Options {
	policy, err := neutron.ParseEndpointPolicy(s.Endpoints())
	Expect(err).NotTo(HaveOccurred())
	return neutron.Options{Policy: policy, PageSize: 2}
}

// connect logs in as a user, by password.
func (s *site) connect(ctx context.Context, user string) *neutron.Client {
	credentials, err := neutron.ParseClouds(s.CloudsYAML(), nil, user, "")
	Expect(err).NotTo(HaveOccurred())
	client, err := neutron.Connect(ctx, credentials, s.options())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(client.CloseIdleConnections)
	return client
}

// create makes a floating IP of the public network.
func (s *site) create(ctx context.Context, description string) neutron.FloatingIP {
	created, err := s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.public.ID, Description: description})
	Expect(err).NotTo(HaveOccurred())
	return created
}

// now returns a floating IP as it is.
func (s *site) now(ctx context.Context, id string) neutron.FloatingIP {
	f, err := s.member.Get(ctx, id)
	Expect(err).NotTo(HaveOccurred())
	return f
}

// failAs matches an *Error of a kind.
func failAs(kind neutron.Kind) types.GomegaMatcher {
	return WithTransform(neutron.KindOf, Equal(kind))
}

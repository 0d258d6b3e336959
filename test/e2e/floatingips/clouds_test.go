// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// cloud is what pools take floating IPs from.
type cloud interface {
	CloudsYAML() []byte
	Bind(ctx context.Context, floatingIP string) (port string, err error)
	Unbind(ctx context.Context, port string) error
}

// floatingIP is one as it was seen.
type floatingIP = openstack.FloatingIP

// project is the member's, in a cloud.
type project struct {
	cloud cloud
	// fake is nil where the cloud is a real one.
	fake *fake.Cloud
	// member makes what is not Weir's.
	member  *neutron.Client
	network string
	// strangers are floating IPs that Weir must leave as they are.
	strangers []floatingIP

	// binding is locked while something is bound.
	binding sync.Mutex
	// ending is how many calls there were of the fake when the first pool was deleted: each pool that ends lists its network. Nil before.
	ending *int
}

func open(ctx context.Context, c cloud) *project {
	GinkgoHelper()
	p := &project{cloud: c}
	p.fake, _ = c.(*fake.Cloud)
	credentials, err := neutron.ParseClouds(c.CloudsYAML(), nil, openstack.Member, "")
	Expect(err).NotTo(HaveOccurred())
	policy, err := neutron.ParseEndpointPolicy([]string{loopback})
	Expect(err).NotTo(HaveOccurred())
	p.member, err = neutron.Connect(ctx, credentials, neutron.Options{Policy: policy})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(p.member.CloseIdleConnections)
	public, err := p.member.FindNetwork(ctx, neutron.NetworkFilter{Name: openstack.Public})
	Expect(err).NotTo(HaveOccurred())
	p.network = public.ID
	return p
}

// startFake starts a fake cloud that ends with the spec.
func startFake(ctx context.Context) *project {
	GinkgoHelper()
	c := fake.Start()
	DeferCleanup(c.Stop)
	return open(ctx, c)
}

// all returns what there is, of every project.
func (p *project) all(ctx context.Context) ([]floatingIP, error) {
	if p.fake != nil {
		return p.fake.FloatingIPs(), nil
	}
	return realCloud.cloud.FloatingIPs(ctx)
}

// own returns what there is but for the strangers'.
func (p *project) own(ctx context.Context) ([]floatingIP, error) {
	all, err := p.all(ctx)
	return slices.DeleteFunc(all, func(f floatingIP) bool { return p.isStranger(f.ID) }), err
}

func (p *project) isStranger(id string) bool {
	return slices.ContainsFunc(p.strangers, func(s floatingIP) bool { return s.ID == id })
}

// at returns the floating IP that has an address.
func (p *project) at(ctx context.Context, address netip.Addr) (f floatingIP, isThere bool, err error) {
	all, err := p.all(ctx)
	i := slices.IndexFunc(all, func(f floatingIP) bool { return f.Address == address && f.NetworkID == p.network })
	if i < 0 {
		return floatingIP{}, false, err
	}
	return all[i], true, err
}

// addStrangers makes floating IPs that look more and more like those of the pools with these keys, and are none of theirs. The first is bound.
func (p *project) addStrangers(ctx context.Context, keys ...string) {
	GinkgoHelper()
	const uid = "11111111-2222-4333-8444-555555555555"
	others := []string{"the office's", "", "weir/1/", "weir/2/" + uid + "/" + uid + "/team/a", "weir/1/" + uid + "/" + uid + "/team/a"}
	descriptions := slices.Clone(others)
	for _, key := range keys {
		descriptions = append(descriptions, "weir/1/"+key+"/"+uid+"/team/a", "weir/1/"+key+"/-/team/a", "weir/1/"+key)
	}
	ids := make([]string, 0, len(descriptions))
	for _, description := range descriptions {
		f, err := p.member.Create(ctx, neutron.CreateOptions{NetworkID: p.network, Description: description})
		Expect(err).NotTo(HaveOccurred())
		ids = append(ids, f.ID)
	}
	_, err := p.bind(ctx, ids[0])
	Expect(err).NotTo(HaveOccurred())
	all, err := p.all(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, f := range all {
		if slices.Contains(ids, f.ID) {
			p.strangers = append(p.strangers, f)
		}
	}
}

// end notes that pools are deleted from now on.
func (p *project) end() {
	if p.fake != nil && p.ending == nil {
		p.ending = ptr.To(len(p.fake.Calls()))
	}
}

// changed says which strangers are not as they were.
func (p *project) changed(all []floatingIP) (found []string) {
	for _, stranger := range p.strangers {
		i := slices.IndexFunc(all, func(f floatingIP) bool { return f.ID == stranger.ID })
		if i < 0 || fmt.Sprint(all[i]) != fmt.Sprint(stranger) {
			found = append(found, fmt.Sprintf("somebody else's floating IP %s (%q) was touched", stranger.Address, stranger.Description))
		}
	}
	return found
}

// bind binds a floating IP to a new port.
func (p *project) bind(ctx context.Context, id string) (port string, err error) {
	p.binding.Lock()
	defer p.binding.Unlock()
	return p.cloud.Bind(ctx, id)
}

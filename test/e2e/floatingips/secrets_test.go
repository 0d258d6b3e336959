// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

// tokens are those that the fakes have given out.
var tokens struct {
	sync.Mutex
	all map[string]bool
}

// keepTokens keeps the tokens of the fake that are valid now.
func (p *project) keepTokens() {
	tokens.Lock()
	defer tokens.Unlock()
	if tokens.all == nil {
		tokens.all = map[string]bool{}
	}
	for _, token := range p.fake.Tokens() {
		tokens.all[token] = true
	}
}

// expectNoSecret looks for passwords and tokens in the managers' logs, in events, and in all objects that tell something.
func expectNoSecret(ctx context.Context) {
	GinkgoHelper()
	said := map[string]string{}
	for name, list := range map[string]client.ObjectList{
		"claims": &ipamv1beta2.IPAddressClaimList{}, "IPAddresses": &ipamv1beta2.IPAddressList{}, "records": &ipamv1.IPAllocationList{},
		"IPPools": &ipamv1.IPPoolList{}, "GlobalIPPools": &ipamv1.GlobalIPPoolList{}, "events": &eventsv1.EventList{},
	} {
		patiently(func() error { return k.List(ctx, list) })
		text, err := yaml.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		said[name] = string(text)
	}
	logs, err := filepath.Glob(filepath.Join(site.Dir(), "*.log"))
	Expect(err).NotTo(HaveOccurred())
	Expect(logs).NotTo(BeEmpty())
	for _, path := range logs {
		if text, err := os.ReadFile(path); err == nil {
			said[filepath.Base(path)] = string(text)
		}
	}
	for where, text := range said {
		Expect(secretsIn(text)).To(BeZero(), "secrets told in %s", where)
	}
}

// secretsIn returns how many secrets a text has.
func secretsIn(text string) (n int) {
	for _, user := range []string{openstack.Admin, openstack.Member, openstack.Other} {
		n += strings.Count(text, openstack.Password(user))
	}
	tokens.Lock()
	defer tokens.Unlock()
	for token := range tokens.all {
		n += strings.Count(text, token)
	}
	return n
}

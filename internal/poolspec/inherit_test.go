// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"fmt"
	"net/netip"
	"testing"

	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// under resolves a pool with a spec in YAML that is carved from parent.
func under(t *testing.T, text string, parent *pooltree.Pool) *pooltree.Pool {
	t.Helper()
	var spec ipamv1.IPPoolSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	if parent != nil {
		spec.ParentRef = &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"}
	}
	shape, errs := poolspec.ResolveUnder(&spec, ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "p"}, parent)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return shape
}

func TestInheritedNetwork(t *testing.T) {
	t.Parallel()
	const whole = `{cidr: 10.0.0.0/16, network: {prefixLength: 20, gateway: 10.0.0.1, dnsServers: [10.0.0.53]}}`
	tests := map[string]struct {
		// specs of the root and of what is carved below, down to the pool that is asked.
		specs   []string
		address string
		want    string
	}{
		"all of the parent's": {
			specs: []string{whole, `{cidr: 10.0.1.0/24}`}, address: "10.0.1.9", want: "/20 10.0.0.1 [10.0.0.53]",
		},
		"of the nearest ancestor that has them": {
			specs: []string{whole, `{cidr: 10.0.0.0/20}`, `{cidr: 10.0.1.0/24, network: {}}`}, address: "10.0.1.9", want: "/20 10.0.0.1 [10.0.0.53]",
		},
		"of the nearest, though one further up has others": {
			specs:   []string{whole, `{cidr: 10.0.4.0/22, network: {gateway: 10.0.4.1}}`, `{cidr: 10.0.5.0/24}`},
			address: "10.0.5.9", want: "/22 10.0.4.1 []",
		},
		"not in part": {
			specs: []string{whole, `{cidr: 10.0.1.0/24, network: {dnsServers: [10.0.1.53]}}`}, address: "10.0.1.9", want: "/24 invalid IP [10.0.1.53]",
		},
		"of the block that a gateway is reached in": {
			specs: []string{`{cidr: 10.0.0.0/16, network: {gateway: 10.0.0.1}}`, `{cidr: 10.0.1.0/24}`}, address: "10.0.1.9", want: "/16 10.0.0.1 []",
		},
		"but not the length of a block that nobody chose for a network": {
			specs: []string{`{cidr: 10.0.0.0/8, network: {dnsServers: [10.0.0.53]}}`, `{cidr: 10.0.0.0/16}`, `{cidr: 10.0.1.0/24}`}, address: "10.0.1.9",
			want: "/24 invalid IP [10.0.0.53]",
		},
		"nor with a gateway that is reached on every link": {
			specs: []string{`{cidr: "2001:db8::/48", network: {gateway: "fe80::1"}}`, `{cidr: "2001:db8:0:1::/64"}`}, address: "2001:db8:0:1::9",
			want: "/64 fe80::1 []",
		},
		"of the subnet that the block lies in": {
			specs: []string{
				`{cidr: 10.0.0.0/16, network: {gateway: 10.0.0.1}, subnets: [{cidr: 10.0.1.0/24, network: {gateway: 10.0.1.1}}]}`, `{cidr: 10.0.1.128/25}`,
			}, address: "10.0.1.200", want: "/24 10.0.1.1 []",
		},
		"outside the subnets of its own": {
			specs:   []string{whole, `{cidr: 10.0.0.0/22, subnets: [{cidr: 10.0.1.0/24, network: {gateway: 10.0.1.1}}]}`},
			address: "10.0.2.9", want: "/20 10.0.0.1 [10.0.0.53]",
		},
		"DNS servers only, in subnets of its own": {
			specs:   []string{whole, `{cidr: 10.0.0.0/22, subnets: [{cidr: 10.0.1.0/24, network: {gateway: 10.0.1.1}}]}`},
			address: "10.0.1.9", want: "/24 10.0.1.1 [10.0.0.53]",
		},
		"not of a parent that does not contain the block": {
			specs: []string{whole, `{cidr: 10.9.1.0/24}`}, address: "10.9.1.9", want: "/24 invalid IP []",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shape *pooltree.Pool
			for _, spec := range test.specs {
				shape = under(t, spec, shape)
			}
			n := shape.NetworkOf(netip.MustParseAddr(test.address))
			if got := fmt.Sprintf("/%d %v %v", n.Bits, n.Gateway, n.DNSServers); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestInheritedGatewayIsNeverHandedOut(t *testing.T) {
	t.Parallel()
	root := under(t, `{cidr: 10.0.0.0/16, network: {gateway: 10.0.1.7}}`, nil)
	child := under(t, `{cidr: 10.0.1.0/24, preAllocations: [{claimName: a, address: 10.0.1.7}, {claimName: b, address: 10.0.1.8}]}`, root)
	if _, refused := child.Refuses(netip.MustParsePrefix("10.0.1.7/32")); !refused {
		t.Error("the gateway may be handed out")
	}
	if got := child.ExcludedCount().String(); got != "1" {
		t.Errorf("%s addresses are excluded, want 1: the block's ends are ordinary addresses of the /16", got)
	}
	if kept := child.Kept(); len(kept) != 1 || kept[0].For.Name != "b" {
		t.Errorf("keeps %v: the gateway is nobody's", kept)
	}
}

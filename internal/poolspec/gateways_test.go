// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

func messages(errs field.ErrorList) []string {
	if len(errs) == 0 {
		return nil
	}
	all := make([]string, 0, len(errs))
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// TestWhatDoesNotReachItsGateway: the entry is named, with what of it does not reach which gateway, and what to do.
func TestWhatDoesNotReachItsGateway(t *testing.T) {
	t.Parallel()
	const whole = `{cidr: 10.3.0.0/16, network: {prefixLength: 24, gateway: 10.3.0.1}}`
	for sentence, test := range map[string]struct {
		// specs of the root and of what is carved below, down to the pool that is checked.
		specs []string
		want  []string
	}{
		"one network": {specs: []string{`{addresses: [192.0.2.10-192.0.2.20, 192.0.2.64/26], network: {prefixLength: 24, gateway: 192.0.2.1}}`}},
		"a range of another network": {
			specs: []string{`{addresses: [192.0.2.10-192.0.2.20, 198.51.100.10-198.51.100.20], network: {prefixLength: 24, gateway: 192.0.2.1}}`},
			want: []string{`spec.addresses[1]: Invalid value: "198.51.100.10-198.51.100.20": 198.51.100.10-198.51.100.20 do not reach gateway 192.0.2.1 with prefix length 24; ` +
				`correct spec.network, or set the network of these addresses in spec.subnets`},
		},
		"an address of another network": {
			specs: []string{`{addresses: [192.0.2.10, 192.0.3.10], network: {prefixLength: 24, gateway: 192.0.2.1}}`},
			want: []string{`spec.addresses[1]: Invalid value: "192.0.3.10": 192.0.3.10 does not reach gateway 192.0.2.1 with prefix length 24; ` +
				`correct spec.network, or set the network of these addresses in spec.subnets`},
		},
		"part of a range": {
			specs: []string{`{addresses: [192.0.2.250-192.0.3.5], network: {prefixLength: 24, gateway: 192.0.2.1}}`},
			want: []string{`spec.addresses[0]: Invalid value: "192.0.2.250-192.0.3.5": 192.0.3.0-192.0.3.5 do not reach gateway 192.0.2.1 with prefix length 24; ` +
				`correct spec.network, or set the network of these addresses in spec.subnets`},
		},
		"blocks each of which is a network": {
			specs: []string{`{addresses: [192.0.2.0/25, 192.0.2.128/25], network: {gateway: 192.0.2.1}}`},
			want: []string{`spec.addresses[1]: Invalid value: "192.0.2.128/25": 192.0.2.128-192.0.2.255 do not reach gateway 192.0.2.1 with prefix length 25; ` +
				`correct spec.network, or set the network of these addresses in spec.subnets`},
		},
		"more than one range of an entry": {
			specs: []string{whole[:len(whole)-1] + `, excludedAddresses: [10.3.2.0/24]}`},
			want: []string{`spec.cidr: Invalid value: "10.3.0.0/16": 10.3.1.0-10.3.1.255 and 1 more of its ranges do not reach gateway 10.3.0.1 with prefix length 24; ` +
				`correct spec.network, or set the network of these addresses in spec.subnets`},
		},
		"what is excluded is not handed out": {specs: []string{whole[:len(whole)-1] + `, excludedAddresses: [10.3.1.0-10.3.255.255]}`}},
		"nor is what is reserved":            {specs: []string{`{addresses: [192.0.2.250-192.0.3.0], network: {prefixLength: 24, gateway: 192.0.2.1}}`}},
		"unless it is handed out": {
			specs: []string{`{addresses: [192.0.2.250-192.0.3.0], network: {prefixLength: 24, gateway: 192.0.2.1}, allocation: {reservedAddresses: Allocate}}`},
			want: []string{`spec.addresses[0]: Invalid value: "192.0.2.250-192.0.3.0": 192.0.3.0 does not reach gateway 192.0.2.1 with prefix length 24; ` +
				`correct spec.network, or set the network of these addresses in spec.subnets`},
		},
		"a host route": {specs: []string{`{addresses: [192.0.2.10-192.0.2.20, 198.51.100.10-198.51.100.20], network: {prefixLength: 32, gateway: 203.0.113.1}}`}},
		"a subnet of its own for the rest": {
			specs: []string{`{addresses: [192.0.2.10-192.0.2.20, 198.51.100.10-198.51.100.20], network: {prefixLength: 24, gateway: 192.0.2.1},
				subnets: [{cidr: 198.51.100.0/24, network: {gateway: 198.51.100.1}}]}`},
		},
		"part of a subnet": {
			specs: []string{`{cidr: 10.2.0.0/16, subnets: [{cidr: 10.2.1.0/24, network: {prefixLength: 25, gateway: 10.2.1.1}}]}`},
			want: []string{`spec.cidr: Invalid value: "10.2.0.0/16": 10.2.1.128-10.2.1.255 do not reach gateway 10.2.1.1 with prefix length 25; ` +
				`correct spec.subnets[0].network, or set the network of these addresses in spec.subnets`},
		},
		"IPv6": {
			specs: []string{`{addresses: ["2001:db8::/64", "2001:db8:0:1::/64"], network: {gateway: "2001:db8::1"}}`},
			want: []string{`spec.addresses[1]: Invalid value: "2001:db8:0:1::/64": 2001:db8:0:1::-2001:db8:0:1:ffff:ffff:ffff:ffff do not reach gateway 2001:db8::1 with prefix length 64; ` +
				`correct spec.network, or set the network of these addresses in spec.subnets`},
		},
		"a host route of IPv6":                 {specs: []string{`{cidr: "2001:db8:0:1::/64", network: {prefixLength: 128, gateway: "2001:db8::1"}}`}},
		"an IPv6 gateway that is on each link": {specs: []string{`{addresses: ["2001:db8::/64", "2001:db8:0:1::/64"], network: {gateway: "fe80::1"}}`}},
		"a child": {
			specs: []string{whole, `{cidr: 10.3.9.0/24}`},
			want: []string{`spec.cidr: Invalid value: "10.3.9.0/24": 10.3.9.0-10.3.9.255 do not reach gateway 10.3.0.1 with prefix length 24; ` +
				`the pool inherits them from its parent: set spec.network`},
		},
		"a child of a child": {
			specs: []string{whole, `{cidr: 10.3.0.0/20}`, `{cidr: 10.3.9.0/24}`},
			want: []string{`spec.cidr: Invalid value: "10.3.9.0/24": 10.3.9.0-10.3.9.255 do not reach gateway 10.3.0.1 with prefix length 24; ` +
				`the pool inherits them from its parent: set spec.network`},
		},
		"a child in the gateway's network":         {specs: []string{whole, `{cidr: 10.3.0.128/25}`}},
		"a child with a network of its own":        {specs: []string{whole, `{cidr: 10.3.9.0/24, network: {gateway: 10.3.9.1}}`}},
		"a child with a subnet of its own":         {specs: []string{whole, `{cidr: 10.3.9.0/24, subnets: [{cidr: 10.3.9.0/24, network: {gateway: 10.3.9.1}}]}`}},
		"a child of a host route":                  {specs: []string{`{cidr: 10.3.0.0/16, network: {prefixLength: 32, gateway: 10.9.0.1}}`, `{cidr: 10.3.9.0/24}`}},
		"a child in the network that its root has": {specs: []string{`{cidr: 10.3.0.0/16, network: {gateway: 10.3.0.1}}`, `{cidr: 10.3.9.0/24}`}},
		"a child below a link-local gateway of IPv4": {
			specs: []string{`{cidr: 169.254.0.0/16, network: {gateway: 169.254.0.1}}`, `{cidr: 169.254.9.0/24}`},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var parent, shape *pooltree.Pool
			for _, text := range test.specs {
				parent, shape = shape, under(t, text, shape)
			}
			spec := specOf(t, test.specs[len(test.specs)-1])
			if parent != nil {
				spec.ParentRef = &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"}
			}
			mistakes, known := poolspec.CheckGateways(spec, poolOf(""), shape, nil)
			if diff := cmp.Diff(test.want, messages(mistakes)); diff != "" || len(known) > 0 {
				t.Errorf("(-want +got):\n%s\nknown: %v", diff, known)
			}
		})
	}
}

// TestWhatDidNotReachItsGatewayBefore: what a change leaves as it was is known, and what it brings about is a mistake.
func TestWhatDidNotReachItsGatewayBefore(t *testing.T) {
	t.Parallel()
	const old = `{addresses: [192.0.2.10, 192.0.3.10-192.0.3.20], network: {prefixLength: 24, gateway: 192.0.2.1}}`
	for sentence, test := range map[string]struct {
		spec            string
		mistakes, known int
	}{
		"as it was":               {spec: old, known: 1},
		"less of it":              {spec: `{addresses: [192.0.2.10, 192.0.3.12-192.0.3.14], network: {prefixLength: 24, gateway: 192.0.2.1}}`, known: 1},
		"put right":               {spec: `{addresses: [192.0.2.10, 192.0.3.10-192.0.3.20], network: {prefixLength: 23, gateway: 192.0.2.1}}`},
		"more of it":              {spec: `{addresses: [192.0.2.10, 192.0.3.10-192.0.3.21], network: {prefixLength: 24, gateway: 192.0.2.1}}`, mistakes: 1},
		"another entry":           {spec: `{addresses: [192.0.2.10, 192.0.3.10-192.0.3.20, 192.0.4.1], network: {prefixLength: 24, gateway: 192.0.2.1}}`, mistakes: 1, known: 1},
		"another gateway":         {spec: `{addresses: [192.0.2.10, 192.0.3.10-192.0.3.20], network: {prefixLength: 24, gateway: 192.0.2.2}}`, mistakes: 1},
		"another length":          {spec: `{addresses: [192.0.2.10, 192.0.3.10-192.0.3.20], network: {prefixLength: 25, gateway: 192.0.2.1}}`, mistakes: 1},
		"the other way round":     {spec: `{addresses: [192.0.2.10, 192.0.3.10-192.0.3.20], network: {prefixLength: 24, gateway: 192.0.3.1}}`, mistakes: 1},
		"excluded, as it was not": {spec: old[:len(old)-1] + `, excludedAddresses: [192.0.3.0/24]}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			mistakes, known := poolspec.CheckGateways(specOf(t, test.spec), poolOf(""), under(t, test.spec, nil), under(t, old, nil))
			if len(mistakes) != test.mistakes || len(known) != test.known {
				t.Errorf("mistakes %v, known %v; want %d and %d", mistakes, known, test.mistakes, test.known)
			}
		})
	}
}

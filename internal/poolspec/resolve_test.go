// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

func specOf(t *testing.T, text string) *ipamv1.IPPoolSpec {
	t.Helper()
	spec := &ipamv1.IPPoolSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestResolveRefuses expects every mistake of a spec, in order, by the
// beginning of its text.
func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec string
		kind string
		want []string
	}{
		"no source": {
			spec: `{}`,
			want: []string{`spec.cidr: Required value: one of cidr, parentRef and addresses is required`},
		},
		"two sources": {
			spec: `{cidr: 192.0.2.0/28, addresses: [192.0.2.16]}`,
			want: []string{`spec.addresses: Forbidden: a pool has either cidr or addresses`},
		},
		"a cidr that is not masked": {
			spec: `{cidr: 192.0.2.1/28}`,
			want: []string{`spec.cidr: Invalid value: "192.0.2.1/28": "192.0.2.1/28" is not canonical: write "192.0.2.0/28"`},
		},
		"a cidr in upper case": {
			spec: `{cidr: "2001:DB8::/64"}`,
			want: []string{`spec.cidr: Invalid value: "2001:DB8::/64": "2001:DB8::/64" is not canonical: write "2001:db8::/64"`},
		},
		"a cidr that is an address": {
			spec: `{cidr: 192.0.2.1}`,
			want: []string{`spec.cidr: Invalid value: "192.0.2.1": "192.0.2.1" is not a CIDR: write "192.0.2.1/32"`},
		},
		"a cidr that is a range": {
			spec: `{cidr: 192.0.2.1-192.0.2.9}`,
			want: []string{`spec.cidr: Invalid value: "192.0.2.1-192.0.2.9": `},
		},
		"a whole family": {
			spec: `{cidr: "::/0"}`,
			want: []string{`spec.cidr: Invalid value: "::/0": "::/0" contains every address of its family`},
		},
		"IPv4-mapped addresses": {
			spec: `{cidr: "::ffff:192.0.2.0/120"}`,
			want: []string{`spec.cidr: Invalid value: "::ffff:192.0.2.0/120": "::ffff:192.0.2.0/120" is not canonical: write "192.0.2.0/24"`},
		},
		"loopback": {
			spec: `{addresses: [126.255.255.255-127.0.0.0]}`,
			want: []string{`spec.addresses[0]: Invalid value: "126.255.255.255-127.0.0.0": contains a loopback address`},
		},
		"multicast": {
			spec: `{cidr: 239.0.0.0/8}`,
			want: []string{`spec.cidr: Invalid value: "239.0.0.0/8": contains a multicast address`},
		},
		"IPv6 multicast": {
			spec: `{cidr: "ff02::/16"}`,
			want: []string{`spec.cidr: Invalid value: "ff02::/16": contains a multicast address`},
		},
		"the unspecified address": {
			spec: `{addresses: ["::"]}`,
			want: []string{`spec.addresses[0]: Invalid value: "::": contains the unspecified address`},
		},
		"the limited broadcast address": {
			spec: `{addresses: [255.255.255.254/31]}`,
			want: []string{`spec.addresses[0]: Invalid value: "255.255.255.254/31": contains the limited broadcast address`},
		},
		"every bad entry, each at its index": {
			spec: `{addresses: [192.0.2.1, 192.0.2.300, 192.0.2.9-192.0.2.3, "2001:db8::1", 192.0.2.1/32, 192.0.2.020]}`,
			want: []string{
				`spec.addresses[1]: Invalid value: "192.0.2.300": "192.0.2.300" is not an IP address`,
				`spec.addresses[2]: Invalid value: "192.0.2.9-192.0.2.3": "192.0.2.9-192.0.2.3" runs backwards`,
				`spec.addresses[3]: Invalid value: "2001:db8::1": is IPv6 in a pool of IPv4`,
				`spec.addresses[5]: Invalid value: "192.0.2.020": "192.0.2.020" is not an IP address`,
				`spec.addresses[4]: Invalid value: "192.0.2.1/32": overlaps spec.addresses[0], "192.0.2.1"`,
			},
		},
		"entries inside an earlier one, and over its end": {
			spec: `{addresses: [192.0.2.0/28, 192.0.2.2, 192.0.2.4/30, 192.0.2.15-192.0.2.16]}`,
			want: []string{
				`spec.addresses[1]: Invalid value: "192.0.2.2": overlaps spec.addresses[0]`,
				`spec.addresses[2]: Invalid value: "192.0.2.4/30": overlaps spec.addresses[0]`,
				`spec.addresses[3]: Invalid value: "192.0.2.15-192.0.2.16": overlaps spec.addresses[0]`,
			},
		},
		"an earlier entry inside a later one": {
			spec: `{addresses: [192.0.2.4, 192.0.2.0/28]}`,
			want: []string{`spec.addresses[1]: Invalid value: "192.0.2.0/28": overlaps spec.addresses[0], "192.0.2.4"`},
		},
		"too many entries, which are not read": {
			spec: `{addresses: [` + strings.Repeat("x, ", 1025) + `], excludedAddresses: [` + strings.Repeat("x, ", 1025) + `]}`,
			want: []string{
				`spec.addresses: Too many: 1025: must have at most 1024 items`,
				`spec.excludedAddresses: Too many: 1025: must have at most 1024 items`,
			},
		},
		"bad exclusions": {
			spec: `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.1, x, "2001:db8::/64", 192.0.2.1/24]}`,
			want: []string{
				`spec.excludedAddresses[1]: Invalid value: "x": "x" is not an IP address`,
				`spec.excludedAddresses[2]: Invalid value: "2001:db8::/64": is IPv6 in a pool of IPv4`,
				`spec.excludedAddresses[3]: Invalid value: "192.0.2.1/24": "192.0.2.1/24" is not canonical: write "192.0.2.0/24"`,
			},
		},
		"the wrong family": {
			spec: `{cidr: 192.0.2.0/24, ipFamily: IPv6}`,
			want: []string{`spec.ipFamily: Invalid value: "IPv6": the pool's addresses are IPv4`},
		},
		"a gateway of the other family": {
			spec: `{cidr: "2001:db8::/64", network: {gateway: 192.0.2.1}}`,
			want: []string{`spec.network.gateway: Invalid value: "192.0.2.1": is IPv4 in a pool of IPv6`},
		},
		"a gateway outside the block's network": {
			spec: `{cidr: 192.0.2.16/28, network: {gateway: 192.0.2.1}}`,
			want: []string{`spec.network.gateway: Invalid value: "192.0.2.1": is not in the network of any of the pool's addresses`},
		},
		"a gateway outside the given network": {
			spec: `{addresses: [192.0.2.16-192.0.2.31], network: {gateway: 198.51.100.1, prefixLength: 24}}`,
			want: []string{`spec.network.gateway: Invalid value: "198.51.100.1": is not in the network of any of the pool's addresses`},
		},
		"a gateway that is the broadcast address": {
			spec: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.255}}`,
			want: []string{`spec.network.gateway: Invalid value: "192.0.2.255": is the network or broadcast address`},
		},
		"a gateway that is multicast": {
			spec: `{addresses: ["2001:db8::1"], network: {gateway: "ff02::2"}}`,
			want: []string{`spec.network.gateway: Invalid value: "ff02::2": is a multicast address`},
		},
		"a gateway that is no address": {
			spec: `{cidr: 192.0.2.0/24, network: {gateway: router}}`,
			want: []string{`spec.network.gateway: Invalid value: "router": "router" is not an IP address`},
		},
		"a network longer than IPv4 has": {
			spec: `{cidr: 192.0.2.0/24, network: {prefixLength: 64}}`,
			want: []string{`spec.network.prefixLength: Invalid value: 64: must be between 1 and 32 in a pool of IPv4`},
		},
		"DNS servers that are none, and twice the same": {
			spec: `{cidr: 192.0.2.0/24, network: {dnsServers: [192.0.2.53, 0.0.0.0, "ff02::fb", 192.0.2.53, "2001:DB8::53"]}}`,
			want: []string{
				`spec.network.dnsServers[1]: Invalid value: "0.0.0.0": is not the address of a server`,
				`spec.network.dnsServers[2]: Invalid value: "ff02::fb": is not the address of a server`,
				`spec.network.dnsServers[3]: Duplicate value: "192.0.2.53"`,
				`spec.network.dnsServers[4]: Invalid value: "2001:DB8::53": "2001:DB8::53" is not canonical: write "2001:db8::53"`,
			},
		},
		"an address space that Weir makes itself": {
			spec: `{cidr: 192.0.2.0/24, addressSpace: metal3/ns/pool}`,
			want: []string{`spec.addressSpace: Invalid value: "metal3/ns/pool": names beginning with "metal3/" are reserved`},
		},
		"another address space that Weir makes itself": {
			spec: `{cidr: 192.0.2.0/24, addressSpace: openstack/host/region/id}`,
			want: []string{`spec.addressSpace: Invalid value: "openstack/host/region/id": names beginning with "openstack/" are reserved`},
		},
		"a Cluster of a cluster-scoped pool": {
			spec: `{cidr: 192.0.2.0/24, clusterName: prod}`,
			kind: ipamv1.GlobalIPPoolKind,
			want: []string{`spec.clusterName: Forbidden: a GlobalIPPool has no namespace to look up a Cluster in`},
		},
		"an unknown visibility": {
			spec: `{cidr: 192.0.2.0/24, visibility: Public}`,
			kind: ipamv1.GlobalIPPoolKind,
			want: []string{`spec.visibility: Unsupported value: "Public": supported values: "Consumer", "Platform", "Shared"`},
		},
		"a selector where visibility is not Shared": {
			spec: `{cidr: 192.0.2.0/24, visibility: Platform, namespaceSelector: {matchLabels: {tier: gold}}}`,
			kind: ipamv1.GlobalIPPoolKind,
			want: []string{`spec.namespaceSelector: Forbidden: narrows visibility Shared, and the pool's is Platform`},
		},
		"a selector where visibility is not Shared by default": {
			spec: `{cidr: 192.0.2.0/24, namespaceSelector: {}}`,
			want: []string{`spec.namespaceSelector: Forbidden: narrows visibility Shared, and the pool's is Consumer`},
		},
		"a selector that selects nothing that there can be": {
			spec: `
cidr: 192.0.2.0/24
visibility: Shared
namespaceSelector:
  matchLabels: {tier: "no value"}
  matchExpressions:
  - {key: tier, operator: Near, values: [gold]}
  - {key: tier, operator: In}
  - {key: no key, operator: Exists}`,
			want: []string{
				`spec.namespaceSelector.matchLabels: Invalid value: "no value": `,
				`spec.namespaceSelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
				`spec.namespaceSelector.matchExpressions[1].values: Required value: must be specified when ` + "`operator` is 'In' or 'NotIn'",
				`spec.namespaceSelector.matchExpressions[2].key: Invalid value: "no key": `,
			},
		},
		"lengths of the other family": {
			spec: `{cidr: 192.0.2.0/24, allocation: {minPrefixLength: 33, maxPrefixLength: 0, defaultPrefixLength: 64}}`,
			want: []string{
				`spec.allocation.minPrefixLength: Invalid value: 33: must be between 1 and 32 in a pool of IPv4`,
				`spec.allocation.maxPrefixLength: Invalid value: 0: must be between 1 and 32 in a pool of IPv4`,
				`spec.allocation.defaultPrefixLength: Invalid value: 64: must be between 1 and 32 in a pool of IPv4`,
			},
		},
		"bounds the wrong way round": {
			spec: `{cidr: 192.0.2.0/24, allocation: {minPrefixLength: 30, maxPrefixLength: 28}}`,
			want: []string{`spec.allocation.minPrefixLength: Invalid value: 30: is longer than maxPrefixLength, 28`},
		},
		"bounds that exclude single addresses, and no default": {
			spec: `{cidr: 192.0.2.0/24, allocation: {maxPrefixLength: 28}}`,
			want: []string{`spec.allocation.defaultPrefixLength: Required value: maxPrefixLength excludes single addresses`},
		},
		"a default out of bounds": {
			spec: `{cidr: 192.0.2.0/24, allocation: {minPrefixLength: 26, maxPrefixLength: 28, defaultPrefixLength: 29}}`,
			want: []string{`spec.allocation.defaultPrefixLength: Invalid value: 29: must be between minPrefixLength and maxPrefixLength, 26 and 28`},
		},
		"a default that no part of the pool can hold": {
			spec: `{addresses: [192.0.2.0/29, 192.0.2.24-192.0.2.33], allocation: {defaultPrefixLength: 28}}`,
			want: []string{`spec.allocation.defaultPrefixLength: Invalid value: 28: no part of the pool holds a block of that length`},
		},
		"mistakes in subnets": {
			spec: `
cidr: 192.0.2.0/24
subnets:
- {cidr: 192.0.2.0/33, network: {}}
- {cidr: "2001:db8::/64", network: {}}
- {cidr: 192.0.2.0/26, network: {gateway: 192.0.2.65}}
- {cidr: 192.0.2.0/27, network: {}}
- {cidr: 198.51.100.0/24, network: {}}
- {cidr: 192.0.2.64/26, network: {prefixLength: 33, gateway: "2001:db8::1", dnsServers: [0.0.0.0]}}
- {cidr: 192.0.2.128/26, network: {gateway: 192.0.2.191}}`,
			want: []string{
				`spec.subnets[0].cidr: Invalid value: "192.0.2.0/33": `,
				`spec.subnets[1].cidr: Invalid value: "2001:db8::/64": is IPv6 in a pool of IPv4`,
				`spec.subnets[3].cidr: Invalid value: "192.0.2.0/27": overlaps subnet 192.0.2.0/26`,
				`spec.subnets[4].cidr: Invalid value: "198.51.100.0/24": contains no address of the pool`,
				`spec.subnets[2].network.gateway: Invalid value: "192.0.2.65": is not in the network of any of the pool's addresses`,
				`spec.subnets[5].network.prefixLength: Invalid value: 33: must be between 1 and 32 in a pool of IPv4`,
				`spec.subnets[5].network.dnsServers[0]: Invalid value: "0.0.0.0": is not the address of a server`,
				`spec.subnets[5].network.gateway: Invalid value: "2001:db8::1": is IPv6 in a pool of IPv4`,
				`spec.subnets[6].network.gateway: Invalid value: "192.0.2.191": is the network or broadcast address of its network`,
			},
		},
		"mistakes in what is kept": {
			spec: `
cidr: 192.0.2.0/24
preAllocations:
- {claimName: text, address: ten}
- {claimName: form, address: 192.0.2.08}
- {claimName: prefix, address: 192.0.2.8/32}
- {claimName: family, address: "2001:db8::8"}
- {claimName: elsewhere, namespace: other, address: 192.0.2.8}
- {claimName: kind, kind: Machine, address: 192.0.2.9}
- {claimName: first, address: 192.0.2.10}
- {claimName: second, address: 192.0.2.10}
- {claimName: first, namespace: team, kind: IPAddressClaim, address: 192.0.2.11}
- {claimName: first, kind: IPClaim, address: 192.0.2.12}
- {claimName: first, kind: IPClaim, address: x}`,
			want: []string{
				`spec.preAllocations[0].address: Invalid value: "ten": "ten" is not an IP address`,
				`spec.preAllocations[1].address: Invalid value: "192.0.2.08": `,
				`spec.preAllocations[2].address: Invalid value: "192.0.2.8/32": `,
				`spec.preAllocations[3].address: Invalid value: "2001:db8::8": is IPv6 in a pool of IPv4`,
				`spec.preAllocations[4].namespace: Invalid value: "other": an IPPool has claims of its own namespace only, team`,
				`spec.preAllocations[5].kind: Unsupported value: "Machine": supported values: "IPAddressClaim", "IPClaim"`,
				`spec.preAllocations[7].address: Duplicate value: "192.0.2.10"`,
				`spec.preAllocations[8].claimName: Duplicate value: "IPAddressClaim team/first"`,
				`spec.preAllocations[10].claimName: Duplicate value: "IPClaim team/first"`,
				`spec.preAllocations[10].address: Invalid value: "x": `,
			},
		},
		"what is kept and never handed out": {
			spec: `
cidr: 192.0.2.0/24
excludedAddresses: [192.0.2.16/28]
network: {gateway: 192.0.2.1}
subnets: [{cidr: 192.0.2.128/25, network: {gateway: 192.0.2.129}}]
preAllocations:
- {claimName: outside, address: 192.0.3.1}
- {claimName: excluded, address: 192.0.2.20}
- {claimName: gateway, address: 192.0.2.1}
- {claimName: other-gateway, address: 192.0.2.129}
- {claimName: network, address: 192.0.2.0}
- {claimName: broadcast, address: 192.0.2.255}
- {claimName: other-network, address: 192.0.2.128}
- {claimName: good, address: 192.0.2.2}`,
			want: []string{
				`spec.preAllocations[0].address: Invalid value: "192.0.3.1": is not in the pool`,
				`spec.preAllocations[1].address: Invalid value: "192.0.2.20": is excluded or contains an excluded address`,
				`spec.preAllocations[2].address: Invalid value: "192.0.2.1": is the pool's gateway or contains it`,
				`spec.preAllocations[3].address: Invalid value: "192.0.2.129": is the pool's gateway or contains it`,
				`spec.preAllocations[4].address: Invalid value: "192.0.2.0": is a reserved address of its network`,
				`spec.preAllocations[5].address: Invalid value: "192.0.2.255": is a reserved address of its network`,
				`spec.preAllocations[6].address: Invalid value: "192.0.2.128": is a reserved address of its network`,
			},
		},
		"an IPv6 address that is not canonical, and the anycast address": {
			spec: `{cidr: "2001:db8::/64", preAllocations: [{claimName: a, address: "2001:DB8::1"}]}`,
			want: []string{`spec.preAllocations[0].address: Invalid value: "2001:DB8::1": "2001:DB8::1" is not canonical: write "2001:db8::1"`},
		},
		"the anycast address": {
			spec: `{cidr: "2001:db8::/64", preAllocations: [{claimName: a, address: "2001:db8::"}]}`,
			want: []string{`spec.preAllocations[0].address: Invalid value: "2001:db8::": is a reserved address of its network`},
		},
		"what a cluster-scoped pool keeps without naming the namespace": {
			spec: `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}, {claimName: b, namespace: team, address: 192.0.2.2}]}`,
			kind: ipamv1.GlobalIPPoolKind,
			want: []string{`spec.preAllocations[0].namespace: Required value: a GlobalIPPool has claims of every namespace`},
		},
		"the same claim of a cluster-scoped pool twice": {
			spec: `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, namespace: east, address: 192.0.2.1}, {claimName: a, namespace: west, address: 192.0.2.2},
			        {claimName: a, namespace: east, address: 192.0.2.3}]}`,
			kind: ipamv1.GlobalIPPoolKind,
			want: []string{`spec.preAllocations[2].claimName: Duplicate value: "IPAddressClaim east/a"`},
		},
		"what is no block of those that claims get": {
			spec: `{cidr: 192.0.2.0/24, allocation: {defaultPrefixLength: 28}, preAllocations: [{claimName: a, address: 192.0.2.24}]}`,
			want: []string{`spec.preAllocations[0].address: Invalid value: "192.0.2.24": is not the first address of a /28, which is what claims get`},
		},
		"blocks that the pool does not hand out": {
			spec: `
addresses: [192.0.2.0-192.0.2.250]
excludedAddresses: [192.0.2.35]
network: {prefixLength: 24, gateway: 192.0.2.1}
allocation: {defaultPrefixLength: 28}
preAllocations:
- {claimName: gateway, address: 192.0.2.0}
- {claimName: excluded, address: 192.0.2.32}
- {claimName: cut, address: 192.0.2.240}
- {claimName: good, address: 192.0.2.16}`,
			want: []string{
				`spec.preAllocations[0].address: Invalid value: "192.0.2.0": is the pool's gateway or contains it`,
				`spec.preAllocations[1].address: Invalid value: "192.0.2.32": is excluded or contains an excluded address`,
				`spec.preAllocations[2].address: Invalid value: "192.0.2.240": is not in the pool`,
			},
		},
		"expansion of a pool that is not delegated": {
			spec: `{cidr: 192.0.2.0/24, expansion: {thresholdPercent: 10, prefixLength: 28, maxPools: 3}}`,
			want: []string{`spec.expansion: Forbidden: only a pool with delegateTo is expanded`},
		},
		"expansion with a gateway": {
			spec: `{cidr: 192.0.2.0/24, parentRef: {kind: IPPool, name: parent}, delegateTo: edge, network: {gateway: 192.0.2.1},
expansion: {thresholdPercent: 10, prefixLength: 28, maxPools: 3}}`,
			want: []string{`spec.expansion: Forbidden: a further pool is another subnet, so it cannot have the gateway of spec.network`},
		},
		"expansion with subnets": {
			spec: `{cidr: 192.0.2.0/24, parentRef: {kind: IPPool, name: parent}, delegateTo: edge, subnets: [{cidr: 192.0.2.0/28, network: {prefixLength: 28}}],
expansion: {thresholdPercent: 10, prefixLength: 28, maxPools: 3}}`,
			want: []string{`spec.expansion: Forbidden: a further pool has none of the addresses of spec.subnets`},
		},
		"expansion by blocks of the other family": {
			spec: `{cidr: 192.0.2.0/24, parentRef: {kind: IPPool, name: parent}, delegateTo: edge, expansion: {thresholdPercent: 10, prefixLength: 64, maxPools: 3}}`,
			want: []string{`spec.expansion.prefixLength: Invalid value: 64: must be between 1 and 32 in a pool of IPv4`},
		},
		"expansion with labels that are for others, or none": {
			spec: `{cidr: 192.0.2.0/24, parentRef: {kind: IPPool, name: parent}, delegateTo: edge, expansion: {thresholdPercent: 10, prefixLength: 28, maxPools: 3, labels: {
ipam.weir.dev/delegated-to: edge-b, argocd.argoproj.io/instance: a, propagationpolicy.karmada.io/name: a, kustomize.toolkit.fluxcd.io/name: a, app.kubernetes.io/instance: a,
mykarmada.io/tier: ok, tier: ok, bad/key/: a, value: "a b"}}}`,
			want: []string{
				`spec.expansion.labels[app.kubernetes.io/instance]: Forbidden: labels of app.kubernetes.io are set by what manages a pool`,
				`spec.expansion.labels[argocd.argoproj.io/instance]: Forbidden: labels of argoproj.io`,
				`spec.expansion.labels[bad/key/]: Invalid value: "a": is no label: `,
				`spec.expansion.labels[ipam.weir.dev/delegated-to]: Forbidden: labels of ipam.weir.dev`,
				`spec.expansion.labels[kustomize.toolkit.fluxcd.io/name]: Forbidden: labels of fluxcd.io`,
				`spec.expansion.labels[propagationpolicy.karmada.io/name]: Forbidden: labels of karmada.io`,
				`spec.expansion.labels[value]: Invalid value: "a b": is no label: `,
			},
		},
		"a root that is delegated": {
			spec: `{cidr: 192.0.2.0/24, delegateTo: edge}`,
			want: []string{`spec.delegateTo: Forbidden: a delegated pool is carved from another`},
		},
		"addresses that are delegated": {
			spec: `{addresses: [192.0.2.0-192.0.2.9], delegateTo: edge}`,
			want: []string{`spec.delegateTo: Forbidden: a delegated pool is carved from another`},
		},
		"a member whose name is no label": {
			spec: `{cidr: 192.0.2.0/28, parentRef: {kind: IPPool, name: parent}, delegateTo: edge/a}`,
			want: []string{`spec.delegateTo: Invalid value: "edge/a": cannot be the value of a label`},
		},
		"an unknown strategy": {
			spec: `{cidr: 192.0.2.0/24, allocation: {strategy: WorstFit}}`,
			want: []string{
				`spec.allocation.strategy: Unsupported value: "WorstFit": supported values: "BestFit", "FirstFit", "LeastRecentlyUsed", "Random"`,
			},
		},
		"mistakes in several fields": {
			spec: `{cidr: 192.0.2.0/33, ipFamily: IPv4, mode: Draining, network: {gateway: "::1%eth0"}}`,
			want: []string{
				`spec.cidr: Invalid value: "192.0.2.0/33": "192.0.2.0/33" is not a CIDR`,
				`spec.network.gateway: Invalid value: "::1%eth0": "::1%eth0" is not canonical: write "::1"`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shape, errs := poolspec.Resolve(specOf(t, test.spec), poolOf(test.kind))
			if shape != nil {
				t.Error("a spec with mistakes has a shape")
			}
			got := make([]string, len(errs))
			for i, err := range errs {
				got[i] = err.Error()
				if i < len(test.want) && strings.HasPrefix(got[i], test.want[i]) {
					got[i] = test.want[i]
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

// poolOf names a pool of a kind: an IPPool of namespace team for "".
func poolOf(kind string) ipamv1.PoolReference {
	if kind == ipamv1.GlobalIPPoolKind {
		return ipamv1.PoolReference{Kind: kind, Name: "p"}
	}
	return ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "p"}
}

func TestResolveAccepts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec, kind string
		// total, excluded and the network of the address "of".
		total, excluded, of, network string
	}{
		"a block": {
			spec:  `{cidr: 192.0.2.0/24}`,
			total: "256", excluded: "2", of: "192.0.2.7", network: "/24",
		},
		"a block with gateway and DNS servers of both families": {
			spec:  `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1, dnsServers: [192.0.2.53, "2001:db8::53"]}}`,
			total: "256", excluded: "3", of: "192.0.2.7", network: "/24 via 192.0.2.1 dns 192.0.2.53 2001:db8::53",
		},
		"a slice of a bigger network with the gateway outside": {
			spec:  `{cidr: 192.0.2.16/28, network: {prefixLength: 24, gateway: 192.0.2.1}}`,
			total: "16", excluded: "0", of: "192.0.2.16", network: "/24 via 192.0.2.1",
		},
		"a block of many networks": {
			spec:  `{cidr: 10.0.0.0/16, network: {prefixLength: 24}}`,
			total: "65536", excluded: "512", of: "10.0.9.9", network: "/24",
		},
		"a block of many networks, all but one of which do not reach the gateway": {
			spec:  `{cidr: 10.0.0.0/16, network: {prefixLength: 24, gateway: 10.0.7.1}}`,
			total: "65536", excluded: "65283", of: "10.0.9.9", network: "/24 via 10.0.7.1",
		},
		"ranges and addresses without a known network": {
			spec:  `{addresses: [192.0.2.16-192.0.2.18, 192.0.2.30], network: {gateway: 192.0.2.1}}`,
			total: "4", excluded: "0", of: "192.0.2.30", network: "/32 via 192.0.2.1",
		},
		"CIDRs among addresses are networks of their own": {
			spec:  `{addresses: [192.0.2.16/28, 192.0.2.64/26, 192.0.2.1]}`,
			total: "81", excluded: "4", of: "192.0.2.65", network: "/26",
		},
		"a gateway for one of several networks": {
			spec:  `{addresses: [192.0.2.16/28, 192.0.2.64/26], network: {gateway: 192.0.2.65}}`,
			total: "80", excluded: "19", of: "192.0.2.20", network: "/28 via 192.0.2.65",
		},
		"a link-local gateway": {
			spec:  `{cidr: "2001:db8::/64", network: {gateway: "fe80::1"}}`,
			total: "18446744073709551616", excluded: "1", of: "2001:db8::1", network: "/64 via fe80::1",
		},
		"a network address as gateway where it is handed out": {
			spec:  `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.0}, allocation: {reservedAddresses: Allocate}}`,
			total: "256", excluded: "1", of: "192.0.2.255", network: "/24 via 192.0.2.0",
		},
		"exclusions outside the pool, twice, and overlapping": {
			spec:  `{cidr: 192.0.2.0/24, excludedAddresses: [198.51.100.0/24, 192.0.2.8/29, 192.0.2.8/29, 192.0.2.9]}`,
			total: "256", excluded: "10", of: "192.0.2.8", network: "/24",
		},
		"everything excluded": {
			spec:  `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.0/24]}`,
			total: "256", excluded: "256", of: "192.0.2.8", network: "/24",
		},
		"fields that say what happens anyway": {
			spec: `{cidr: 192.0.2.0/24, ipFamily: IPv4, addressSpace: lab, visibility: Shared, mode: Serving, subnets: [], preAllocations: [],
			        allocation: {strategy: FirstFit, cooldownSeconds: 60, reservedAddresses: Exclude}}`,
			kind:  ipamv1.GlobalIPPoolKind,
			total: "256", excluded: "2", of: "192.0.2.8", network: "/24",
		},
		"a subnet with a gateway and name servers of its own": {
			spec: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.254, dnsServers: [192.0.2.53]},
			        subnets: [{cidr: 192.0.2.0/26, network: {gateway: 192.0.2.1, dnsServers: [192.0.2.2]}}]}`,
			total: "256", excluded: "5", of: "192.0.2.9", network: "/26 via 192.0.2.1 dns 192.0.2.2",
		},
		"a subnet that leaves the name servers to the pool": {
			spec: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.254, dnsServers: [192.0.2.53]},
			        subnets: [{cidr: 192.0.2.0/26, network: {prefixLength: 25}}]}`,
			total: "256", excluded: "3", of: "192.0.2.9", network: "/25 dns 192.0.2.53",
		},
		"the addresses beside a subnet": {
			spec: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.254},
			        subnets: [{cidr: 192.0.2.64/26, network: {gateway: 192.0.2.65}}]}`,
			total: "256", excluded: "6", of: "192.0.2.128", network: "/24 via 192.0.2.254",
		},
		"ranges in subnets that are wider": {
			spec: `{addresses: [192.0.2.10-192.0.2.20, 198.51.100.10-198.51.100.20],
			        subnets: [{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1}}, {cidr: 198.51.100.0/24, network: {gateway: 198.51.100.1}}]}`,
			total: "22", excluded: "0", of: "198.51.100.12", network: "/24 via 198.51.100.1",
		},
		"an IPv6 range across two subnets": {
			spec: `{addresses: ["2001:db8::f0-2001:db8::1:f"],
			        subnets: [{cidr: "2001:db8::/112", network: {gateway: "2001:db8::1"}}, {cidr: "2001:db8::1:0/112", network: {gateway: "fe80::1"}}]}`,
			total: "65312", excluded: "1", of: "2001:db8::1:1", network: "/112 via fe80::1",
		},
		"a pool for some namespaces": {
			spec:  `{cidr: 192.0.2.0/24, namespaceSelector: {matchExpressions: [{key: tier, operator: In, values: [gold]}]}}`,
			kind:  ipamv1.GlobalIPPoolKind,
			total: "256", excluded: "2", of: "192.0.2.8", network: "/24",
		},
		"an IPPool that all namespaces may carve from": {
			spec:  `{cidr: 192.0.2.0/24, visibility: Shared, namespaceSelector: {}}`,
			total: "256", excluded: "2", of: "192.0.2.8", network: "/24",
		},
		"a pool of a Cluster": {
			spec:  `{cidr: 192.0.2.0/31, clusterName: prod, visibility: Consumer}`,
			total: "2", excluded: "0", of: "192.0.2.1", network: "/31",
		},
		"private, link-local and class E space": {
			spec:  `{addresses: [10.0.0.0/30, 169.254.0.0/30, 240.0.0.0/30]}`,
			total: "12", excluded: "6", of: "240.0.0.1", network: "/30",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, errs := poolspec.Resolve(specOf(t, test.spec), poolOf(test.kind))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if p.Total().String() != test.total || p.ExcludedCount().String() != test.excluded {
				t.Errorf("total %s, excluded %s; want %s, %s", p.Total(), p.ExcludedCount(), test.total, test.excluded)
			}
			if got := networkText(t, p, test.of); got != test.network {
				t.Errorf("network of %s is %q, want %q", test.of, got, test.network)
			}
		})
	}
}

// TestWhatIsKept reads whom a pool keeps what for.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	const capi, own = "ipam.cluster.x-k8s.io", "ipam.weir.dev"
	tests := map[string]struct {
		spec, kind string
		want       map[string]pooltree.Claimant
	}{
		"nothing": {spec: `{cidr: 192.0.2.0/24}`, want: map[string]pooltree.Claimant{}},
		"an IPPool's, with and without namespace and kind": {
			spec: `{cidr: 192.0.2.0/24, preAllocations: [{claimName: b, address: 192.0.2.9}, {claimName: a, namespace: team, kind: IPAddressClaim, address: 192.0.2.8},
			        {claimName: a, kind: IPClaim, address: 192.0.2.7}]}`,
			want: map[string]pooltree.Claimant{
				"192.0.2.9/32": {Group: capi, Kind: "IPAddressClaim", Namespace: "team", Name: "b"},
				"192.0.2.8/32": {Group: capi, Kind: "IPAddressClaim", Namespace: "team", Name: "a"},
				"192.0.2.7/32": {Group: own, Kind: "IPClaim", Namespace: "team", Name: "a"},
			},
		},
		"a GlobalIPPool's of one name in two namespaces, IPv6": {
			spec: `{cidr: "2001:db8::/64", preAllocations: [{claimName: a, namespace: east, address: "2001:db8::1"}, {claimName: a, namespace: west, address: "2001:db8::2"}]}`,
			kind: ipamv1.GlobalIPPoolKind,
			want: map[string]pooltree.Claimant{
				"2001:db8::1/128": {Group: capi, Kind: "IPAddressClaim", Namespace: "east", Name: "a"},
				"2001:db8::2/128": {Group: capi, Kind: "IPAddressClaim", Namespace: "west", Name: "a"},
			},
		},
		"blocks, with the network's own addresses in them": {
			spec: `{cidr: 192.0.2.0/24, allocation: {defaultPrefixLength: 28}, preAllocations: [{claimName: a, address: 192.0.2.0}, {claimName: b, address: 192.0.2.240}]}`,
			want: map[string]pooltree.Claimant{
				"192.0.2.0/28":   {Group: capi, Kind: "IPAddressClaim", Namespace: "team", Name: "a"},
				"192.0.2.240/28": {Group: capi, Kind: "IPAddressClaim", Namespace: "team", Name: "b"},
			},
		},
		"reserved addresses that are handed out": {
			spec: `{cidr: 192.0.2.0/24, allocation: {reservedAddresses: Allocate}, preAllocations: [{claimName: a, address: 192.0.2.0}]}`,
			want: map[string]pooltree.Claimant{"192.0.2.0/32": {Group: capi, Kind: "IPAddressClaim", Namespace: "team", Name: "a"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shape, errs := poolspec.Resolve(specOf(t, test.spec), poolOf(test.kind))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			got := map[string]pooltree.Claimant{}
			for _, k := range shape.Kept() {
				got[k.Prefix.String()] = k.For
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAsMuchIsKeptAsTheAPIAllows(t *testing.T) {
	t.Parallel()
	spec := &ipamv1.IPPoolSpec{CIDR: "10.0.0.0/16"}
	for i := range ipamv1.MaxPreAllocations {
		spec.PreAllocations = append(spec.PreAllocations, ipamv1.PreAllocation{
			ClaimName: fmt.Sprint("c", i), Address: fmt.Sprintf("10.0.%d.%d", 1+i/256, i%256),
		})
	}
	if shape, errs := poolspec.Resolve(spec, poolOf("")); len(errs) > 0 || len(shape.Kept()) != 4096 {
		t.Error(errs.ToAggregate())
	}
	spec.PreAllocations = append(spec.PreAllocations, ipamv1.PreAllocation{ClaimName: "c", Address: "x"})
	_, errs := poolspec.Resolve(spec, poolOf(""))
	if got, want := errs.ToAggregate().Error(), "spec.preAllocations: Too many: 4097: must have at most 4096 items"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLengths(t *testing.T) {
	t.Parallel()
	type lengths struct{ claim, longest int }
	for spec, want := range map[string]lengths{
		`{cidr: 192.0.2.0/24}`:    {32, 32},
		`{cidr: "2001:db8::/32"}`: {128, 128},
		`{cidr: "2001:db8::/32", allocation: {minPrefixLength: 48, maxPrefixLength: 72, defaultPrefixLength: 64}}`: {64, 72},
		`{cidr: 192.0.2.0/24, allocation: {minPrefixLength: 26}}`:                                                  {32, 32},
		`{addresses: [192.0.2.0/29, 192.0.2.24-192.0.2.33], allocation: {defaultPrefixLength: 29}}`:                {29, 32},
	} {
		p, errs := poolspec.Resolve(specOf(t, spec), poolOf(""))
		if len(errs) > 0 {
			t.Fatal(spec, errs.ToAggregate())
		}
		if got := (lengths{p.ClaimBits(), p.LongestBits()}); got != want {
			t.Errorf("%s: lengths %v, want %v", spec, got, want)
		}
	}
}

func TestStrategy(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]pooltree.Strategy{
		`{cidr: 192.0.2.0/24}`: pooltree.FirstFit,
		`{cidr: 192.0.2.0/24, allocation: {reservedAddresses: Allocate}}`:     pooltree.FirstFit,
		`{cidr: 192.0.2.0/24, allocation: {strategy: FirstFit}}`:              pooltree.FirstFit,
		`{cidr: 192.0.2.0/24, allocation: {strategy: BestFit}}`:               pooltree.BestFit,
		`{cidr: "2001:db8::/32", allocation: {strategy: Random}}`:             pooltree.Random,
		`{addresses: [192.0.2.7], allocation: {strategy: LeastRecentlyUsed}}`: pooltree.LeastRecentlyUsed,
	} {
		p, errs := poolspec.Resolve(specOf(t, spec), ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "p"})
		if len(errs) > 0 {
			t.Fatal(spec, errs.ToAggregate())
		}
		if got := p.Strategy(); got != want {
			t.Errorf("%s: strategy %d, want %d", spec, got, want)
		}
	}
}

func TestSpaceAndFamily(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec, space string
		family      ipamv1.IPFamily
	}{
		"no space, a block":             {`{cidr: 192.0.2.0/24}`, "default", ipamv1.IPv4Family},
		"a space, an IPv6 entry":        {`{addressSpace: lab, addresses: ["2001:db8::1"]}`, "lab", ipamv1.IPv6Family},
		"an unreadable entry first":     {`{addresses: [x, "2001:db8::1"]}`, "default", ipamv1.IPv6Family},
		"nothing readable":              {`{addresses: [x]}`, "default", ""},
		"nothing":                       {`{}`, "default", ""},
		"a given family does not count": {`{ipFamily: IPv6}`, "default", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := specOf(t, test.spec)
			if got := poolspec.Space(spec); got != test.space {
				t.Errorf("Space() = %q, want %q", got, test.space)
			}
			if got := poolspec.Family(spec); got != test.family {
				t.Errorf("Family() = %q, want %q", got, test.family)
			}
		})
	}
}

// TestGatewayOfSubnetsThatCoverThePool: the pool's own gateway is never handed out, though no address of the pool is left to its network.
func TestGatewayOfSubnetsThatCoverThePool(t *testing.T) {
	t.Parallel()
	shape, errs := poolspec.Resolve(specOf(t, `{cidr: 10.0.0.0/24, network: {gateway: 10.0.0.1}, subnets: [
		{cidr: 10.0.0.0/25, network: {dnsServers: [192.0.2.53]}}, {cidr: 10.0.0.128/25, network: {}}]}`), ipamv1.PoolReference{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for text, want := range map[string]bool{"10.0.0.1/32": true, "10.0.0.2/32": false} {
		if reason, refused := shape.Refuses(netip.MustParsePrefix(text)); refused != want {
			t.Errorf("Refuses(%s) = %q, %t", text, reason, refused)
		}
	}
}

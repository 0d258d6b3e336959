// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// mistake is a spec in YAML and what its refusal says: the field, and in some
// cases more.
type mistake struct {
	name, spec, field string
	says              []string
}

// mistakes are refused for both kinds of pool.
var mistakes = []mistake{
	// Source.
	{"no spec", `null`, "spec", nil},
	{"no source", `{}`, "spec", []string{"exactly one source"}},
	{"a cidr and addresses", `{cidr: 192.0.2.0/28, addresses: [198.51.100.1]}`, "spec", []string{"exactly one source"}},
	{"a cidr and OpenStack", `{cidr: 192.0.2.0/28, openStack: {identityRef: {name: cloud, cloudName: lab}, floatingNetwork: {id: x}}}`, "spec", []string{"exactly one source"}},
	{"addresses and a parent", `{addresses: [192.0.2.1], parentRef: {kind: GlobalIPPool, name: p}}`, "spec", []string{"exactly one source"}},
	{"a misspelt field", `{adresses: [192.0.2.1]}`, "spec.adresses", []string{"unknown field"}},
	{"a misspelt nested field", `{cidr: 192.0.2.0/24, network: {gatway: 192.0.2.1}}`, "spec.network.gatway", []string{"unknown field"}},

	// cidr.
	{"an empty cidr", `{cidr: ""}`, "spec.cidr", nil},
	{"a cidr with host bits", `{cidr: 192.0.2.1/28}`, "spec.cidr", []string{"192.0.2.0/28"}},
	{"a cidr in upper case", `{cidr: "2001:DB8::/64"}`, "spec.cidr", []string{"2001:db8::/64"}},
	{"a cidr written out", `{cidr: "2001:db8:0:0::/64"}`, "spec.cidr", []string{"2001:db8::/64"}},
	{"a cidr without length", `{cidr: 192.0.2.1}`, "spec.cidr", nil},
	{"a cidr with leading zeros", `{cidr: 192.0.02.0/24}`, "spec.cidr", nil},
	{"a cidr that is a range", `{cidr: 192.0.2.0-192.0.2.9}`, "spec.cidr", nil},
	{"a cidr with a netmask", `{cidr: 192.0.2.0/255.255.255.0}`, "spec.cidr", nil},
	{"an IPv4 cidr longer than a host", `{cidr: 192.0.2.0/33}`, "spec.cidr", nil},
	{"an IPv6 cidr longer than a host", `{cidr: "2001:db8::/129"}`, "spec.cidr", nil},
	{"all of IPv4", `{cidr: 0.0.0.0/0}`, "spec.cidr", []string{"every address of its family"}},
	{"all of IPv6", `{cidr: "::/0"}`, "spec.cidr", []string{"every address of its family"}},
	{"an IPv4-mapped cidr", `{cidr: "::ffff:192.0.2.0/120"}`, "spec.cidr", nil},
	{"a cidr with a zone", `{cidr: "fe80::%eth0/64"}`, "spec.cidr", nil},
	{"a cidr that is text", `{cidr: rack-7}`, "spec.cidr", nil},
	{"a cidr that is a number", `{cidr: 5}`, "spec.cidr", nil},
	{"a cidr with a space", `{cidr: "192.0.2.0/24 "}`, "spec.cidr", nil},
	{"a cidr that is too long a text", `{cidr: "` + strings.Repeat("2", 44) + `"}`, "spec.cidr", nil},
	{"a loopback cidr", `{cidr: 127.0.0.0/24}`, "spec.cidr", []string{"loopback"}},
	{"the IPv6 loopback address", `{cidr: "::1/128"}`, "spec.cidr", []string{"loopback"}},
	{"a multicast cidr", `{cidr: 224.0.0.0/24}`, "spec.cidr", []string{"multicast"}},
	{"an IPv6 multicast cidr", `{cidr: "ff02::/64"}`, "spec.cidr", []string{"multicast"}},
	{"a cidr with the unspecified address", `{cidr: 0.0.0.0/24}`, "spec.cidr", []string{"unspecified"}},

	// addresses.
	{"an empty list of addresses", `{addresses: []}`, "spec.addresses", nil},
	{"addresses that are text", `{addresses: 192.0.2.1}`, "spec.addresses", nil},
	{"too many addresses", `{addresses: [` + strings.Repeat("192.0.2.1, ", 1025) + `]}`, "spec.addresses", []string{"1024"}},
	{"an empty entry", `{addresses: [""]}`, "spec.addresses[0]", nil},
	{"an entry that is a number", `{addresses: [192.0.2.1, 5]}`, "spec.addresses[1]", nil},
	{"an entry that is too long", `{addresses: ["` + strings.Repeat("1", 92) + `"]}`, "spec.addresses[0]", nil},
	{"an entry that is no address", `{addresses: [192.0.2.1, 192.0.2.256]}`, "spec.addresses[1]", []string{"is not an IP address"}},
	{"an entry that is not canonical", `{addresses: [192.0.2.1, 192.0.2.9/29]}`, "spec.addresses[1]", []string{"192.0.2.8/29"}},
	{"a range that runs backwards", `{addresses: [192.0.2.9-192.0.2.1]}`, "spec.addresses[0]", []string{"192.0.2.1-192.0.2.9"}},
	{"a range over two families", `{addresses: ["192.0.2.9-2001:db8::1"]}`, "spec.addresses[0]", []string{"mixes"}},
	{"a range with spaces", `{addresses: [192.0.2.1 - 192.0.2.9]}`, "spec.addresses[0]", nil},
	{"a range of CIDRs", `{addresses: [192.0.2.0/30-192.0.2.8/30]}`, "spec.addresses[0]", nil},
	{"a range without end", `{addresses: [192.0.2.1-]}`, "spec.addresses[0]", nil},
	{"a range with an abbreviated end", `{addresses: [192.0.2.1-9]}`, "spec.addresses[0]", nil},
	{"a range of IPv4-mapped addresses", `{addresses: ["::ffff:192.0.2.1-::ffff:192.0.2.9"]}`, "spec.addresses[0]", []string{"192.0.2.1-192.0.2.9"}},
	{"entries of two families", `{addresses: [192.0.2.1, "2001:db8::1"]}`, "spec.addresses[1]", []string{"IPv6 in a pool of IPv4"}},
	{"the same entry twice", `{addresses: [192.0.2.1, 192.0.2.2, 192.0.2.1]}`, "spec.addresses[2]", []string{"overlaps spec.addresses[0]"}},
	{"entries that overlap", `{addresses: [192.0.2.0/28, 192.0.2.15-192.0.2.20]}`, "spec.addresses[1]", []string{"overlaps spec.addresses[0]"}},
	{"a multicast entry", `{addresses: [192.0.2.1, 233.252.0.1]}`, "spec.addresses[1]", []string{"multicast"}},
	{"the limited broadcast address", `{addresses: [255.255.255.255]}`, "spec.addresses[0]", []string{"broadcast"}},

	// excludedAddresses.
	{"an exclusion that is no address", `{cidr: 192.0.2.0/24, excludedAddresses: [gateway]}`, "spec.excludedAddresses[0]", nil},
	{"an exclusion of the other family", `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.1, "2001:db8::1"]}`, "spec.excludedAddresses[1]", []string{"IPv6 in a pool of IPv4"}},
	{"an exclusion that is not canonical", `{cidr: "2001:db8::/64", excludedAddresses: ["2001:db8::0001"]}`, "spec.excludedAddresses[0]", []string{"2001:db8::1"}},
	{"an exclusion that runs backwards", `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.9-192.0.2.1]}`, "spec.excludedAddresses[0]", []string{"runs backwards"}},
	{"addresses that come to too many prefixes", `{addresses: [` + ragged(100) + `]}`, "spec.addresses", []string{"1400", "1024", "write 10.0.1.0/24 for 10.0.1.1-10.0.1.254"}},
	{"too many subnets", `{cidr: 10.0.0.0/8, subnets: [` + subnets(65) + `]}`, "spec.subnets", []string{"64"}},
	{"exclusions that come to too many prefixes", `{cidr: "2001:db8:1::/48", excludedAddresses: [` + jagged(300) + `]}`,
		"spec.excludedAddresses", []string{"300 entries", "37800", "16384"}},
	{"too many exclusions", `{cidr: 192.0.2.0/24, excludedAddresses: [` + strings.Repeat("192.0.2.1, ", 1025) + `]}`, "spec.excludedAddresses", []string{"1024"}},

	// ipFamily, addressSpace, clusterName.
	{"an unknown family", `{cidr: 192.0.2.0/24, ipFamily: IPv5}`, "spec.ipFamily", nil},
	{"the other family", `{cidr: 192.0.2.0/24, ipFamily: IPv6}`, "spec.ipFamily", []string{"addresses are IPv4"}},
	{"an empty address space", `{cidr: 192.0.2.0/24, addressSpace: ""}`, "spec.addressSpace", nil},
	{"an address space in upper case", `{cidr: 192.0.2.0/24, addressSpace: Lab}`, "spec.addressSpace", nil},
	{"a reserved address space", `{cidr: 192.0.2.0/24, addressSpace: metal3/team/pool}`, "spec.addressSpace", nil},
	{"an address space that is too long", `{cidr: 192.0.2.0/24, addressSpace: ` + strings.Repeat("a", 254) + `}`, "spec.addressSpace", nil},
	{"a Cluster name that none can have", `{cidr: 192.0.2.0/24, clusterName: Bad Name}`, "spec.clusterName", nil},
	{"a Cluster name that is too long", `{cidr: 192.0.2.0/24, clusterName: ` + strings.Repeat("a", 64) + `}`, "spec.clusterName", nil},

	// network.
	{"a network of length 0", `{cidr: 192.0.2.0/24, network: {prefixLength: 0}}`, "spec.network.prefixLength", nil},
	{"a network longer than IPv6 has", `{cidr: "2001:db8::/64", network: {prefixLength: 129}}`, "spec.network.prefixLength", nil},
	{"a network longer than IPv4 has", `{cidr: 192.0.2.0/24, network: {prefixLength: 33}}`, "spec.network.prefixLength", []string{"between 1 and 32"}},
	{"a gateway with a length", `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1/24}}`, "spec.network.gateway", nil},
	{"a gateway that is not canonical", `{cidr: "2001:db8::/64", network: {gateway: "2001:DB8::1"}}`, "spec.network.gateway", []string{"2001:db8::1"}},
	{"a gateway of the other family", `{cidr: 192.0.2.0/24, network: {gateway: "2001:db8::1"}}`, "spec.network.gateway", []string{"IPv6 in a pool of IPv4"}},
	{"a gateway out of reach", `{cidr: 192.0.2.16/28, network: {gateway: 192.0.2.1}}`, "spec.network.gateway", []string{"network.prefixLength"}},
	{"a gateway that is the broadcast address", `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.255}}`, "spec.network.gateway", []string{"broadcast"}},
	{"a range of a network that its gateway is not in", `{addresses: [192.0.2.10-192.0.2.20, 198.51.100.10-198.51.100.20], network: {prefixLength: 24, gateway: 192.0.2.1}}`,
		"spec.addresses[1]", []string{"198.51.100.10-198.51.100.20 do not reach gateway 192.0.2.1 with prefix length 24", "spec.subnets"}},
	{"a block of networks of which the gateway is in one", `{cidr: 10.3.0.0/16, network: {prefixLength: 24, gateway: 10.3.0.1}}`,
		"spec.cidr", []string{"10.3.1.0-10.3.255.255 do not reach gateway 10.3.0.1 with prefix length 24"}},
	{"a block of IPv6 networks of which the gateway is in one", `{cidr: "2001:db8::/48", network: {prefixLength: 64, gateway: "2001:db8::1"}}`,
		"spec.cidr", []string{"do not reach gateway 2001:db8::1 with prefix length 64"}},
	{"part of a subnet without the subnet's gateway", `{cidr: 192.0.2.0/24, subnets: [{cidr: 192.0.2.0/25, network: {prefixLength: 26, gateway: 192.0.2.1}}]}`,
		"spec.cidr", []string{"192.0.2.64-192.0.2.127 do not reach gateway 192.0.2.1", "spec.subnets[0].network"}},
	{"a DNS server by name", `{cidr: 192.0.2.0/24, network: {dnsServers: [192.0.2.53, dns.example.com]}}`, "spec.network.dnsServers[1]", nil},
	{"a DNS server twice", `{cidr: 192.0.2.0/24, network: {dnsServers: [192.0.2.53, 192.0.2.53]}}`, "spec.network.dnsServers[1]", []string{"Duplicate"}},
	{"a multicast DNS server", `{cidr: 192.0.2.0/24, network: {dnsServers: ["ff02::fb"]}}`, "spec.network.dnsServers[0]", nil},
	{"too many DNS servers", `{cidr: 192.0.2.0/24, network: {dnsServers: [` + servers(17) + `]}}`, "spec.network.dnsServers", []string{"16"}},

	// Values outside an enumeration or bound.
	{"an unknown strategy", `{cidr: 192.0.2.0/24, allocation: {strategy: WorstFit}}`, "spec.allocation.strategy", []string{"LeastRecentlyUsed"}},
	{"a strategy in another spelling", `{cidr: 192.0.2.0/24, allocation: {strategy: bestFit}}`, "spec.allocation.strategy", []string{"BestFit"}},
	{"an empty strategy", `{cidr: 192.0.2.0/24, allocation: {strategy: ""}}`, "spec.allocation.strategy", nil},
	{"an unknown policy for reserved addresses", `{cidr: 192.0.2.0/24, allocation: {reservedAddresses: Keep}}`, "spec.allocation.reservedAddresses", nil},
	{"bounds the wrong way round", `{cidr: 192.0.2.0/24, allocation: {minPrefixLength: 30, maxPrefixLength: 28}}`, "spec.allocation.minPrefixLength", nil},
	{"a negative cooldown", `{cidr: 192.0.2.0/24, allocation: {cooldownSeconds: -1}}`, "spec.allocation.cooldownSeconds", nil},
	{"an unknown mode", `{cidr: 192.0.2.0/24, mode: Resting}`, "spec.mode", nil},
	{"an unknown visibility", `{cidr: 192.0.2.0/24, visibility: Public}`, "spec.visibility", nil},
	{"a namespace selector for its project", `{cidr: 192.0.2.0/24, visibility: Consumer, namespaceSelector: {matchLabels: {a: b}}}`, "spec.namespaceSelector", []string{"narrows visibility Shared"}},
	{"a namespace selector of nothing", `{cidr: 192.0.2.0/24, visibility: Shared, namespaceSelector: {matchLabels: {a: "no value"}}}`, "spec.namespaceSelector.matchLabels", nil},
	{"a namespace selector without values", `{cidr: 192.0.2.0/24, visibility: Shared, namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}`, "spec.namespaceSelector.matchExpressions[0].values", nil},
	{"a namespace selector with an unknown operator", `{cidr: 192.0.2.0/24, visibility: Shared, namespaceSelector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}}`, "spec.namespaceSelector.matchExpressions[0].operator", nil},
	{"a parent of another kind", `{parentRef: {kind: Network, name: p}, prefixLength: 28}`, "spec.parentRef.kind", nil},
	{"a parent without name", `{parentRef: {kind: IPPool}, prefixLength: 28}`, "spec.parentRef.name", nil},
	{"a length to carve without a parent", `{cidr: 192.0.2.0/24, prefixLength: 28}`, "spec.prefixLength", nil},
	{"a subnet that is not canonical", `{cidr: 192.0.2.0/24, subnets: [{cidr: 192.0.2.1/28, network: {gateway: 192.0.2.1}}]}`, "spec.subnets[0].cidr", nil},
	{"a subnet twice", `{cidr: 192.0.2.0/24, subnets: [{cidr: 192.0.2.0/28, network: {gateway: 192.0.2.1}}, {cidr: 192.0.2.0/28, network: {gateway: 192.0.2.2}}]}`, "spec.subnets[1].cidr", nil},

	// preAllocations.
	{"an address kept for a name that no claim can have", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: A_B, namespace: team, address: 192.0.2.3}]}`, "spec.preAllocations[0].claimName", nil},
	{"an address kept in a namespace that cannot be", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: A_B, address: 192.0.2.3}]}`, "spec.preAllocations[0].namespace", nil},
	{"a kept address that is none", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: team, address: 192.0.2.0/32}]}`, "spec.preAllocations[0].address", nil},
	{"a kept address that is not canonical", `{cidr: "2001:db8::/64", preAllocations: [{claimName: c, namespace: team, address: "2001:DB8::1"}]}`, "spec.preAllocations[0].address", []string{"2001:db8::1"}},
	{"a kept address of the other family", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: team, address: "2001:db8::1"}]}`, "spec.preAllocations[0].address", []string{"IPv6 in a pool of IPv4"}},
	{"a kept address outside the pool", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: team, address: 192.0.3.1}]}`, "spec.preAllocations[0].address", []string{"is not in the pool"}},
	{"a kept address that is excluded", `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.8/29], preAllocations: [{claimName: c, namespace: team, address: 192.0.2.9}]}`, "spec.preAllocations[0].address", []string{"is excluded"}},
	{"a kept address that is the gateway", `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1}, preAllocations: [{claimName: c, namespace: team, address: 192.0.2.1}]}`, "spec.preAllocations[0].address", []string{"is the pool's gateway"}},
	{"a kept address that is reserved", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: team, address: 192.0.2.255}]}`, "spec.preAllocations[0].address", []string{"is a reserved address"}},
	{"a kept address inside a block", `{cidr: 192.0.2.0/24, allocation: {defaultPrefixLength: 28}, preAllocations: [{claimName: c, namespace: team, address: 192.0.2.9}]}`, "spec.preAllocations[0].address", []string{"is not the first address of a /28"}},
	{"an address kept twice", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: team, address: 192.0.2.1}, {claimName: d, namespace: team, address: 192.0.2.1}]}`, "spec.preAllocations[1]", []string{"Duplicate", "192.0.2.1"}},
	{"two addresses kept for a claim", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: team, address: 192.0.2.1}, {claimName: c, namespace: team, kind: IPAddressClaim, address: 192.0.2.2}]}`, "spec.preAllocations[1].claimName", []string{"Duplicate", "IPAddressClaim team/c"}},
	{"an address kept for an unknown kind", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: team, kind: Machine, address: 192.0.2.1}]}`, "spec.preAllocations[0].kind", []string{"IPAddressClaim", "IPClaim"}},
	{"an address kept for nobody", `{cidr: 192.0.2.0/24, preAllocations: [{namespace: team, address: 192.0.2.1}]}`, "spec.preAllocations[0].claimName", nil},
	{"too many kept addresses", `{cidr: 10.0.0.0/8, preAllocations: [` + keptFor(4097) + `]}`, "spec.preAllocations", []string{"4096"}},

	{"subnets that overlap", `{cidr: 192.0.2.0/24, subnets: [{cidr: 192.0.2.0/28, network: {gateway: 192.0.2.1}}, {cidr: 192.0.2.0/27, network: {gateway: 192.0.2.2}}]}`, "spec.subnets[1].cidr", []string{"overlaps subnet 192.0.2.0/28"}},
	{"a subnet outside the pool", `{cidr: 192.0.2.0/24, subnets: [{cidr: 198.51.100.0/28, network: {gateway: 198.51.100.1}}]}`, "spec.subnets[0].cidr", []string{"contains no address of the pool"}},
	{"a gateway outside its subnet", `{cidr: 192.0.2.0/24, subnets: [{cidr: 192.0.2.0/28, network: {gateway: 192.0.2.17}}]}`, "spec.subnets[0].network.gateway", []string{"is not in the network"}},
	{"delegation while its gate is closed", `{cidr: 192.0.2.0/24, delegateTo: edge}`, "spec.delegateTo", []string{"feature gate Federation"}},
	{"expansion of a pool that is not delegated", `{cidr: 192.0.2.0/24, expansion: {thresholdPercent: 10, prefixLength: 28, maxPools: 2}}`, "spec.expansion", []string{"only a pool with delegateTo is expanded"}},
	{"OpenStack while its gate is closed", `{openStack: {identityRef: {name: cloud, cloudName: lab}, floatingNetwork: {id: x}}}`, "spec.openStack", []string{"feature gate OpenStack"}},
	{"a bound of the other family", `{cidr: 192.0.2.0/24, allocation: {minPrefixLength: 48}}`, "spec.allocation.minPrefixLength", []string{"between 1 and 32"}},
	{"bounds without a default inside them", `{cidr: 192.0.2.0/24, allocation: {maxPrefixLength: 28}}`, "spec.allocation.defaultPrefixLength", []string{"excludes single addresses"}},
	{"a default longer than its bound", `{cidr: 192.0.2.0/24, allocation: {maxPrefixLength: 28, defaultPrefixLength: 30}}`, "spec.allocation.defaultPrefixLength", []string{"must be between"}},
	{"a default shorter than the pool", `{cidr: 192.0.2.0/24, allocation: {defaultPrefixLength: 20}}`, "spec.allocation.defaultPrefixLength", []string{"no part of the pool"}},
}

// mistakesOf are refused for one kind only.
var mistakesOf = map[string][]mistake{
	ipamv1.IPPoolKind: {
		{"an address kept for another namespace", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, namespace: other, address: 192.0.2.1}]}`, "spec.preAllocations[0].namespace", []string{"its own namespace only, team"}},
		{"a namespace selector by default", `{cidr: 192.0.2.0/24, namespaceSelector: {matchLabels: {a: b}}}`, "spec.namespaceSelector", []string{"narrows visibility Shared", "Consumer"}},
	},
	ipamv1.GlobalIPPoolKind: {
		{"an address kept for no namespace", `{cidr: 192.0.2.0/24, preAllocations: [{claimName: c, address: 192.0.2.1}]}`, "spec.preAllocations[0].namespace", []string{"Required"}},
		{"a Cluster", `{cidr: 192.0.2.0/24, clusterName: prod}`, "spec.clusterName", []string{"has no namespace"}},
	},
}

var _ = Describe("A new pool is refused, naming the field, and not stored:", func() {
	for _, kind := range []string{ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind} {
		for _, m := range append(mistakesOf[kind], mistakes...) {
			It(kind+" with "+m.name, func(ctx SpecContext) {
				object := poolYAML(kind, "invalid", m.spec)
				err := k.Create(ctx, object)
				Expect(err).To(HaveOccurred())
				message := err.Error()
				Expect(apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)).To(BeTrue(), message)
				Expect(message).To(MatchRegexp(fieldPattern(m.field)))
				for _, part := range m.says {
					Expect(message).To(ContainSubstring(part))
				}
				Expect(k.Create(ctx, object, client.DryRunAll)).To(MatchError(message), "a dry run says the same")
				Expect(apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(object), object))).To(BeTrue())
			})
		}
	}
})

// list repeats an entry of a list with the numbers from 1 to n in it.
func list(n int, entry string) string {
	var entries strings.Builder
	for i := range n {
		fmt.Fprintf(&entries, entry+", ", i+1)
	}
	return entries.String()
}

// servers returns n different addresses.
func servers(n int) string { return list(n, "192.0.2.%d") }

// ragged returns n ranges, each of which is 14 prefixes.
func ragged(n int) string { return list(n, "10.0.%[1]d.1-10.0.%[1]d.254") }

// jagged returns n ranges of IPv6, each of which is 126 prefixes.
func jagged(n int) string {
	return list(n, `"2001:db8:1:%[1]x::1-2001:db8:1:%[1]x:ffff:ffff:ffff:fffe"`)
}

func subnets(n int) string {
	return list(n, "{cidr: 10.0.%[1]d.0/24, network: {gateway: 10.0.%[1]d.1}}")
}

// keptFor returns n different addresses, each for another claim.
func keptFor(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "{claimName: c%d, namespace: team, address: 10.0.%d.%d}, ", i, 1+i/256, i%256)
	}
	return list.String()
}

// fieldPattern matches the path of a field, not that of a field whose name
// begins alike or of one inside it.
func fieldPattern(field string) string {
	return strings.NewReplacer(".", `\.`, "[", `\[`, "]", `\]`).Replace(field) + `(:|")`
}

// poolYAML returns a pool of a kind with a spec written in YAML.
func poolYAML(kind, name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: ipam.weir.dev/v1alpha1, kind: %s, metadata: {name: %s}, spec: %s}", kind, name, spec)
	Expect(yaml.Unmarshal([]byte(text), &object.Object)).To(Succeed())
	if kind == ipamv1.IPPoolKind {
		object.SetNamespace("team")
	}
	return object
}

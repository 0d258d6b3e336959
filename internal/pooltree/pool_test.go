// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// poolOf makes a pool from entries, one area each, in one network.
func poolOf(t *testing.T, entries, excluded string, network pooltree.Network, reserved pooltree.ReservedPolicy) *pooltree.Pool {
	t.Helper()
	config := pooltree.Config{Reserved: reserved}
	for text := range strings.FieldsSeq(entries) {
		r, err := ipspace.ParseEntry(text)
		if err != nil {
			t.Fatal(err)
		}
		config.Areas = append(config.Areas, pooltree.Area{Range: r, Network: network})
	}
	config.Excluded = setOf(t, excluded)
	return pooltree.New(config)
}

func setOf(t *testing.T, entries string) *netipx.IPSet {
	t.Helper()
	var b netipx.IPSetBuilder
	for text := range strings.FieldsSeq(entries) {
		r, err := ipspace.ParseEntry(text)
		if err != nil {
			t.Fatal(err)
		}
		b.AddRange(r)
	}
	set, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func textOf(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, p := range prefixes {
		texts[i] = p.String()
	}
	return strings.Join(texts, " ")
}

type shape struct{ Blocks, Excluded, Total, ExcludedCount string }

func TestPool(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries, excluded string
		network           pooltree.Network
		reserved          pooltree.ReservedPolicy
		want              shape
	}{
		"a block loses its network and broadcast address": {
			entries: "192.0.2.0/28",
			network: pooltree.Network{Bits: 28},
			want:    shape{"192.0.2.0/28", "", "16", "2"},
		},
		"a block that hands out reserved addresses loses none": {
			entries:  "192.0.2.0/28",
			network:  pooltree.Network{Bits: 28},
			reserved: pooltree.AllocateReserved,
			want:     shape{"192.0.2.0/28", "", "16", "0"},
		},
		"a network of which nobody says the length reserves nothing": {
			entries: "192.0.2.0/28",
			want:    shape{"192.0.2.0/28", "", "16", "0"},
		},
		"nor does it at the ends of the family": {
			entries: "0.0.0.0/1 255.255.255.255",
			want:    shape{"0.0.0.0/1 255.255.255.255/32", "", "2147483649", "0"},
		},
		"nor does one of a length that does not exist": {
			entries: "192.0.2.0/28",
			network: pooltree.Network{Bits: -1},
			want:    shape{"192.0.2.0/28", "", "16", "0"},
		},
		"nor one of a length of the other family": {
			entries: "192.0.2.0/28",
			network: pooltree.Network{Bits: 64},
			want:    shape{"192.0.2.0/28", "", "16", "0"},
		},
		"its gateway is excluded all the same": {
			entries: "2001:db8::/124",
			network: pooltree.Network{Gateway: netip.MustParseAddr("2001:db8::1")},
			want:    shape{"2001:db8::/124", "2001:db8::1/128", "16", "1"},
		},
		"a /31 is used whole": {
			entries: "192.0.2.0/31",
			network: pooltree.Network{Bits: 31},
			want:    shape{"192.0.2.0/31", "", "2", "0"},
		},
		"a slice of a bigger network loses nothing to reservation": {
			entries: "192.0.2.16/28",
			network: pooltree.Network{Bits: 24},
			want:    shape{"192.0.2.16/28", "", "16", "0"},
		},
		"a block of many networks loses two for each": {
			entries: "192.0.2.0/24",
			network: pooltree.Network{Bits: 26},
			want:    shape{"192.0.2.0/24", "", "256", "8"},
		},
		"an IPv6 block loses its anycast address": {
			entries: "2001:db8::/64",
			network: pooltree.Network{Bits: 64},
			want:    shape{"2001:db8::/64", "", "18446744073709551616", "1"},
		},
		"a huge IPv6 block of many networks is counted exactly": {
			entries: "2001:db8::/32",
			network: pooltree.Network{Bits: 64},
			want:    shape{"2001:db8::/32", "", "79228162514264337593543950336", "4294967296"},
		},
		"a gateway inside is excluded": {
			entries: "192.0.2.0/28",
			network: pooltree.Network{Bits: 28, Gateway: netip.MustParseAddr("192.0.2.1")},
			want:    shape{"192.0.2.0/28", "192.0.2.1/32", "16", "3"},
		},
		"a gateway outside changes nothing": {
			entries: "192.0.2.16/28",
			network: pooltree.Network{Bits: 24, Gateway: netip.MustParseAddr("192.0.2.1")},
			want:    shape{"192.0.2.16/28", "", "16", "0"},
		},
		"what is excluded, gateway and reserved counts once": {
			entries:  "192.0.2.0/28",
			excluded: "192.0.2.0-192.0.2.1",
			network:  pooltree.Network{Bits: 28, Gateway: netip.MustParseAddr("192.0.2.1")},
			want:     shape{"192.0.2.0/28", "192.0.2.0/31", "16", "3"},
		},
		"exclusions outside the pool are ignored": {
			entries:  "192.0.2.8/29",
			excluded: "192.0.2.0-192.0.2.8 198.51.100.0/24",
			network:  pooltree.Network{Bits: 32},
			want:     shape{"192.0.2.8/29", "192.0.2.8/32", "8", "1"},
		},
		"one exclusion reaches over several areas": {
			entries:  "192.0.2.0-192.0.2.3 192.0.2.4-192.0.2.7 192.0.2.10-192.0.2.13",
			excluded: "192.0.2.2-192.0.2.11",
			network:  pooltree.Network{Bits: 32},
			want:     shape{"192.0.2.0/29 192.0.2.10/31 192.0.2.12/31", "192.0.2.2/31 192.0.2.4/30 192.0.2.10/31", "12", "8"},
		},
		"everything may be excluded": {
			entries:  "192.0.2.0/30",
			excluded: "192.0.2.0/24",
			network:  pooltree.Network{Bits: 30},
			want:     shape{"192.0.2.0/30", "192.0.2.0/30", "4", "4"},
		},
		"areas may come in any order": {
			entries: "192.0.2.9 192.0.2.0-192.0.2.2 192.0.2.8",
			network: pooltree.Network{Bits: 32},
			want:    shape{"192.0.2.0/31 192.0.2.2/32 192.0.2.8/31", "", "5", "0"},
		},
		"a pool may end at the last address of its family": {
			entries:  "255.255.255.252/30",
			excluded: "255.255.255.254-255.255.255.255",
			network:  pooltree.Network{Bits: 32},
			want:     shape{"255.255.255.252/30", "255.255.255.254/31", "4", "2"},
		},
		"a pool of nothing has no addresses": {
			want: shape{"", "", "0", "0"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := poolOf(t, test.entries, test.excluded, test.network, test.reserved)
			got := shape{textOf(p.Blocks()), textOf(p.Excluded()), p.Total().String(), p.ExcludedCount().String()}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("shape (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	p := poolOf(t, "192.0.2.0/25 192.0.2.192/26", "192.0.2.16/28",
		pooltree.Network{Bits: 25, Gateway: netip.MustParseAddr("192.0.2.1")}, pooltree.ExcludeReserved)
	tests := map[string]struct {
		prefix, want string
	}{
		"a free address":                           {"192.0.2.2/32", ""},
		"the gateway":                              {"192.0.2.1/32", "is the pool's gateway or contains it"},
		"a block with the gateway":                 {"192.0.2.0/30", "is the pool's gateway or contains it"},
		"the network address":                      {"192.0.2.0/32", "is a reserved address of its network"},
		"the broadcast address":                    {"192.0.2.255/32", "is a reserved address of its network"},
		"a block with the broadcast address":       {"192.0.2.252/30", ""},
		"an excluded address":                      {"192.0.2.20/32", "is excluded or contains an excluded address"},
		"a block that touches an exclusion":        {"192.0.2.0/27", "is the pool's gateway or contains it"},
		"an address in the hole between areas":     {"192.0.2.128/32", "is not in the pool"},
		"a block that reaches over the hole":       {"192.0.2.0/24", "is not in the pool"},
		"an address of the other family":           {"2001:db8::1/128", "is not in the pool"},
		"a free block":                             {"192.0.2.64/26", ""},
		"the block that begins where an area does": {"192.0.2.192/26", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason, refused := p.Refuses(netip.MustParsePrefix(test.prefix))
			if reason != test.want || refused != (test.want != "") {
				t.Errorf("Refuses(%s) = %q, %t; want %q", test.prefix, reason, refused, test.want)
			}
		})
	}
}

// TestAnUnknownNetworkIsNotTheWholeFamily: of a network of which nobody says the length, all
// addresses are handed out, and none comes with a length.
func TestAnUnknownNetworkIsNotTheWholeFamily(t *testing.T) {
	t.Parallel()
	p := poolOf(t, "0.0.0.0 255.255.255.255", "", pooltree.Network{}, pooltree.ExcludeReserved)
	for _, text := range []string{"0.0.0.0/32", "255.255.255.255/32"} {
		prefix := netip.MustParsePrefix(text)
		if reason, refused := p.Refuses(prefix); refused || p.Reserved(prefix.Addr()) {
			t.Errorf("%s is reserved (%t): %s", text, p.Reserved(prefix.Addr()), reason)
		}
		if got := p.UsableIn(prefix); got.String() != "1" {
			t.Errorf("%s counts %s", text, got)
		}
		if got := p.NetworkOf(prefix.Addr()); got.Bits != 0 {
			t.Errorf("%s comes with /%d", text, got.Bits)
		}
	}
}

func TestNetworkOf(t *testing.T) {
	t.Parallel()
	area := func(text string, n pooltree.Network) pooltree.Area {
		r, err := ipspace.ParseEntry(text)
		if err != nil {
			t.Fatal(err)
		}
		return pooltree.Area{Range: r, Network: n}
	}
	first := pooltree.Network{Bits: 28, Gateway: netip.MustParseAddr("192.0.2.1"), DNSServers: []netip.Addr{netip.MustParseAddr("2001:db8::53")}}
	second := pooltree.Network{Bits: 32}
	p := pooltree.New(pooltree.Config{Areas: []pooltree.Area{area("192.0.2.16", second), area("192.0.2.0/28", first)}})
	tests := map[string]struct {
		address string
		want    pooltree.Network
	}{
		"the first address of an area":    {"192.0.2.0", first},
		"the last address of an area":     {"192.0.2.15", first},
		"the area right behind":           {"192.0.2.16", second},
		"an address before the pool":      {"192.0.1.255", pooltree.Network{Bits: 32}},
		"an address behind the pool":      {"192.0.2.17", pooltree.Network{Bits: 32}},
		"an address of the other family":  {"2001:db8::", pooltree.Network{Bits: 128}},
		"an address that is a gateway":    {"192.0.2.1", first},
		"an address that is not reserved": {"192.0.2.5", first},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, p.NetworkOf(netip.MustParseAddr(test.address)), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("NetworkOf(%s) (-want +got):\n%s", test.address, diff)
			}
		})
	}
	if got := p.HostBits(); got != 32 {
		t.Errorf("HostBits() = %d, want 32", got)
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"net/netip"
	"testing"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// TestAnExternalPoolCountsItsLimit: it has no blocks and keeps back nothing.
func TestAnExternalPoolCountsItsLimit(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		config pooltree.Config
		total  string
	}{
		"without a limit":     {pooltree.Config{External: true}, "0"},
		"with a limit":        {pooltree.Config{External: true, Limit: 5}, "5"},
		"with a negative one": {pooltree.Config{External: true, Limit: -1}, "0"},
		"whatever else is said": {
			config: pooltree.Config{
				External: true, Limit: 5, ClaimBits: 28, LongestBits: 28, Excluded: setOf(t, "203.0.113.7"),
				Areas:    []pooltree.Area{{Range: netipx.RangeOfPrefix(netip.MustParsePrefix("192.0.2.0/24"))}},
				Gateways: []netip.Addr{netip.MustParseAddr("203.0.113.7")},
				Kept:     []pooltree.Kept{{Prefix: netip.MustParsePrefix("203.0.113.7/32"), For: pooltree.Claimant{Name: "c"}}},
			},
			total: "5",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := pooltree.New(test.config)
			got := shape{textOf(p.Blocks()), textOf(p.Excluded()), p.Total().String(), p.ExcludedCount().String()}
			if want := (shape{Total: test.total, ExcludedCount: "0"}); got != want {
				t.Errorf("shape %+v, want %+v", got, want)
			}
			if !p.IsExternal() || textOf(p.Cover()) != "0.0.0.0/0" {
				t.Errorf("external %t, covered by %s", p.IsExternal(), textOf(p.Cover()))
			}
			if p.HostBits() != 32 || p.ClaimBits() != 32 || p.LongestBits() != 32 || p.IsBounded() || p.Tiers() != nil {
				t.Errorf("host /%d, claims /%d, longest /%d, bounded %t", p.HostBits(), p.ClaimBits(), p.LongestBits(), p.IsBounded())
			}
			if len(p.Kept()) > 0 || len(p.AllGateways()) > 0 {
				t.Errorf("keeps %v and gateways %v", p.Kept(), p.AllGateways())
			}
		})
	}
}

// TestAnExternalPoolTakesEveryAddress of IPv4, also what no other pool may have: the choice was
// made outside.
func TestAnExternalPoolTakesEveryAddress(t *testing.T) {
	t.Parallel()
	p := pooltree.New(pooltree.Config{External: true})
	for text, refused := range map[string]bool{
		"203.0.113.7/32": false, "203.0.113.0/32": false, "203.0.113.255/32": false, "0.0.0.0/32": false, "255.255.255.255/32": false,
		"2001:db8::1/128": true,
	} {
		prefix := netip.MustParsePrefix(text)
		for name, refuses := range map[string]func(netip.Prefix) (string, bool){"Refuses": p.Refuses, "RefusesAdopted": p.RefusesAdopted} {
			if reason, got := refuses(prefix); got != refused || p.Contains(prefix) == refused {
				t.Errorf("%s(%s) = %q, %t; contained %t", name, text, reason, got, p.Contains(prefix))
			}
		}
		usable := map[bool]string{false: "1", true: "0"}[refused]
		if got := p.UsableIn(prefix).String(); got != usable || p.Reserved(prefix.Addr()) || p.Withholds(prefix) {
			t.Errorf("%s: %s usable, reserved %t, withheld %t", text, got, p.Reserved(prefix.Addr()), p.Withholds(prefix))
		}
		if n := p.NetworkOf(prefix.Addr()); n.Bits != prefix.Bits() || n.Gateway.IsValid() || len(n.DNSServers) > 0 {
			t.Errorf("%s comes with %+v", text, n)
		}
	}
}

// TestAnExternalPoolGivesNothingByItsLength: what is asked for by its length, and not by its
// address, is refused.
func TestAnExternalPoolGivesNothingByItsLength(t *testing.T) {
	t.Parallel()
	p := pooltree.New(pooltree.Config{External: true, Limit: 5})
	for bits := range 34 {
		if _, refused := p.RefusesLength(bits); !refused {
			t.Errorf("gives a /%d", bits)
		}
	}
}

// TestABlockCoversItself: where the pool chooses, it has handed out nothing outside its blocks.
func TestABlockCoversItself(t *testing.T) {
	t.Parallel()
	p := poolOf(t, "192.0.2.0/25 192.0.2.192-192.0.2.199", "192.0.2.3", pooltree.Network{Bits: 24}, pooltree.ExcludeReserved)
	if got := textOf(p.Cover()); p.IsExternal() || got != "192.0.2.0/25 192.0.2.192/29" || got != textOf(p.Blocks()) {
		t.Errorf("external %t, covered by %s", p.IsExternal(), got)
	}
	other := pooltree.New(pooltree.Config{External: true})
	if !other.HasNetworksOf(pooltree.New(pooltree.Config{External: true, Limit: 5})) || other.HasNetworksOf(p) {
		t.Error("all external pools have the same networks, and no other pool has them")
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"fmt"
	"net/netip"
	"testing"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// TestWhatReachesItsGateway: an address reaches its gateway where both are in one network, has a host route, or a gateway that is on
// every link.
func TestWhatReachesItsGateway(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		addresses, gateway string
		bits               int
		off                string
	}{
		"no gateway":                            {addresses: "192.0.2.0-192.0.3.255", bits: 24, off: "[]"},
		"all in the network":                    {addresses: "192.0.2.0-192.0.2.255", bits: 24, gateway: "192.0.2.1", off: "[]"},
		"part before and part behind":           {addresses: "192.0.1.9-192.0.3.9", bits: 24, gateway: "192.0.2.1", off: "[192.0.1.9-192.0.1.255 192.0.3.0-192.0.3.9]"},
		"nothing in the network":                {addresses: "198.51.100.0-198.51.100.9", bits: 24, gateway: "192.0.2.1", off: "[198.51.100.0-198.51.100.9]"},
		"a host route":                          {addresses: "198.51.100.0-198.51.100.9", bits: 32, gateway: "192.0.2.1", off: "[]"},
		"a network that is not known":           {addresses: "198.51.100.0-198.51.100.9", bits: 0, gateway: "192.0.2.1", off: "[]"},
		"a link-local gateway of IPv4":          {addresses: "169.254.9.0-169.254.9.9", bits: 24, gateway: "169.254.0.1", off: "[169.254.9.0-169.254.9.9]"},
		"IPv6":                                  {addresses: "2001:db8::8-2001:db8:0:1::8", bits: 64, gateway: "2001:db8::1", off: "[2001:db8:0:1::-2001:db8:0:1::8]"},
		"a host route of IPv6":                  {addresses: "2001:db8:0:1::-2001:db8:0:1::8", bits: 128, gateway: "2001:db8::1", off: "[]"},
		"a link-local gateway of IPv6":          {addresses: "2001:db8:0:1::-2001:db8:0:1::8", bits: 64, gateway: "fe80::1", off: "[]"},
		"the other address of a point to point": {addresses: "192.0.2.0-192.0.2.3", bits: 31, gateway: "192.0.2.1", off: "[192.0.2.2-192.0.2.3]"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			network := pooltree.Network{Bits: test.bits}
			if test.gateway != "" {
				network.Gateway = netip.MustParseAddr(test.gateway)
			}
			areas := (pooltree.Area{Range: netipx.MustParseIPRange(test.addresses), Network: network}).OffLink()
			off := make([]netipx.IPRange, 0, len(areas))
			for _, area := range areas {
				off = append(off, area.Range)
			}
			if got := fmt.Sprint(off); got != test.off {
				t.Errorf("off-link: %s, want %s", got, test.off)
			}
		})
	}
}

// TestTiersKeepBackWhatIsOffLink: a pool whose parts are consumed in an order is no way around the rule.
func TestTiersKeepBackWhatIsOffLink(t *testing.T) {
	t.Parallel()
	both := netipx.MustParseIPRange("192.0.2.252-192.0.3.3")
	config := pooltree.Config{
		Areas: []pooltree.Area{{Range: both, Network: pooltree.Network{Bits: 24, Gateway: netip.MustParseAddr("192.0.2.1")}}},
		Tiers: [][]netipx.IPRange{{both}},
	}
	if got, want := fmt.Sprint(pooltree.New(config).Tiers()), "[[192.0.2.252/30]]"; got != want {
		t.Errorf("tiers %s, want %s", got, want)
	}
	config.OffLink = pooltree.AllocateOffLink
	if got, want := fmt.Sprint(pooltree.New(config).Tiers()), "[[192.0.2.252/30 192.0.3.0/30]]"; got != want {
		t.Errorf("tiers %s, want %s", got, want)
	}
}

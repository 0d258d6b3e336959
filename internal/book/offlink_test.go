// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// twoNetworks has four addresses in the network of its gateway, and four in another one.
var twoNetworks = shapeConfig{entries: "10.0.0.8-10.0.0.11 10.0.1.8-10.0.1.11", gateway: "10.0.0.1", reserved: pooltree.AllocateReserved}

// TestNoClaimGetsWhatDoesNotReachItsGateway: under no strategy, alone or among several managers, neither an address nor a block,
// whether it asks for that or for anything.
func TestNoClaimGetsWhatDoesNotReachItsGateway(t *testing.T) {
	t.Parallel()
	offLink := netip.MustParsePrefix("10.0.1.0/24")
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(twoNetworks.by(strategy))
			b.x.lanes.note("other", b.x.ages.now())
			capacity, _ := b.x.Capacity(poolRef("p"))
			if capacity.Available != ipspace.CountOf(4) || capacity.Excluded != ipspace.CountOf(4) {
				t.Errorf("%s are available and %s excluded", capacity.Available, capacity.Excluded)
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				if p, err := b.promise(claimFor(name)); err != nil || offLink.Overlaps(p) {
					t.Errorf("%s gets %v, %v", name, p, err)
				}
			}
			if p, err := b.promise(claimFor("e")); err == nil {
				t.Errorf("a fifth claim gets %s", p)
			}
			block := claimFor("block")
			block.Bits = 31
			if p, err := b.promise(block); err == nil {
				t.Errorf("a claim of a block gets %s", p)
			}
			for _, text := range []string{"10.0.1.9/32", "10.0.1.8/31"} {
				asks := claimFor("asks")
				asks.Want = netip.MustParsePrefix(text)
				asks.Bits = asks.Want.Bits()
				var refused *RefusedError
				if _, err := b.promise(asks); !errors.As(err, &refused) || refused.Reason != "does not reach its gateway, 10.0.0.1" {
					t.Errorf("who asks for %s gets %v", text, err)
				}
			}
		})
	}
}

// TestACarvedPoolMayHaveWhatDoesNotReachTheGateway: it may have a network of its own there.
func TestACarvedPoolMayHaveWhatDoesNotReachTheGateway(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.1.8-10.0.1.11 10.0.2.8-10.0.2.11", gateway: "10.0.1.1"})
	for i, want := range []string{"10.0.1.8/30", "10.0.2.8/30"} {
		child := claimFor([]string{"first", "second"}[i])
		child.Purpose, child.Bits = records.ForChildPool, 30
		if p, err := b.promise(child); err != nil || p.String() != want {
			t.Errorf("got %v, %v; want %s", p, err, want)
		}
	}
}

// TestWhatDoesNotReachItsGatewayStays: with a claim that arrived with it.
func TestWhatDoesNotReachItsGatewayStays(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(twoNetworks)
	arrived := claimFor("arrived")
	arrived.Want, arrived.Purpose = netip.MustParsePrefix("10.0.1.9/32"), records.ForAdopted
	if p, err := b.promise(arrived); err != nil || p != arrived.Want {
		t.Errorf("got %v, %v", p, err)
	}
}

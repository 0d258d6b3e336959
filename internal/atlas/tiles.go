// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Letters of what an address is in use for.
const (
	// Free: a claim may get it.
	Free = 'f'
	// Unknown: no record of it is shown, and there may be one.
	Unknown = 'u'
	// Excluded: nobody gets it.
	Excluded = 'x'
	// Kept is for one claim, which has not got it.
	Kept = 'k'
	// Gateway of a network.
	Gateway = 'g'
	// HandedBack: the member has handed the block back to the hub.
	HandedBack = 'b'
	// Held by a claim.
	Held = 'h'
	// Block of a pool that is carved from this one.
	Block = 'p'
	// Cooling: released, and kept back for a while.
	Cooling = 'c'
	// Retained for the next claim of the name.
	Retained = 'r'
	// Moved to another cluster with its claim or pool.
	Moved = 'm'
	// Conflict: two records have it, or one that does not lie in its pool.
	Conflict = '!'
)

// tile is a range of addresses that are in use for the same.
type tile struct {
	netipx.IPRange
	letter byte
}

// letterOf returns what the addresses of a record are in use for.
func letterOf(r *survey.Record) byte {
	switch r.State {
	case ipamv1.CoolingState:
		return Cooling
	case ipamv1.RetainedState:
		return Retained
	case ipamv1.MovedState:
		return Moved
	default:
	}
	switch {
	case r.Purpose == ipamv1.HandBackPurpose:
		return HandedBack
	case r.IsBlock():
		return Block
	}
	return Held
}

// tilesOf covers the addresses of a pool, in their order. Ground is what addresses are of which nothing is known. The
// records are those of the pool, in the order of their prefixes.
func tilesOf(addresses, inside *netipx.IPSet, ground byte, withheld [][]tile, records []survey.Record) []tile {
	tiles := make([]tile, 0, len(records)+1)
	for _, r := range addresses.Ranges() {
		tiles = append(tiles, tile{r, ground})
	}
	var handedBack, held, twice []tile
	for i := range records {
		t := tile{netipx.RangeOfPrefix(records[i].Prefix), letterOf(&records[i])}
		switch {
		case t.letter == HandedBack:
			handedBack = outermost(handedBack, t)
			continue
		case inside != nil && !inside.ContainsRange(t.IPRange):
			t.letter = Conflict
		case len(held) > 0 && held[len(held)-1].Overlaps(t.IPRange):
			twice = outermost(twice, tile{t.IPRange, Conflict})
			continue
		}
		held = outermost(held, t)
	}
	for _, over := range append(withheld, handedBack, held, twice) {
		tiles = paint(tiles, over)
	}
	return merge(tiles)
}

// outermost adds a tile unless it lies in the last one. The tiles are prefixes, in their order: each two are disjoint, or the
// later one lies in the earlier one.
func outermost(tiles []tile, t tile) []tile {
	if n := len(tiles); n > 0 && tiles[n-1].Overlaps(t.IPRange) {
		return tiles
	}
	return append(tiles, t)
}

// withheldTiles are what a pool and the pools above it withhold: each of the three hides those before.
func withheldTiles(lineage []*survey.Pool) [][]tile {
	var excluded, kept, gateways netipx.IPSetBuilder
	for _, p := range lineage {
		if p.Withheld.Excluded != nil {
			excluded.AddSet(p.Withheld.Excluded)
		}
		for _, k := range p.Withheld.Kept {
			kept.AddPrefix(k.Prefix)
		}
		for _, gateway := range p.Withheld.Gateways {
			gateways.Add(gateway)
		}
	}
	return [][]tile{tilesIn(&kept, Kept), tilesIn(&excluded, Excluded), tilesIn(&gateways, Gateway)}
}

// tilesIn are those of a set that has no mistakes.
func tilesIn(set *netipx.IPSetBuilder, letter byte) (tiles []tile) {
	built, err := set.IPSet()
	if err != nil {
		return nil
	}
	for _, r := range built.Ranges() {
		tiles = append(tiles, tile{r, letter})
	}
	return tiles
}

// paint returns the tiles under others, in their order. Both are in the order of their addresses and disjoint; parts of the
// others that lie in no tile are left out.
func paint(under, over []tile) []tile {
	painted := make([]tile, 0, len(under)+2*len(over))
	next := 0
	for _, base := range under {
		from := base.From()
		for next < len(over) && over[next].To().Less(from) {
			next++
		}
		for i := next; from.IsValid() && i < len(over) && over[i].From().Compare(base.To()) <= 0; i++ {
			begin, end := ipspace.Later(from, over[i].From()), ipspace.Earlier(base.To(), over[i].To())
			if from.Less(begin) {
				painted = append(painted, tile{netipx.IPRangeFrom(from, begin.Prev()), base.letter})
			}
			painted = append(painted, tile{netipx.IPRangeFrom(begin, end), over[i].letter})
			from = end.Next()
		}
		if from.IsValid() && from.Compare(base.To()) <= 0 {
			painted = append(painted, tile{netipx.IPRangeFrom(from, base.To()), base.letter})
		}
	}
	return painted
}

// merge joins neighbours of one letter.
func merge(tiles []tile) []tile {
	merged := tiles[:0]
	for _, t := range tiles {
		if n := len(merged); n > 0 && merged[n-1].letter == t.letter && merged[n-1].To().Next() == t.From() {
			merged[n-1].IPRange = netipx.IPRangeFrom(merged[n-1].From(), t.To())
			continue
		}
		merged = append(merged, t)
	}
	return merged
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Lanes keep what several managers choose at once apart. Skipping a random few of the free prefixes
// would be simpler, and is not enough. In a simulation of three managers, whose watch is 1 to 4 ms
// behind, so many of 1,000 creates met another's and had to be tried again:
//
//	clients at once     2      3      6     12     50
//	lanes             0.3 %  0.4 %  0.2 %  0.8 %   3.7 %
//	skip up to 63     0.4 %  0.8 %  1.6 %  2.2 %   8.1 %
//	skip up to 15     1.0 %  2.0 %  2.8 %  5.4 %  19.6 %
//	neither           1.1 %  2.5 %  5.5 % 14.7 %  43.4 %
//
// Any of the next 4,096 at random meets as seldom as lanes do, but leaves a pool of prefixes in
// pieces.

// laneSteps is how many prefixes of other lanes are passed over in search of one's own.
const laneSteps = 16

// inLane returns the first choice for the claim that is in this manager's lane, or else the very
// first. Every manager has every n-th prefix of a length as its lane, so that what several choose
// at once seldom meets. One that is asked more often than the others comes upon more and more that
// is free in their lanes: then it goes on after what it has chosen last.
func (b *chooser) inLane(e *poolEntry, c Claim, first netip.Prefix) netip.Prefix {
	strategy := e.pool.Shape.Strategy()
	lane, lanes := b.lanes.position(b.ages.now())
	if lanes == 1 || strategy == pooltree.Random {
		return first
	}
	blocks := tierOf(e, c, first)
	found, ok := b.search(e, c, blocks, lane, lanes)
	if ok || strategy == pooltree.LeastRecentlyUsed {
		return either(ok, found, first)
	}
	if !e.chosen.IsValid() || e.chosen.Addr().Less(found.Addr()) {
		e.chosen = found
	}
	e.chosen, ok = b.search(e, c, after(blocks, e.chosen), lane, lanes)
	return either(ok, e.chosen, first)
}

// search returns the first choice for the claim in these blocks that is in the lane. If that is too
// far, it returns how far it came.
func (b *chooser) search(e *poolEntry, c Claim, blocks []netip.Prefix, lane, lanes int) (found netip.Prefix, ok bool) {
	var passed []*records.Record
	defer func() {
		for _, mark := range passed {
			b.pools.letIn(mark)
		}
	}()
	r := request{Blocks: blocks, Own: b.pools.aboveAll(e), Bits: c.Bits, Reserved: e.pool.Shape.Reserved}
	var err error
	for range laneSteps {
		found, err = b.fitIn(b.spaces.of(e.pool.Space), e, r)
		if err != nil || ordinal(found)%lanes == lane {
			return found, err == nil
		}
		mark := &records.Record{Role: tentative, CIDR: found, Space: e.pool.Space, Pool: e.ref}
		b.pools.keepOut(mark)
		passed = append(passed, mark)
	}
	return found, false
}

func either(ok bool, one, other netip.Prefix) netip.Prefix {
	if ok {
		return one
	}
	return other
}

// after returns the part of the blocks that lies behind a prefix; all of it where that is none.
func after(blocks []netip.Prefix, p netip.Prefix) []netip.Prefix {
	if !p.IsValid() {
		return blocks
	}
	last := netipx.PrefixLastIP(p)
	var left []netip.Prefix
	for _, block := range blocks {
		switch end := netipx.PrefixLastIP(block); {
		case last.Less(block.Addr()):
			left = append(left, block)
		case last.Less(end):
			left = netipx.IPRangeFrom(last.Next(), end).AppendPrefixes(left)
		}
	}
	return left
}

// ordinal numbers the prefixes of one length; of the number only the last bits count.
func ordinal(p netip.Prefix) int {
	bytes := p.Addr().AsSlice()
	n := 0
	for _, b := range bytes[:(p.Bits()+7)/8] {
		n = n<<8 | int(b)
	}
	return n >> ((8 - p.Bits()%8) % 8) & 0xffff
}

// lanesTime is how long a manager that has recorded something counts as one that goes on choosing,
// in seconds.
const lanesTime = 30

// lanes are the managers that have recorded something lately. They own who has, and use no other
// part.
type lanes struct {
	own  string
	seen map[string]int64
}

func newLanes(instance string) *lanes { return &lanes{own: instance, seen: map[string]int64{}} }

// note notes that a manager has recorded something.
func (l *lanes) note(instance string, now int64) { l.seen[instance] = now }

// position returns which of how many lanes is this manager's.
func (l *lanes) position(now int64) (lane, of int) {
	maps.DeleteFunc(l.seen, func(_ string, seen int64) bool { return now-seen > lanesTime })
	others := slices.DeleteFunc(slices.Collect(maps.Keys(l.seen)), func(instance string) bool { return instance == l.own })
	for _, other := range others {
		if other < l.own {
			lane++
		}
	}
	return lane, len(others) + 1
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// PromiseTime is for how long a prefix that was proposed is kept from others: longer than the API
// server takes between its two calls. Economy only: what is handed out twice meanwhile is found by
// judging.
const PromiseTime = 5 * time.Second

// crowdedTime is for how long a pool counts as one that several ask at once, in seconds.
const crowdedTime = 1

// laneSteps is how many prefixes of other lanes are passed over in search of one's own.
const laneSteps = 16

// maxStem is how much of generateName may be told from a name: the API server cuts off more than
// that.
const maxStem = 58

// promiser chooses, and proposes to objects under admission.
type promiser struct{ chooser }

// promises says whether something in the pool is promised.
func (b *promiser) promises(e *poolEntry) bool {
	for mark := range b.marks {
		if mark.Role == promised && mark.Pool == e.ref {
			return true
		}
	}
	return false
}

// Choose picks a prefix for the claim and marks it, so that no other goroutine of this process
// picks it too. The mark, for a record of that name, lasts until Unmark.
func (b *promiser) Choose(c Claim, key types.NamespacedName) (*records.Record, error) {
	b.redeem(c)
	e, cidr, err := b.find(c)
	if err != nil {
		return nil, err
	}
	return b.mark(e.pool.Space, e, cidr, c, key), nil
}

// Promise picks a prefix for the claim and keeps it from others until Expire, which the caller sees
// to after PromiseTime. Where several managers choose at this moment, each prefers other prefixes.
func (b *promiser) Promise(c Claim) (*records.Record, error) {
	e, cidr, err := b.find(c)
	if err != nil {
		return nil, err
	}
	_, isKept := b.keptFor(e, c)
	_, isTried := b.firstTry(b.spaceOf(e.pool.Space), e, c)
	if !isKept && !isTried && !c.Want.IsValid() && b.isCrowded(e) {
		cidr = b.inLane(e, c, cidr)
	}
	r := &records.Record{Role: promised, CIDR: cidr, Space: e.pool.Space, Pool: e.ref, Claim: c.Ref, Purpose: c.Purpose}
	return b.addMark(r, mark{stem: c.GenerateName[:min(len(c.GenerateName), maxStem)]}), nil
}

// Expire takes a promise back that no claim has asked for.
func (b *promiser) Expire(mark *records.Record) {
	if b.Unmark(mark) {
		b.freed(mark)
	}
}

// withdraw takes back what was promised at exactly that prefix, and says whether anything was.
func (b *promiser) withdraw(s string, cidr netip.Prefix) bool {
	found := false
	for mark := range b.marks {
		if mark.Role == promised && mark.Space == s && mark.CIDR == cidr {
			found = b.Unmark(mark)
		}
	}
	return found
}

// redeem takes back what was promised to the claim, which asks for it now.
func (b *promiser) redeem(c Claim) {
	for r, m := range b.marks {
		if r.Role == promised && r.Pool == c.Pool && isFor(r, c, m.stem) {
			b.Unmark(r)
			return
		}
	}
}

// crowd notes that something was recorded in the pool that was not promised here, while something
// else is. One client that makes one claim after the other is no crowd, whichever managers its
// calls reach.
func (b *promiser) crowd(e *poolEntry) {
	if b.promises(e) {
		e.crowded = b.now()
	}
}

// isCrowded says whether others may be choosing from the pool at this moment.
func (b *promiser) isCrowded(e *poolEntry) bool {
	return b.promises(e) || e.crowded != 0 && b.now()-e.crowded <= crowdedTime
}

// inLane returns the first choice for the claim that is in this manager's lane, or else the very
// first. Every manager has every n-th prefix of a length as its lane, so that what several choose
// at once seldom meets. One that is asked more often than the others comes upon more and more that
// is free in their lanes: then it goes on after what it has chosen last.
func (b *promiser) inLane(e *poolEntry, c Claim, first netip.Prefix) netip.Prefix {
	strategy := e.pool.Shape.Strategy()
	lane, lanes := b.lanes.position(b.now())
	if lanes == 1 || strategy == pooltree.Random {
		return first
	}
	found, ok := b.search(e, c, e.serving, lane, lanes)
	if ok || strategy == pooltree.LeastRecentlyUsed {
		return either(ok, found, first)
	}
	if !e.chosen.IsValid() || e.chosen.Addr().Less(found.Addr()) {
		e.chosen = found
	}
	e.chosen, ok = b.search(e, c, after(e.serving, e.chosen), lane, lanes)
	return either(ok, e.chosen, first)
}

// search returns the first choice for the claim in these blocks that is in the lane. If that is too
// far, it returns how far it came.
func (b *promiser) search(e *poolEntry, c Claim, blocks []netip.Prefix, lane, lanes int) (found netip.Prefix, ok bool) {
	var passed []*records.Record
	defer func() {
		for _, mark := range passed {
			b.letIn(mark)
		}
	}()
	r := request{Blocks: blocks, Own: b.aboveAll(e), Bits: c.Bits, Reserved: e.pool.Shape.Reserved}
	var err error
	for range laneSteps {
		found, err = b.fit(b.spaceOf(e.pool.Space), e, r)
		if err != nil || ordinal(found)%lanes == lane {
			return found, err == nil
		}
		mark := &records.Record{Role: tentative, CIDR: found, Space: e.pool.Space, Pool: e.ref}
		b.keepOut(mark)
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

// lanes are the managers that have recorded something lately.
type lanes struct {
	own  string
	seen map[string]int64
}

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

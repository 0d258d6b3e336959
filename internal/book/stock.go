// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// stock knows what is handed out of each pool. It owns the tally of each pool's entry, and which
// records hand a block back. It reads the records, and shapes from the entries and what other providers
// use from foreigners; ages tells it which
// are too new.
type stock struct {
	records *records.Table
	spaces  *spaces
	pools   *pools
	foreign *foreigners
	ages    *ages
	on      Listener
}

// tally is what is handed out of one pool.
type tally struct {
	allocated, delegated, cooling ipspace.Count
	// released are the records that cool down.
	released map[records.Handle]struct{}
	// leaving are the records that somebody has marked for deletion.
	leaving map[records.Handle]struct{}
	// withMembers are the blocks that members may use; nil before the first.
	withMembers map[records.Handle]struct{}
	// unstored are the records whose object nobody has seen, by its namespace.
	unstored map[string]map[records.Handle]struct{}
	// unavailable is how much of the pool's usable space its records take.
	unavailable ipspace.Count
	// records is how many there are; claims and children are how many prefixes they hold: of records that hold the very same, as those of a
	// create that is tried again, one counts.
	records, claims, children int32
	// held is how many of its records are holds.
	held int32
	// states are how many there are in each state.
	states map[ipamv1.AllocationState]int
	// spaces are how many there are in each address space, but for what is retained: an earlier pool of the name may have handed out in
	// another one.
	spaces map[string]int
}

func newTally() tally {
	return tally{
		released: map[records.Handle]struct{}{}, leaving: map[records.Handle]struct{}{}, states: map[ipamv1.AllocationState]int{},
		spaces: map[string]int{},
	}
}

// elsewhere returns the address spaces other than this one in which something of the pool is held, ascending.
func (t *tally) elsewhere(space string) []string {
	var found []string
	for other, held := range t.spaces {
		if held > 0 && other != space {
			found = append(found, other)
		}
	}
	slices.Sort(found)
	return found
}

// add takes a record in, drop takes it out again. The sums are the stock's.
func (t *tally) add(r *records.Record) {
	t.records++
	t.states[stateOf(r)]++
	if holds(r) {
		t.held++
	}
	if r.Released() {
		t.released[r.Handle] = struct{}{}
	}
	if stateOf(r) != ipamv1.RetainedState {
		t.spaces[r.Space]++
	}
	if r.Terminating {
		t.leaving[r.Handle] = struct{}{}
	}
	if isWithMember(r) {
		if t.withMembers == nil {
			t.withMembers = map[records.Handle]struct{}{}
		}
		t.withMembers[r.Handle] = struct{}{}
	}
	t.noteUnstored(r)
}

func (t *tally) drop(r *records.Record) {
	t.records--
	t.states[stateOf(r)]--
	if holds(r) {
		t.held--
	}
	if stateOf(r) != ipamv1.RetainedState {
		t.spaces[r.Space]--
	}
	delete(t.released, r.Handle)
	delete(t.leaving, r.Handle)
	delete(t.withMembers, r.Handle)
	t.forgetUnstored(r)
}

// sums returns the sum of addresses and the number of prefixes that a record counts in.
func (t *tally) sums(r *records.Record) (*ipspace.Count, *int32) {
	switch {
	case r.Purpose == records.ForChildPool:
		return &t.delegated, &t.children
	case r.Released():
		return &t.cooling, &t.claims
	default:
		return &t.allocated, &t.claims
	}
}

// noteUnstored keeps the pool's list of records up to date whose object nobody has seen.
func (t *tally) noteUnstored(r *records.Record) {
	if !awaitsObject(r) || r.Purpose == records.ForMoved {
		return
	}
	if t.unstored == nil {
		t.unstored = map[string]map[records.Handle]struct{}{}
	}
	if t.unstored[r.Claim.Namespace] == nil {
		t.unstored[r.Claim.Namespace] = map[records.Handle]struct{}{}
	}
	t.unstored[r.Claim.Namespace][r.Handle] = struct{}{}
}

func (t *tally) forgetUnstored(r *records.Record) {
	delete(t.unstored[r.Claim.Namespace], r.Handle)
	if len(t.unstored[r.Claim.Namespace]) == 0 {
		delete(t.unstored, r.Claim.Namespace)
	}
}

// count adds a record to its pool's sums, uncount takes it out again. A root pool's own blocks, and
// what it has handed back, count as neither allocated nor delegated.
func (b *stock) count(r *records.Record) {
	switch {
	case isHandBack(r):
		b.spaces.of(r.Space).handBacks[r.Handle] = struct{}{}
		b.noteHandBack(r)
	case r.Purpose == records.ForEnded:
		b.on.PoolChanged(r.Pool)
	}
	if isOwn(r) {
		return
	}
	e := b.pools.of(r.Pool)
	b.on.PoolChanged(e.ref)
	e.tally.add(r)
	sum, number := e.tally.sums(r)
	isTaken, isCounted := b.twinsOf(e, r)
	if !isCounted {
		*sum, *number = sum.Add(ipspace.PrefixSize(r.CIDR)), *number+1
	}
	if e.pool != nil && !isTaken {
		e.tally.unavailable = e.tally.unavailable.Add(e.pool.Shape.UsableIn(r.CIDR))
	}
}

// twinsOf reports whether another record of the pool holds the very same prefix, and whether one of those counts in the same sum.
func (b *stock) twinsOf(e *poolEntry, r *records.Record) (isTaken, isCounted bool) {
	counts, _ := e.tally.sums(r)
	for h := range b.spaces.of(r.Space).taken.At(r.CIDR) {
		if h == r.Handle || !b.isOf(e, h) {
			continue
		}
		sum, _ := e.tally.sums(b.records.Get(h))
		isTaken, isCounted = true, isCounted || sum == counts
	}
	return isTaken, isCounted
}

// isOf reports whether a handle is that of a record of the pool, other than of its own blocks.
func (b *stock) isOf(e *poolEntry, h records.Handle) bool {
	s := b.records.Terms(h)
	return s.Role == records.Stored && s.Pool == e.ref && !isPoolsOwn(s.Purpose)
}

// noteHandBack has the pools looked at whose hand-back comes, changes or goes: the one that it names, and
// those that have its block now.
func (b *stock) noteHandBack(r *records.Record) {
	b.on.PoolChanged(r.Pool)
	for _, other := range b.spaces.overlapping(r.Space, r.CIDR) {
		if other.Purpose == records.ForRoot {
			b.on.PoolChanged(other.Pool)
		}
	}
}

func (b *stock) uncount(r *records.Record) {
	switch {
	case isHandBack(r):
		delete(b.spaces.of(r.Space).handBacks, r.Handle)
		b.noteHandBack(r)
	case r.Purpose == records.ForEnded:
		b.on.PoolChanged(r.Pool)
	}
	if isOwn(r) {
		return
	}
	e := b.pools.of(r.Pool)
	b.on.PoolChanged(e.ref)
	e.tally.drop(r)
	sum, number := e.tally.sums(r)
	isTaken, isCounted := b.twinsOf(e, r)
	if !isCounted {
		*sum, *number = sum.Sub(ipspace.PrefixSize(r.CIDR)), *number-1
	}
	if e.pool != nil && !isTaken {
		e.tally.unavailable = e.tally.unavailable.Sub(e.pool.Shape.UsableIn(r.CIDR))
	}
}

// recount works out anew how much of the usable space is taken, for a new shape.
func (b *stock) recount(e *poolEntry) {
	e.tally.unavailable = ipspace.Count{}
	for _, h := range b.recordsOf(e) {
		if b.isFirst(e, h) {
			e.tally.unavailable = e.tally.unavailable.Add(e.pool.Shape.UsableIn(b.records.CIDR(h)))
		}
	}
}

// isFirst reports whether a record has the lowest handle of those of the pool that hold its prefix.
func (b *stock) isFirst(e *poolEntry, first records.Handle) bool {
	r := b.records.Get(first)
	for h := range b.spaces.of(r.Space).taken.At(r.CIDR) {
		if h < first && b.isOf(e, h) {
			return false
		}
	}
	return true
}

// recordsOf returns what is handed out of the pool, in no order. It reads the records inside the
// pool's blocks, of an external pool those of its address space, and all records only if some lie
// outside (the pool shrank while an allocation was under way).
func (b *stock) recordsOf(e *poolEntry) []records.Handle {
	found := make([]records.Handle, 0, e.tally.records)
	if e.pool != nil {
		s := b.spaces.of(e.pool.Space)
		for _, block := range e.pool.Shape.Cover() {
			for p, h := range s.taken.Overlapping(block) {
				if b.isOf(e, h) && p.Bits() >= block.Bits() {
					found = append(found, h)
				}
			}
		}
	}
	if len(found) == int(e.tally.records) {
		return found
	}
	found = found[:0]
	for h := range b.records.All() {
		if b.isOf(e, h) {
			found = append(found, h)
		}
	}
	return found
}

// stateOf returns what a record's IPAllocation says in spec.state.
func stateOf(r *records.Record) ipamv1.AllocationState {
	switch {
	case r.Released() && r.Retained:
		return ipamv1.RetainedState
	case r.Released():
		return ipamv1.CoolingState
	case r.Purpose == records.ForMoved:
		return ipamv1.MovedState
	case r.Confirmed:
		return ipamv1.ConfirmedState
	}
	return ipamv1.ActiveState
}

// States returns how many records of the pool there are in each state, its own blocks not counted. A state without records may be missing.
func (b *stock) States(ref ipamv1.PoolReference) map[ipamv1.AllocationState]int {
	e, ok := b.pools.find(ref)
	if !ok {
		return nil
	}
	return maps.Clone(e.tally.states)
}

// Holdings returns, by prefix, what is handed out of the pool.
func (b *stock) Holdings(ref ipamv1.PoolReference) []Holding {
	e, ok := b.pools.find(ref)
	if !ok {
		return nil
	}
	records := b.recordsOf(e)
	holdings := make([]Holding, 0, len(records))
	for _, h := range records {
		holdings = append(holdings, HoldingOf(b.records.Get(h)))
	}
	return SortHoldings(holdings)
}

// Cooling returns, in no order, what cools down in the pool.
func (b *stock) Cooling(ref ipamv1.PoolReference) []Holding {
	e, ok := b.pools.find(ref)
	if !ok {
		return nil
	}
	found := make([]Holding, 0, len(e.tally.released))
	for h := range e.tally.released {
		if r := b.records.Get(h); !r.Deleted {
			found = append(found, b.ages.holdingOf(r))
		}
	}
	return found
}

// Cools says whether a prefix cools down when it is released, as far as the book knows. What the
// pool keeps for the very claim, by its name or its alias, nobody else gets, so that need not.
func (b *stock) Cools(h Holding) bool {
	e, ok := b.pools.find(h.Pool)
	if !ok || e.pool == nil {
		return true
	}
	own, isKept := e.pool.Shape.KeptFor(h.Names()...)
	return e.pool.Cooldown > 0 && (!isKept || own != h.CIDR)
}

// WithMembers returns the blocks of a pool that members may use, by prefix. What may belong to a pool
// that is just being admitted is not among them. The cost grows with their number.
func (b *stock) WithMembers(pool ipamv1.PoolReference) []Holding {
	e, ok := b.pools.find(pool)
	if !ok {
		return nil
	}
	var found []Holding
	for h := range e.tally.withMembers {
		if r := b.records.Get(h); !r.Deleted && !b.ages.isPending(r) {
			found = append(found, b.ages.holdingOf(r))
		}
	}
	return SortHoldings(found)
}

// Leaving returns what is to go out of a pool, in no order: what is marked for deletion because it moves
// away, is held for what has moved, is a block that a member may use, or cools down in another
// namespace than the pool's. What lives beside the pool moves with it, unless its claim has moved
// without the pool.
func (b *stock) Leaving(pool ipamv1.PoolReference) []Holding {
	e, ok := b.pools.find(pool)
	if !ok {
		return nil
	}
	found := make([]Holding, 0, len(e.tally.leaving))
	for marked := range e.tally.leaving {
		r := b.records.Get(marked)
		if !r.Deleted && (r.Leaves || r.Purpose == records.ForMoved || isWithMember(r) || coolsElsewhere(r)) {
			found = append(found, b.ages.holdingOf(r))
		}
	}
	return found
}

// coolsElsewhere says whether the record cools down in a namespace that may end before its pool.
func coolsElsewhere(r *records.Record) bool {
	return r.Released() && !r.Retained && r.Key.Namespace != r.Pool.Namespace
}

// Returned returns what may be back of what is held in a pool.
func (b *stock) Returned(pool ipamv1.PoolReference) []Return {
	e, ok := b.pools.find(pool)
	if !ok {
		return nil
	}
	var found []Return
	for released := range e.tally.released {
		back := b.records.Get(released)
		if !back.Retained || back.Terminating || back.Deleted {
			continue
		}
		for _, r := range b.records.Of(records.ClaimantOf(back.Claim)) {
			if r.Purpose == records.ForMoved && r.Pool == pool && r.CIDR == back.CIDR && !r.Released() && !r.Terminating && !r.Deleted {
				found = append(found, Return{Back: HoldingOf(back), Hold: HoldingOf(r)})
			}
		}
	}
	return found
}

// isUnstored says whether nothing has shown yet that the record's object was stored.
func (b *stock) isUnstored(r *records.Record) bool {
	_, ok := b.pools.of(r.Pool).tally.unstored[r.Claim.Namespace][r.Handle]
	return ok
}

// Stored notes that there is, or was, an object of Weir's own kinds of that UID. It only saves
// others from waiting: nothing is told by it that a live read does not prove.
func (b *stock) Stored(claim ipamv1.ClaimReference) {
	for _, r := range b.records.Of(records.ClaimantOf(claim)) {
		if r.Claim.UID == claim.UID {
			b.pools.of(r.Pool).tally.forgetUnstored(r)
		}
	}
}

// Unstored returns how many prefixes of the pool are recorded for objects of that namespace ("" for
// cluster-wide ones), and of all namespaces, that nobody has seen stored: their creates are under
// way, or were refused after Weir had been asked.
func (b *stock) Unstored(pool ipamv1.PoolReference, namespace string) (own, all int) {
	e, ok := b.pools.find(pool)
	if !ok {
		return 0, 0
	}
	for _, handles := range e.tally.unstored {
		all += len(handles)
	}
	return len(e.tally.unstored[namespace]), all
}

// NextOverdue returns when, from now, the grace of a record is over that nobody has seen the object
// of; false if there is none. Records that are overdue already do not count.
func (b *stock) NextOverdue() (in time.Duration, ok bool) {
	first := int64(0)
	for _, e := range b.pools.entries {
		for _, handles := range e.tally.unstored {
			for h := range handles {
				if end := b.ages.endOfGrace(b.records.Get(h).Seen); end > b.ages.now() && (first == 0 || end < first) {
					first = end
				}
			}
		}
	}
	return time.Duration(first-b.ages.now()) * time.Second, first != 0
}

// HandedBackIn returns, by prefix, what was handed back of a block by pools of whatever name. The cost
// grows with all that was handed back of the address space.
func (b *stock) HandedBackIn(space string, block netip.Prefix) []Holding {
	var found []*records.Record
	for h := range b.spaces.of(space).handBacks {
		if b.records.CIDR(h).Overlaps(block) {
			found = append(found, b.records.Get(h))
		}
	}
	return SortHoldings(HoldingsOf(found))
}

// Elsewhere returns the address spaces other than the registered pool's in which claims of an earlier pool of its name hold something, ascending.
// Of floating IPs there are none: the cloud decides what the pool has.
func (b *stock) Elsewhere(ref ipamv1.PoolReference) []string {
	e, ok := b.pools.find(ref)
	if !ok || e.pool == nil || e.pool.Shape.IsExternal() {
		return nil
	}
	return e.tally.elsewhere(e.pool.Space)
}

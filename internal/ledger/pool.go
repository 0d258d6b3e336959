// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// Roles of what makes a prefix unavailable and is no record.
const (
	// tentative: a choice of this process, of which no record has come yet.
	tentative = records.Stored + 1 + iota
	// promised: proposed to an object under admission.
	promised
	// excluded: the pool never hands it out, kept: it does to one claim only.
	excluded
	kept
)

// request is what to look for in a pool.
type request = allocator.Request[records.Handle]

// poolEntry is what the index knows of one pool: its records' sums always, its shape once the pool is registered.
type poolEntry struct {
	ref  ipamv1.PoolReference
	pool *Pool
	// serving are the pool's blocks, ascending, once the ledger has confirmed every one of them; empty before.
	serving []netip.Prefix
	// ready is closed when the pool begins to serve; nil where nobody waits for that.
	ready chan struct{}
	// exclusions keep from being chosen what the pool never hands out, and what it hands out to one claim only.
	exclusions []records.Handle
	// history is what a pool that reuses the least recently used remembers; nil for any other.
	history *history

	allocated, delegated, cooling ipspace.Count
	// released are the records that cool down.
	released map[records.Handle]struct{}
	// leaving are the records that somebody has marked for deletion.
	leaving map[records.Handle]struct{}
	// unstored are the records whose object nobody has seen, by its namespace.
	unstored map[string]map[records.Handle]struct{}
	// unavailable is how much of the pool's usable space its records take.
	unavailable ipspace.Count
	claims      int32
	children    int32
	// held is how many of its records are holds.
	held int32
	// suspected is when this process last saw another manager record something, by index.now.
	suspected int64
	// crowded is when this process last saw that several ask the pool at once, by index.now, and chosen what it took last in
	// such a crowd, beyond what was free for others.
	crowded int64
	chosen  netip.Prefix
}

func (x *index) poolOf(ref ipamv1.PoolReference) *poolEntry {
	e, ok := x.pools[ref]
	if !ok {
		e = &poolEntry{ref: ref, released: map[records.Handle]struct{}{}, leaving: map[records.Handle]struct{}{}}
		x.pools[ref] = e
	}
	return e
}

// setPool registers a pool or what it has become: a new shape counts as another one, even if it looks the same. Its blocks serve
// once they are confirmed.
func (x *index) setPool(p Pool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.poolOf(p.Ref)
	if e.pool != nil && *e.pool == p {
		return
	}
	x.lift(e)
	e.pool = &p
	x.beginHistory(e)
	for _, block := range p.Shape.Blocks() {
		x.spaceOf(p.Space).taken.Forget(block)
	}
	x.recount(e)
	x.serve(e)
}

// exclude keeps from being chosen what the pool never hands out, and what it hands out to one claim only.
func (x *index) exclude(e *poolEntry) {
	for _, prefix := range e.pool.Shape.Excluded() {
		x.excludeAs(excluded, e, prefix)
	}
	for _, k := range e.pool.Shape.Kept() {
		x.excludeAs(kept, e, k.Prefix)
	}
}

func (x *index) excludeAs(role records.Role, e *poolEntry, prefix netip.Prefix) {
	r := &records.Record{Role: role, CIDR: prefix, Space: e.pool.Space, Pool: e.ref}
	x.keepOut(r)
	e.exclusions = append(e.exclusions, r.Handle)
	x.changedBelow(r)
}

// keepOut makes a prefix unavailable for a reason that is no record; letIn ends that.
func (x *index) keepOut(r *records.Record) {
	x.records.Insert(r)
	x.spaceOf(r.Space).taken.Insert(r.CIDR, r.Handle)
}

func (x *index) letIn(r *records.Record) {
	x.spaceOf(r.Space).taken.Remove(r.CIDR, r.Handle)
	x.unlearn(r)
	x.records.Remove(r.Handle)
	r.Handle = 0
}

// dropPool forgets the shape of a pool; its records stay taken.
func (x *index) dropPool(ref ipamv1.PoolReference) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.poolOf(ref)
	x.lift(e)
	x.endHistory(e)
	e.pool, e.serving = nil, nil
	if e.claims == 0 && e.children == 0 {
		delete(x.pools, ref)
	}
}

// lift takes a pool's exclusions out of its address space.
func (x *index) lift(e *poolEntry) {
	for _, h := range e.exclusions {
		r := x.records.Get(h)
		x.letIn(r)
		x.changedBelow(r)
	}
	e.exclusions = nil
}

// excludeIn does so within blocks, which are not all that the pool is to have.
func (x *index) excludeIn(e *poolEntry, blocks *netipx.IPSet) {
	var builder netipx.IPSetBuilder
	for _, prefix := range e.pool.Shape.Excluded() {
		builder.AddPrefix(prefix)
	}
	builder.Intersect(blocks)
	within, _ := builder.IPSet() // errs for invalid prefixes only
	for _, prefix := range within.Prefixes() {
		x.excludeAs(excluded, e, prefix)
	}
	for _, k := range e.pool.Shape.Kept() {
		if blocks.ContainsPrefix(k.Prefix) {
			x.excludeAs(kept, e, k.Prefix)
		}
	}
}

// blocksHad returns the confirmed blocks of this very pool, also those that it is not to have any more.
func (x *index) blocksHad(e *poolEntry) *netipx.IPSet {
	var builder netipx.IPSetBuilder
	for _, r := range x.records.Of(records.ClaimantOf(ClaimOf(e.ref, string(e.pool.UID)))) {
		if isBlockOf(r, e.ref) && r.Claim.UID == string(e.pool.UID) && r.Confirmed && !r.Released() {
			builder.AddPrefix(r.CIDR)
		}
	}
	had, _ := builder.IPSet()
	return had
}

// serve lets the pool hand out addresses if all its blocks are confirmed, and tells who waits for room. A pool that has lost
// one of its blocks to another, or that has not all that its spec says yet, serves nothing, and excludes only what lies in blocks that it
// has: pools that were carved from those go on handing out.
func (x *index) serve(e *poolEntry) {
	x.lift(e)
	e.serving = nil
	if e.pool == nil {
		return
	}
	blocks := e.pool.Shape.Blocks()
	for _, block := range blocks {
		if r := x.blockRecord(*e.pool, block); r == nil || !r.Confirmed {
			if e.children > 0 {
				x.excludeIn(e, x.blocksHad(e))
			}
			return
		}
	}
	e.serving = blocks
	x.exclude(e)
	if e.ready != nil {
		close(e.ready)
		e.ready = nil
	}
	x.on.poolFreed(e.ref)
}

// reblock is called when a block of some pool was confirmed or went away. One that the pool is not to have any more counts as long as it
// does not have all the others.
func (x *index) reblock(r *records.Record) {
	if e, ok := x.pools[r.Claim.Pool()]; ok && e.pool != nil && (len(e.serving) == 0 || slices.Contains(e.pool.Shape.Blocks(), r.CIDR)) {
		x.serve(e)
	}
}

// blockRecord returns the record of one block of this very pool (by UID), or nil. Of two, the confirmed one.
func (x *index) blockRecord(p Pool, block netip.Prefix) *records.Record {
	var found *records.Record
	for h := range x.spaceOf(p.Space).taken.At(block) {
		r := x.records.Get(h)
		if isBlockOf(r, p.Ref) && !r.Released() && r.Claim.UID == string(p.UID) && (found == nil || r.Confirmed) {
			found = r
		}
	}
	return found
}

// count adds a record to its pool's sums, uncount takes it out again. A root pool's own blocks count as neither allocated
// nor delegated.
func (x *index) count(r *records.Record) {
	if isOwnBlock(r) {
		return
	}
	e, size := x.poolOf(r.Pool), ipspace.PrefixSize(r.CIDR)
	x.on.poolChanged(e.ref)
	sum, number := e.sums(r)
	*sum, *number = sum.Add(size), *number+1
	if holds(r) {
		e.held++
	}
	if r.Released() {
		e.released[r.Handle] = struct{}{}
	}
	if r.Terminating {
		e.leaving[r.Handle] = struct{}{}
	}
	e.noteUnstored(r)
	if e.pool != nil {
		e.unavailable = e.unavailable.Add(e.pool.Shape.UsableIn(r.CIDR))
	}
}

func (x *index) uncount(r *records.Record) {
	if isOwnBlock(r) {
		return
	}
	e, size := x.poolOf(r.Pool), ipspace.PrefixSize(r.CIDR)
	x.on.poolChanged(e.ref)
	sum, number := e.sums(r)
	*sum, *number = sum.Sub(size), *number-1
	if holds(r) {
		e.held--
	}
	delete(e.released, r.Handle)
	delete(e.leaving, r.Handle)
	e.forgetUnstored(r)
	if e.pool != nil {
		e.unavailable = e.unavailable.Sub(e.pool.Shape.UsableIn(r.CIDR))
	}
}

// sums returns the sum of addresses and the number of records that a record counts in.
func (e *poolEntry) sums(r *records.Record) (*ipspace.Count, *int32) {
	switch {
	case r.Purpose == ipamv1.ChildPoolPurpose:
		return &e.delegated, &e.children
	case r.Released():
		return &e.cooling, &e.claims
	default:
		return &e.allocated, &e.claims
	}
}

// recount works out anew how much of the usable space is taken, for a new shape.
func (x *index) recount(e *poolEntry) {
	e.unavailable = ipspace.Count{}
	for _, h := range x.recordsOf(e) {
		e.unavailable = e.unavailable.Add(e.pool.Shape.UsableIn(x.records.CIDR(h)))
	}
}

// recordsOf returns what is handed out of the pool, in no order. It reads the records inside the pool's blocks, and all
// records only if some lie outside (the pool shrank while an allocation was under way).
func (x *index) recordsOf(e *poolEntry) []records.Handle {
	found := make([]records.Handle, 0, e.claims+e.children)
	belongs := func(h records.Handle) bool {
		s := x.records.Terms(h)
		return s.Role == records.Stored && s.Pool == e.ref && s.Purpose != ipamv1.RootPurpose
	}
	if e.pool != nil {
		s := x.spaceOf(e.pool.Space)
		for _, block := range e.pool.Shape.Blocks() {
			for p, h := range s.taken.Overlapping(block) {
				if belongs(h) && p.Bits() >= block.Bits() {
					found = append(found, h)
				}
			}
		}
	}
	if len(found) == int(e.claims+e.children) {
		return found
	}
	found = found[:0]
	for h := range x.records.All() {
		if belongs(h) {
			found = append(found, h)
		}
	}
	return found
}

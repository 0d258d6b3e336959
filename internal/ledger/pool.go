// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"slices"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// request is what to look for in a pool.
type request = allocator.Request[handle]

// poolEntry is what the index knows of one pool: its records' sums always, its shape once the pool is registered.
type poolEntry struct {
	ref  ipamv1.PoolReference
	pool *Pool
	// serving are the pool's blocks, ascending, once the ledger has confirmed every one of them; empty before.
	serving []netip.Prefix
	// ready is closed when the pool begins to serve; nil where nobody waits for that.
	ready chan struct{}
	// exclusions keep from being chosen what the pool never hands out, and what it hands out to one claim only.
	exclusions []handle
	// history is what a pool that reuses the least recently used remembers; nil for any other.
	history *history

	allocated, delegated, cooling ipspace.Count
	// released are the records that cool down.
	released map[handle]struct{}
	// leaving are the records that somebody has marked for deletion.
	leaving map[handle]struct{}
	// unstored are the records whose object nobody has seen, by its namespace.
	unstored map[string]map[handle]struct{}
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
		e = &poolEntry{ref: ref, released: map[handle]struct{}{}, leaving: map[handle]struct{}{}}
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

func (x *index) excludeAs(role roleOf, e *poolEntry, prefix netip.Prefix) {
	r := &record{role: role, cidr: prefix, space: x.spaceOf(e.pool.Space), pool: e}
	x.keepOut(r)
	e.exclusions = append(e.exclusions, r.handle)
	x.changedBelow(r)
}

// keepOut makes a prefix unavailable for a reason that is no record; letIn ends that.
func (x *index) keepOut(r *record) {
	x.records.insert(r)
	r.space.taken.Insert(r.cidr, r.handle)
}

func (x *index) letIn(r *record) {
	r.space.taken.Remove(r.cidr, r.handle)
	x.unlearn(r)
	x.records.remove(r.handle)
	r.handle = 0
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
		r := x.records.get(h)
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
	for _, r := range x.records.of(keyOf(ClaimOf(e.ref, string(e.pool.UID)))) {
		if r.isBlockOf(e.ref) && r.claim.UID == string(e.pool.UID) && r.confirmed && !r.released() {
			builder.AddPrefix(r.cidr)
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
		if r := x.blockRecord(*e.pool, block); r == nil || !r.confirmed {
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
func (x *index) reblock(r *record) {
	if e, ok := x.pools[r.owner()]; ok && e.pool != nil && (len(e.serving) == 0 || slices.Contains(e.pool.Shape.Blocks(), r.cidr)) {
		x.serve(e)
	}
}

// blockRecord returns the record of one block of this very pool (by UID), or nil. Of two, the confirmed one.
func (x *index) blockRecord(p Pool, block netip.Prefix) *record {
	var found *record
	for h := range x.spaceOf(p.Space).taken.At(block) {
		r := x.records.get(h)
		if r.isBlockOf(p.Ref) && !r.released() && r.claim.UID == string(p.UID) && (found == nil || r.confirmed) {
			found = r
		}
	}
	return found
}

// count adds a record to its pool's sums, uncount takes it out again. A root pool's own blocks count as neither allocated
// nor delegated.
func (x *index) count(r *record) {
	if r.isOwnBlock() {
		return
	}
	e, size := r.pool, ipspace.PrefixSize(r.cidr)
	x.on.poolChanged(e.ref)
	sum, number := e.sums(r)
	*sum, *number = sum.Add(size), *number+1
	if r.holds() {
		e.held++
	}
	if r.released() {
		e.released[r.handle] = struct{}{}
	}
	if r.terminating {
		e.leaving[r.handle] = struct{}{}
	}
	e.noteUnstored(r)
	if e.pool != nil {
		e.unavailable = e.unavailable.Add(e.pool.Shape.UsableIn(r.cidr))
	}
}

func (x *index) uncount(r *record) {
	if r.isOwnBlock() {
		return
	}
	e, size := r.pool, ipspace.PrefixSize(r.cidr)
	x.on.poolChanged(e.ref)
	sum, number := e.sums(r)
	*sum, *number = sum.Sub(size), *number-1
	if r.holds() {
		e.held--
	}
	delete(e.released, r.handle)
	delete(e.leaving, r.handle)
	e.forgetUnstored(r)
	if e.pool != nil {
		e.unavailable = e.unavailable.Sub(e.pool.Shape.UsableIn(r.cidr))
	}
}

// sums returns the sum of addresses and the number of records that a record counts in.
func (e *poolEntry) sums(r *record) (*ipspace.Count, *int32) {
	switch {
	case r.purpose == ipamv1.ChildPoolPurpose:
		return &e.delegated, &e.children
	case r.released():
		return &e.cooling, &e.claims
	default:
		return &e.allocated, &e.claims
	}
}

// recount works out anew how much of the usable space is taken, for a new shape.
func (x *index) recount(e *poolEntry) {
	e.unavailable = ipspace.Count{}
	for _, h := range x.recordsOf(e) {
		e.unavailable = e.unavailable.Add(e.pool.Shape.UsableIn(x.records.cidr(h)))
	}
}

// recordsOf returns what is handed out of the pool, in no order. It reads the records inside the pool's blocks, and all
// records only if some lie outside (the pool shrank while an allocation was under way).
func (x *index) recordsOf(e *poolEntry) []handle {
	found := make([]handle, 0, e.claims+e.children)
	belongs := func(h handle) bool {
		s := x.records.shared(h)
		return s.role == stored && s.pool == e && s.purpose != ipamv1.RootPurpose
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
	for h := range x.records.all() {
		if belongs(h) {
			found = append(found, h)
		}
	}
	return found
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"slices"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// serving knows which pools hand out prefixes, and keeps back what they do not hand out. It owns
// the shape, blocks, exclusions and history of each pool's entry. It reads the records, has claims
// find a pool's blocks, and has the stock counted anew for a new shape.
type serving struct {
	records *records.Table
	spaces  *spaces
	claims  *claims
	pools   *pools
	stock   *stock
	on      Listener
}

// SetPool registers a pool or what it has become: a new shape counts as another one, even if it
// looks the same. Its blocks serve once they are confirmed.
func (b *serving) SetPool(p Pool) {
	e := b.pools.of(p.Ref)
	if e.pool != nil && *e.pool == p {
		return
	}
	b.lift(e)
	e.pool = &p
	b.beginHistory(e)
	for _, block := range p.Shape.Blocks() {
		b.spaces.of(p.Space).taken.Forget(block)
	}
	b.stock.recount(e)
	b.serve(e)
}

// DropPool forgets the shape of a pool; its records stay taken.
func (b *serving) DropPool(ref ipamv1.PoolReference) {
	e := b.pools.of(ref)
	b.lift(e)
	b.endHistory(e)
	e.pool, e.serving = nil, nil
	b.pools.dropUnused(e)
}

// Ready returns a channel that is closed once the pool serves.
func (b *serving) Ready(ref ipamv1.PoolReference) <-chan struct{} {
	e := b.pools.of(ref)
	if e.ready == nil {
		e.ready = make(chan struct{})
	}
	ready := e.ready
	if e.isOpen() {
		close(ready)
		e.ready = nil
	}
	return ready
}

// serve lets the pool hand out addresses if all its blocks are confirmed, and tells who waits for
// room. A pool that has lost one of its blocks to another, or that has not all that its spec says
// yet, serves nothing, and excludes only what lies in blocks that it has: pools that were carved
// from those go on handing out. Nor does one serve as long as claims of an earlier pool of its name
// hold something in another address space, which nobody who chooses in this one can see.
func (b *serving) serve(e *poolEntry) {
	b.lift(e)
	e.serving = nil
	if e.pool == nil {
		return
	}
	blocks := e.pool.Shape.Blocks()
	isMissing := func(block netip.Prefix) bool {
		r := b.blockRecord(*e.pool, block)
		return r == nil || !r.Confirmed
	}
	if slices.ContainsFunc(blocks, isMissing) || len(b.stock.Elsewhere(e.ref)) > 0 {
		if e.tally.children > 0 {
			b.excludeIn(e, b.blocksHad(e))
		}
		return
	}
	e.serving = blocks
	b.exclude(e)
	if e.ready != nil {
		close(e.ready)
		e.ready = nil
	}
	b.on.PoolFreed(e.ref)
}

// reblock is called when a block of some pool was confirmed or went away. One that the pool is not
// to have any more counts as long as it does not have all the others.
func (b *serving) reblock(r *records.Record) {
	if e, ok := b.pools.find(r.Claim.Pool()); ok && e.pool != nil && (len(e.serving) == 0 || slices.Contains(e.pool.Shape.Blocks(), r.CIDR)) {
		b.serve(e)
	}
}

// recheck looks at a pool again one of whose records, in another address space, has come, changed or gone.
func (b *serving) recheck(r *records.Record) {
	if e, ok := b.pools.find(r.Pool); ok && e.pool != nil && e.pool.Space != r.Space && !isOwn(r) {
		b.serve(e)
	}
}

// IsConfirmed says whether the block is the pool's and stays it. It is found by its prefix: a pool
// may have many.
func (b *serving) IsConfirmed(p Pool, block netip.Prefix) bool {
	r := b.blockRecord(p, block)
	return r != nil && r.Confirmed && !r.Terminating && !r.Deleted
}

// blockRecord returns the record of one block of this very pool (by UID), or nil. Of two, the
// confirmed one. A block that is recorded for a member is none of a pool that is served here: this
// may be the hub, with the member's name by mistake.
func (b *serving) blockRecord(p Pool, block netip.Prefix) *records.Record {
	var found *records.Record
	for h := range b.spaces.of(p.Space).taken.At(block) {
		r := b.records.Get(h)
		isOwn := isBlockOf(r, p.Ref) && r.Claim.UID == string(p.UID) && r.Member == p.DelegatedTo
		if isOwn && !r.Released() && (found == nil || r.Confirmed) {
			found = r
		}
	}
	return found
}

// blocksHad returns the confirmed blocks of this very pool, also those that it is not to have any
// more.
func (b *serving) blocksHad(e *poolEntry) *netipx.IPSet {
	var builder netipx.IPSetBuilder
	for _, r := range b.records.Of(records.ClaimantOf(ClaimOf(e.ref, string(e.pool.UID)))) {
		if isBlockOf(r, e.ref) && r.Claim.UID == string(e.pool.UID) && r.Confirmed && !r.Released() {
			builder.AddPrefix(r.CIDR)
		}
	}
	had, _ := builder.IPSet()
	return had
}

// exclude keeps from being chosen what the pool never hands out, and what it hands out to one claim
// only.
func (b *serving) exclude(e *poolEntry) {
	for _, prefix := range e.pool.Shape.Excluded() {
		b.excludeAs(excluded, e, prefix)
	}
	for _, k := range e.pool.Shape.Kept() {
		b.excludeAs(kept, e, k.Prefix)
	}
}

func (b *serving) excludeAs(role records.Role, e *poolEntry, prefix netip.Prefix) {
	r := &records.Record{Role: role, CIDR: prefix, Space: e.pool.Space, Pool: e.ref}
	b.pools.keepOut(r)
	e.exclusions = append(e.exclusions, r.Handle)
	b.changedBelow(r)
}

// excludeIn does so within blocks, which are not all that the pool is to have.
func (b *serving) excludeIn(e *poolEntry, blocks *netipx.IPSet) {
	var builder netipx.IPSetBuilder
	for _, prefix := range e.pool.Shape.Excluded() {
		builder.AddPrefix(prefix)
	}
	builder.Intersect(blocks)
	within, _ := builder.IPSet() // errs for invalid prefixes only
	for _, prefix := range within.Prefixes() {
		b.excludeAs(excluded, e, prefix)
	}
	for _, k := range e.pool.Shape.Kept() {
		if blocks.ContainsPrefix(k.Prefix) {
			b.excludeAs(kept, e, k.Prefix)
		}
	}
}

// lift takes a pool's exclusions out of its address space.
func (b *serving) lift(e *poolEntry) {
	for _, h := range e.exclusions {
		r := b.records.Get(h)
		b.pools.letIn(r)
		b.changedBelow(r)
	}
	e.exclusions = nil
}

// freed tells who waits for room where the record was.
func (b *serving) freed(r *records.Record) {
	b.on.PoolFreed(r.Pool)
	for _, e := range b.pools.hindered(r) {
		b.on.PoolFreed(e.ref)
	}
}

// changedBelow tells who uses a pool in whose block another one, which it was carved from, begins
// or ends to keep something back.
func (b *serving) changedBelow(r *records.Record) {
	for _, e := range b.pools.hindered(r) {
		b.on.PoolChanged(e.ref)
		b.on.PoolFreed(e.ref)
	}
}

// beginHistory begins a history of the pool, if it goes by one, in place of the one before.
func (b *serving) beginHistory(e *poolEntry) {
	b.endHistory(e)
	if e.pool.Shape.Strategy() == pooltree.LeastRecentlyUsed {
		e.history = newHistory(b.records)
		e.history.space = b.spaces.of(e.pool.Space)
		e.history.space.histories++
	}
}

// endHistory ends the history of the pool, if it has one.
func (b *serving) endHistory(e *poolEntry) {
	if e.history != nil {
		e.history.space.histories--
		e.history = nil
	}
}

// Witnesses returns what a proof may change: the confirmed blocks of the pools, or of another one
// where they have none that is known here. Nobody else changes those.
func (b *serving) Witnesses(pools map[ipamv1.PoolReference]bool) []*records.Record {
	found := make([]*records.Record, 0, len(pools))
	for pool := range pools {
		found = append(found, b.claims.confirmedOf(pool)...)
	}
	if len(found) > 0 {
		return found
	}
	return b.claims.confirmedOf(b.pools.anyServing())
}

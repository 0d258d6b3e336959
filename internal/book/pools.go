// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"slices"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Roles of what makes a prefix unavailable and is no record.
const (
	// tentative: chosen by this process for a record that is to come.
	tentative = records.Stored + 1 + iota
	// promised: proposed to an object under admission.
	promised
	// excluded: the pool never hands it out, kept: it does to one claim only.
	excluded
	kept
	// byOthers: an IPAddress of another provider names it.
	byOthers
)

// pools are the pools that are registered, or that records name. They own the entries, each section
// of which one part writes, and what makes a prefix unavailable and is no record: keepOut and letIn
// are the only ones that bring it in and out. They read the records, and lineage for which pool lies
// in which.
type pools struct {
	records *records.Table
	spaces  *spaces
	lineage *lineage
	entries map[ipamv1.PoolReference]*poolEntry
}

// poolEntry is what the book knows of one pool. What is here is serving's to write, but for what
// says otherwise.
type poolEntry struct {
	ref ipamv1.PoolReference
	// pool is nil as long as the pool is not registered.
	pool *Pool
	// serving are the pool's blocks, ascending, once the ledger has confirmed every one of them;
	// empty before.
	serving []netip.Prefix
	// ready is closed when the pool begins to serve; nil where nobody waits for that.
	ready chan struct{}
	// exclusions keep from being chosen what the pool never hands out, and what it hands out to one
	// claim only.
	exclusions []records.Handle
	// history is what a pool that reuses the least recently used remembers; nil for any other.
	history *history

	// tally is the stock's.
	tally tally
	// contest is the marks'.
	contest contest
	// chosen is what the chooser took last while several asked the pool at once, beyond what was
	// free for others.
	chosen netip.Prefix
}

// isOpen reports whether the pool hands out prefixes: it is registered, and its blocks are
// confirmed. An external pool has none to wait for.
func (e *poolEntry) isOpen() bool {
	return e.pool != nil && (e.pool.Shape.IsExternal() || len(e.serving) > 0)
}

// blocksFor returns where to look for what the claim gets. A carved pool may have a network of its
// own, so it may get what does not reach the gateway of this one.
func (e *poolEntry) blocksFor(c Claim) []netip.Prefix {
	if len(e.serving) == 0 || c.Purpose == records.ForChildPool {
		return e.serving
	}
	return e.pool.Shape.ReachingBlocks()
}

// of returns the entry of a pool, which may be a new one.
func (b *pools) of(ref ipamv1.PoolReference) *poolEntry {
	e, ok := b.entries[ref]
	if !ok {
		e = &poolEntry{ref: ref, tally: newTally()}
		b.entries[ref] = e
	}
	return e
}

// find returns the entry of a pool, if it has one.
func (b *pools) find(ref ipamv1.PoolReference) (e *poolEntry, ok bool) {
	e, ok = b.entries[ref]
	return e, ok
}

// dropUnused drops the entry of a pool that nothing is handed out of.
func (b *pools) dropUnused(e *poolEntry) {
	if e.tally.claims == 0 && e.tally.children == 0 {
		delete(b.entries, e.ref)
	}
}

// Serves says whether the pool hands out prefixes.
func (b *pools) Serves(pool ipamv1.PoolReference) bool {
	e, ok := b.entries[pool]
	return ok && e.isOpen()
}

// anyServing returns a pool that has confirmed blocks; the zero value if none has.
func (b *pools) anyServing() ipamv1.PoolReference {
	for ref, e := range b.entries {
		if len(e.serving) > 0 {
			return ref
		}
	}
	return ipamv1.PoolReference{}
}

// keepOut makes a prefix unavailable for a reason that is no record; letIn ends that.
func (b *pools) keepOut(r *records.Record) {
	b.records.Insert(r)
	b.spaces.take(r)
}

func (b *pools) letIn(r *records.Record) {
	b.spaces.free(r)
	b.unlearn(r)
	b.records.Remove(r.Handle)
	r.Handle = 0
}

// unlearn takes what is not taken any more out of what searches have come upon: those of its own
// pool, and of the pools whose blocks it lay in, or around.
func (b *pools) unlearn(r *records.Record) {
	s := b.spaces.of(r.Space)
	if s.histories == 0 {
		return
	}
	if e, ok := b.entries[r.Pool]; ok {
		e.history.forget(r)
	}
	for _, h := range s.taken.Overlapping(r.CIDR) {
		if !isBlock(b.records.Terms(h).Purpose) {
			continue
		}
		if e, ok := b.entries[b.records.Get(h).Claim.Pool()]; ok {
			e.history.forget(r)
		}
	}
}

// isWithheldAbove says whether a pool that the pool was carved from keeps back part of the prefix:
// that is handed out by none of them.
func (b *pools) isWithheldAbove(e *poolEntry, p netip.Prefix) bool {
	if !e.pool.IsCarved() {
		return false
	}
	for ref := range b.lineage.ancestors(e.ref, p) {
		if above, ok := b.entries[ref]; ok && above.pool != nil && above.pool.Shape.Withholds(p) {
			return true
		}
	}
	return false
}

// withheldAbove returns what pools that the pool was carved from keep back in its blocks, and it
// does not keep for a claim itself. The cost grows with the number of prefixes that they keep back.
func (b *pools) withheldAbove(e *poolEntry) []netip.Prefix {
	if !e.pool.IsCarved() {
		return nil
	}
	var withheld netipx.IPSetBuilder
	for _, block := range e.serving {
		for ref := range b.lineage.ancestors(e.ref, block) {
			for _, p := range b.exclusionsIn(ref, block) {
				withheld.AddPrefix(p)
			}
		}
	}
	for _, k := range e.pool.Shape.Kept() {
		withheld.RemovePrefix(k.Prefix)
	}
	set, _ := withheld.IPSet() // errs for invalid prefixes only
	return set.Prefixes()
}

// Withheld is a prefix that a pool keeps back, of one that is carved from it or from a pool below.
type Withheld struct {
	Prefix netip.Prefix
	Pool   ipamv1.PoolReference
}

// Withheld returns what the pool that the block is to be carved from keeps back in it, and what the
// pools above that do.
func (b *pools) Withheld(parent ipamv1.PoolReference, block netip.Prefix) (found []Withheld) {
	add := func(ref ipamv1.PoolReference) {
		for _, p := range b.exclusionsIn(ref, block) {
			found = append(found, Withheld{p, ref})
		}
	}
	add(parent)
	for ref := range b.lineage.ancestors(parent, block) {
		add(ref)
	}
	return found
}

// exclusionsIn returns what a pool keeps back in the block.
func (b *pools) exclusionsIn(ref ipamv1.PoolReference, block netip.Prefix) []netip.Prefix {
	e, ok := b.entries[ref]
	if !ok {
		return nil
	}
	var found []netip.Prefix
	for _, h := range e.exclusions {
		switch p := b.records.CIDR(h); {
		case !p.Overlaps(block):
		case p.Bits() < block.Bits():
			found = append(found, block)
		default:
			found = append(found, p)
		}
	}
	return found
}

// hindered returns the pools, carved from the record's own, in whose blocks it lies, or around
// which: as long as it is there they cannot hand that out. It is what their ancestor keeps back, or
// a choice that was made too late and is about to come to nothing.
func (b *pools) hindered(r *records.Record) []*poolEntry {
	if b.of(r.Pool).tally.children == 0 {
		return nil
	}
	var found []*poolEntry
	for _, h := range b.spaces.of(r.Space).taken.Overlapping(r.CIDR) {
		if b.records.Terms(h).Purpose != records.ForChildPool {
			continue
		}
		block := b.records.Get(h)
		if e, ok := b.entries[block.Claim.Pool()]; ok && e.ref != r.Pool && b.lineage.isCarvedFrom(e.ref, r.Pool, block.CIDR) {
			found = append(found, e)
		}
	}
	return found
}

// aboveAll says of entries at or above the pool's blocks whether they are meant to be there: its
// own blocks and its ancestors'.
func (b *pools) aboveAll(e *poolEntry) func(records.Handle) bool {
	return func(h records.Handle) bool {
		if isBlockAt(b.records, h, e.ref) {
			return true
		}
		if !isBlock(b.records.Terms(h).Purpose) || !e.pool.IsCarved() {
			return false
		}
		r := b.records.Get(h)
		return slices.ContainsFunc(e.serving, func(block netip.Prefix) bool { return b.lineage.isAbove(r, e.ref, block) })
	}
}

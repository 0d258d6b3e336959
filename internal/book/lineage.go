// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"iter"
	"net/netip"
	"slices"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// lineage knows which block was carved from which.
type lineage struct{ state }

// Deepest is how many pools may lie above a prefix. A deeper tree serves nothing at its end: its
// records lose against the blocks that are too far up to be known as ancestors.
const Deepest = 128

// ClaimOf is how the records of a pool's own blocks name the pool.
func ClaimOf(pool ipamv1.PoolReference, uid string) ipamv1.ClaimReference {
	kind := pool.GroupKind()
	return ipamv1.ClaimReference{APIGroup: kind.Group, Kind: kind.Kind, Namespace: pool.Namespace, Name: pool.Name, UID: uid}
}

// isAbove says whether block is a block of the pool, or a block around p of one that the pool was
// carved from, directly or not: it is meant to overlap what the pool hands out at p. Who carved
// what from whom is read from the blocks' records alone, which have one order with the records that
// are judged; what the pools' specs say may be of another time.
func (b *lineage) isAbove(block *records.Record, pool ipamv1.PoolReference, p netip.Prefix) bool {
	if isBlockOf(block, pool) {
		return true
	}
	around := isBlockOf(block, block.Claim.Pool()) && block.CIDR.Bits() <= p.Bits() && block.CIDR.Contains(p.Addr())
	return around && b.isCarvedFrom(pool, block.Claim.Pool(), p)
}

// isCarvedFrom says whether the pool's block around p was carved from the other pool, directly or
// not.
func (b *lineage) isCarvedFrom(pool, other ipamv1.PoolReference, p netip.Prefix) bool {
	for ancestor := range b.ancestors(pool, p) {
		if ancestor == other {
			return true
		}
	}
	return false
}

// ancestors yields the pools that the pool's block around p was carved from, the next one first.
func (b *lineage) ancestors(pool ipamv1.PoolReference, p netip.Prefix) iter.Seq[ipamv1.PoolReference] {
	return func(yield func(ipamv1.PoolReference) bool) {
		for range Deepest {
			parent, ok := b.carvedFrom(pool, p)
			if !ok || !yield(parent) {
				return
			}
			pool = parent
		}
	}
}

// carvedFrom returns the pool that the pool's block around p was carved from, if it was carved and
// not brought in as a root.
func (b *lineage) carvedFrom(pool ipamv1.PoolReference, p netip.Prefix) (parent ipamv1.PoolReference, ok bool) {
	for _, r := range b.records.OfPurpose(records.ClaimantOf(ClaimOf(pool, "")), records.ForChildPool) {
		if !r.Released() && r.CIDR.Bits() <= p.Bits() && r.CIDR.Contains(p.Addr()) {
			return r.Pool, true
		}
	}
	return ipamv1.PoolReference{}, false
}

// isRooted says whether the blocks around p lead from the pool up to a root's.
func (b *lineage) isRooted(pool ipamv1.PoolReference, p netip.Prefix) bool {
	for range Deepest {
		for _, r := range b.records.Of(records.ClaimantOf(ClaimOf(pool, ""))) {
			if r.Purpose == records.ForRoot && r.CIDR.Bits() <= p.Bits() && r.CIDR.Contains(p.Addr()) {
				return true
			}
		}
		parent, ok := b.carvedFrom(pool, p)
		if !ok {
			return false
		}
		pool = parent
	}
	return false
}

// isWithheldAbove says whether a pool that the pool was carved from keeps back part of the prefix:
// that is handed out by none of them.
func (b *lineage) isWithheldAbove(e *poolEntry, p netip.Prefix) bool {
	if !e.pool.IsCarved() {
		return false
	}
	for ref := range b.ancestors(e.ref, p) {
		if above, ok := b.pools[ref]; ok && above.pool != nil && above.pool.Shape.Withholds(p) {
			return true
		}
	}
	return false
}

// withheldAbove returns what pools that the pool was carved from keep back in its blocks, and it
// does not keep for a claim itself. The cost grows with the number of prefixes that they keep back.
func (b *lineage) withheldAbove(e *poolEntry) []netip.Prefix {
	if !e.pool.IsCarved() {
		return nil
	}
	var withheld netipx.IPSetBuilder
	for _, block := range e.serving {
		for ref := range b.ancestors(e.ref, block) {
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
func (b *lineage) Withheld(parent ipamv1.PoolReference, block netip.Prefix) (found []Withheld) {
	add := func(ref ipamv1.PoolReference) {
		for _, p := range b.exclusionsIn(ref, block) {
			found = append(found, Withheld{p, ref})
		}
	}
	add(parent)
	for ref := range b.ancestors(parent, block) {
		add(ref)
	}
	return found
}

// exclusionsIn returns what a pool keeps back in the block.
func (b *lineage) exclusionsIn(ref ipamv1.PoolReference, block netip.Prefix) []netip.Prefix {
	e, ok := b.pools[ref]
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
func (b *lineage) hindered(r *records.Record) []*poolEntry {
	if b.poolOf(r.Pool).children == 0 {
		return nil
	}
	var found []*poolEntry
	for _, h := range b.spaceOf(r.Space).taken.Overlapping(r.CIDR) {
		if b.records.Terms(h).Purpose != records.ForChildPool {
			continue
		}
		block := b.records.Get(h)
		if e, ok := b.pools[block.Claim.Pool()]; ok && e.ref != r.Pool && b.isCarvedFrom(e.ref, r.Pool, block.CIDR) {
			found = append(found, e)
		}
	}
	return found
}

// aboveAll says of entries at or above the pool's blocks whether they are meant to be there: its
// own blocks and its ancestors'.
func (b *lineage) aboveAll(e *poolEntry) func(records.Handle) bool {
	return func(h records.Handle) bool {
		if isBlockAt(b.records, h, e.ref) {
			return true
		}
		if !isBlock(b.records.Terms(h).Purpose) || !e.pool.IsCarved() {
			return false
		}
		r := b.records.Get(h)
		return slices.ContainsFunc(e.serving, func(block netip.Prefix) bool { return b.isAbove(r, e.ref, block) })
	}
}

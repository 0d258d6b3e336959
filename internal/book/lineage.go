// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"iter"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// lineage knows which block was carved from which, and so which of two records wins. It owns
// nothing: it reads the records, and what of them overlaps.
type lineage struct {
	records *records.Table
	spaces  *spaces
}

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

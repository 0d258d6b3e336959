// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"slices"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// deepest is how many pools may lie above a prefix. A deeper tree serves nothing at its end: its records lose against the
// blocks that are too far up to be known as ancestors.
const deepest = 128

// isAbove says whether block is a block of the pool, or a block around p of one that the pool was carved from, directly or not:
// it is meant to overlap what the pool hands out at p. Who carved what from whom is read from the blocks' records alone, which have one order with
// the records that are judged; what the pools' specs say may be of another time.
func (x *index) isAbove(block *record, pool ipamv1.PoolReference, p netip.Prefix) bool {
	if block.isBlockOf(pool) {
		return true
	}
	if !block.isBlock() || block.cidr.Bits() > p.Bits() || !block.cidr.Contains(p.Addr()) {
		return false
	}
	for range deepest {
		parent, ok := x.carvedFrom(pool, p)
		if !ok || block.isBlockOf(parent) {
			return ok
		}
		pool = parent
	}
	return false
}

// aboveAll says of entries at or above the pool's blocks whether they are meant to be there: its own blocks and its ancestors'.
func (x *index) aboveAll(e *poolEntry) func(handle) bool {
	return func(h handle) bool {
		if x.records.isBlockOf(h, e.ref) {
			return true
		}
		if !x.records.shared(h).isBlock() || !e.pool.IsCarved() {
			return false
		}
		r := x.records.get(h)
		return slices.ContainsFunc(e.serving, func(block netip.Prefix) bool { return x.isAbove(r, e.ref, block) })
	}
}

// carvedFrom returns the pool that the pool's block around p was carved from, if it was carved and not brought in as a root.
func (x *index) carvedFrom(pool ipamv1.PoolReference, p netip.Prefix) (parent ipamv1.PoolReference, ok bool) {
	for _, r := range x.records.of(keyOf(ClaimOf(pool, ""))) {
		if r.purpose == ipamv1.ChildPoolPurpose && !r.released() && r.cidr.Bits() <= p.Bits() && r.cidr.Contains(p.Addr()) {
			return r.pool.ref, true
		}
	}
	return ipamv1.PoolReference{}, false
}

// isRooted says whether the blocks around p lead from the pool up to a root's.
func (x *index) isRooted(pool ipamv1.PoolReference, p netip.Prefix) bool {
	for range deepest {
		for _, r := range x.records.of(keyOf(ClaimOf(pool, ""))) {
			if r.purpose == ipamv1.RootPurpose && r.cidr.Bits() <= p.Bits() && r.cidr.Contains(p.Addr()) {
				return true
			}
		}
		parent, ok := x.carvedFrom(pool, p)
		if !ok {
			return false
		}
		pool = parent
	}
	return false
}

// ClaimOf is how the records of a pool's own blocks name the pool.
func ClaimOf(pool ipamv1.PoolReference, uid string) ipamv1.ClaimReference {
	return ipamv1.ClaimReference{
		APIGroup: ipamv1.GroupVersion.Group, Kind: pool.Kind, Namespace: pool.Namespace, Name: pool.Name, UID: uid,
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Capacity returns the sums of a registered pool.
func (b *stock) Capacity(ref ipamv1.PoolReference) (Capacity, bool) {
	e, ok := b.pools.find(ref)
	if !ok || e.pool == nil {
		return Capacity{}, false
	}
	shape := e.pool.Shape
	named := b.foreign.set(e.pool)
	withheld, kept := with(b.pools.withheldAbove(e), named), b.keptFree(e, named)
	c := Capacity{
		Kept:        kept,
		Total:       shape.Total(),
		Allocated:   e.tally.allocated,
		Delegated:   e.tally.delegated,
		Cooling:     e.tally.cooling,
		Excluded:    shape.ExcludedCount().Add(b.usable(e, withheld)),
		Available:   shape.Total().Sub(shape.ExcludedCount()).Sub(e.tally.unavailable).Sub(kept).Sub(b.usableFree(e, withheld)),
		Claims:      e.tally.claims,
		Children:    e.tally.children,
		Held:        e.tally.held,
		Serving:     e.isOpen(),
		Unlimited:   shape.IsExternal() && shape.Total().IsZero(),
		LargestFree: -1,
	}
	if c.Available.IsZero() {
		return c, true // of what is left, reserved addresses, nothing is handed out by itself
	}
	above := b.pools.aboveAll(e)
	own := func(h records.Handle) bool {
		role := b.records.Terms(h).Role
		return role == tentative || role == promised || above(h)
	}
	if bits, ok := b.spaces.of(e.pool.Space).taken.LargestFree(e.serving, own); ok {
		c.LargestFree = bits
	}
	return c, true
}

// keptFree returns how much of the usable space the pool keeps for claims that do not hold it, and
// no other provider uses. The cost grows with the number of prefixes that are kept.
func (b *stock) keptFree(e *poolEntry, named *netipx.IPSet) ipspace.Count {
	kept := make([]netip.Prefix, 0, len(e.pool.Shape.Kept()))
	for _, k := range e.pool.Shape.Kept() {
		kept = append(kept, k.Prefix)
	}
	return b.usableFree(e, without(kept, named))
}

// usable returns how much of the prefixes, which are disjoint, the pool may hand out, as far as it
// says itself.
func (b *stock) usable(e *poolEntry, prefixes []netip.Prefix) ipspace.Count {
	var n ipspace.Count
	for _, p := range prefixes {
		n = n.Add(e.pool.Shape.UsableIn(p))
	}
	return n
}

// usableFree returns how much of that it has not handed out.
func (b *stock) usableFree(e *poolEntry, prefixes []netip.Prefix) ipspace.Count {
	var n ipspace.Count
	for _, p := range prefixes {
		free := e.pool.Shape.UsableIn(p)
		for _, r := range b.spaces.overlapping(e.pool.Space, p) {
			if b.isOf(e, r.Handle) && b.isFirst(e, r.Handle) {
				free = free.Sub(e.pool.Shape.UsableIn(r.CIDR)) // 0 if the record holds more than that
			}
		}
		n = n.Add(free)
	}
	return n
}

// Room returns for how many claims that ask for nothing in particular the pool has room, most at
// most: an estimate, at least one, which looks at how much is free and not at where. It errs as
// Preview does if there is room for none. What room an external pool has is known outside only.
func (b *Book) Room(pool ipamv1.PoolReference, most int) (int, error) {
	e, ok := b.pools.find(pool)
	if !ok || e.pool == nil {
		return 0, ErrNotReady
	}
	if e.pool.Shape.IsExternal() {
		return 1, nil
	}
	bits := e.pool.Shape.ClaimBits()
	if _, err := b.chooser.Preview(Claim{Pool: pool, Bits: bits, Purpose: records.ForClaim}); err != nil {
		return 0, err
	}
	capacity, _ := b.stock.Capacity(pool)
	return max(1, capacity.Available.Fit(e.pool.Shape.HostBits()-bits, most)), nil
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"slices"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// foreignSpace is the address space that other providers hand out of: they know only one.
const foreignSpace = ipamv1.DefaultAddressSpace

// foreigners keep from being chosen what IPAddresses of other providers name. They own the set of
// those, and what each keeps out of the address space. No record is one of them: nothing is judged
// by them, and what was handed out before stays with its claim.
type foreigners struct {
	records *records.Table
	spaces  *spaces
	pools   *pools
	on      Listener
	named   foreign.Set
	out     map[foreign.Key]records.Handle
	// isAwaited: they are about to be read, so that what is not among them may be in use all the same.
	isAwaited bool
}

// Foreign is an address in a pool that an IPAddress of another provider names.
type Foreign struct {
	foreign.Address

	// HeldBy is the claim that the pool has handed the address out to; nil if there is none.
	HeldBy *Holding
}

// Note takes an address in, in place of what its object named before.
func (b *foreigners) Note(a foreign.Address) {
	if known, ok := b.named.Get(a.Key); ok && known == a {
		return
	}
	b.Forget(a.Key)
	b.named.Put(a)
	r := &records.Record{Role: byOthers, CIDR: a.Prefix, Space: foreignSpace}
	b.pools.keepOut(r)
	b.out[a.Key] = r.Handle
	b.tell(a.Prefix, b.on.PoolChanged)
}

// Forget takes out the address of an object that is gone.
func (b *foreigners) Forget(key foreign.Key) {
	known, ok := b.named.Get(key)
	if !ok {
		return
	}
	b.named.Delete(key)
	b.pools.letIn(b.records.Get(b.out[key]))
	delete(b.out, key)
	b.tell(known.Prefix, b.on.PoolChanged)
	b.tell(known.Prefix, b.on.PoolFreed)
}

// tell names the pools in whose blocks the prefix lies, or around which, and the claims that hold
// part of it.
func (b *foreigners) tell(p netip.Prefix, pool func(ipamv1.PoolReference)) {
	for _, r := range b.spaces.overlapping(foreignSpace, p) {
		if isBlock(r.Purpose) {
			pool(r.Claim.Pool())
		} else if isInUse(r) {
			b.on.ClaimConcerned(r.Claim)
		}
	}
}

// Await has nothing be chosen in the address space until Known.
func (b *foreigners) Await() { b.isAwaited = true }

// Known says that all that there were at a moment after Await have been noted.
func (b *foreigners) Known() {
	if !b.isAwaited {
		return
	}
	b.isAwaited = false
	for _, e := range b.pools.entries {
		if e.pool != nil && e.pool.Space == foreignSpace {
			b.on.PoolFreed(e.ref)
		}
	}
}

// awaits reports whether it is not known yet what is in use in the address space.
func (b *foreigners) awaits(space string) bool { return b.isAwaited && space == foreignSpace }

// Overlapping returns the addresses that share something with prefixes of the space, by prefix.
func (b *foreigners) Overlapping(space string, prefixes []netip.Prefix) []foreign.Address {
	if space != foreignSpace || b.named.Len() == 0 {
		return nil
	}
	var found []foreign.Address
	seen := map[foreign.Key]bool{}
	for _, p := range prefixes {
		for a := range b.named.Overlapping(p) {
			if !seen[a.Key] {
				seen[a.Key] = true
				found = append(found, a)
			}
		}
	}
	return found
}

// In returns what is named in a pool, by prefix, and to which claim the pool has handed that out.
// The cost grows with the number of addresses.
func (b *foreigners) In(ref ipamv1.PoolReference) []Foreign {
	e, ok := b.pools.find(ref)
	if !ok || e.pool == nil {
		return nil
	}
	var found []Foreign
	for _, a := range b.Overlapping(e.pool.Space, e.pool.Shape.Blocks()) {
		f := Foreign{Address: a}
		for _, r := range b.spaces.overlapping(foreignSpace, a.Prefix) {
			if r.Pool == ref && isInUse(r) {
				h := HoldingOf(r)
				f.HeldBy = &h
				break
			}
		}
		found = append(found, f)
	}
	return found
}

// isInUse reports whether a claim has the record's prefix: one that cools down, is retained or is
// held for what moved away has none here.
func isInUse(r *records.Record) bool {
	return (r.Purpose == records.ForClaim || r.Purpose == records.ForAdopted) && !r.Released() && !r.Deleted
}

// names reports whether part of a prefix is named.
func (b *foreigners) names(space string, p netip.Prefix) bool {
	if space != foreignSpace {
		return false
	}
	for range b.named.Overlapping(p) {
		return true
	}
	return false
}

// set returns what is named in a pool; nil for nothing.
func (b *foreigners) set(p *Pool) *netipx.IPSet {
	found := b.Overlapping(p.Space, p.Shape.Blocks())
	if len(found) == 0 {
		return nil
	}
	var builder netipx.IPSetBuilder
	for _, a := range found {
		builder.AddPrefix(a.Prefix)
	}
	builder.Intersect(p.Shape.Addresses())
	set, _ := builder.IPSet() // errs for invalid prefixes only
	return set
}

// without returns the prefixes, which are disjoint, without what is in the set.
func without(prefixes []netip.Prefix, set *netipx.IPSet) []netip.Prefix {
	if set == nil || !slices.ContainsFunc(prefixes, set.OverlapsPrefix) {
		return prefixes
	}
	var builder netipx.IPSetBuilder
	for _, p := range prefixes {
		builder.AddPrefix(p)
	}
	builder.RemoveSet(set)
	rest, _ := builder.IPSet() // errs for invalid prefixes only
	return rest.Prefixes()
}

// with returns the prefixes and what is in the set, each address once.
func with(prefixes []netip.Prefix, set *netipx.IPSet) []netip.Prefix {
	if set == nil {
		return prefixes
	}
	return append(set.Prefixes(), without(prefixes, set)...)
}

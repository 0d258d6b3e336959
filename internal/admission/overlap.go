// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// overlap is what one entry of a pool has of another pool.
type overlap struct {
	entry string
	other ipamv1.PoolReference
	// shared is what both have.
	shared *netipx.IPSetBuilder
}

// overlaps refuses addresses that the pool did not have before and that
// another root pool of the address space has.
func (v poolValidator[P]) overlaps(ctx context.Context, to *audience, p P, c change) field.ErrorList {
	spec, space := p.PoolSpec(), poolspec.Space(p.PoolSpec())
	if says := v.carver.registry.Says(p); says.IsCarved() || !says.IsServedHere() {
		return nil // its block is a part of others, or is not handed out here
	}
	var found []overlap
	for _, prefix := range gained(c.shape, c.was) {
		entry := entryWith(spec, prefix)
		for _, h := range v.holdings.Overlapping(space, prefix) {
			if h.Purpose == ledger.ForRoot && h.Pool != p.PoolReference() {
				found = noteOverlap(found, entry, prefix, h)
			}
		}
	}
	if len(found) == 0 || areGivenUp(ctx, v.holdings, v.carver.registry, space, found) {
		return nil
	}
	var shown []string
	for _, o := range found {
		if to.mayGetPool(ctx, o.other) {
			shown = append(shown, o.text())
		}
	}
	return field.ErrorList{field.Forbidden(sourceOf(spec), "overlaps other pools of address space "+space+someOf(shown, len(found)))}
}

// areGivenUp reports whether the other pools, as they are stored now, have nothing of what is shared any more, and nothing of that is in
// use. Their controller has not deleted the records yet, and the ledger has the new pool wait until it has.
func areGivenUp(ctx context.Context, holdings Holdings, registry *pools.Registry, space string, found []overlap) bool {
	return !slices.ContainsFunc(found, func(o overlap) bool {
		shared, err := o.shared.IPSet()
		return err != nil || areInUse(holdings, space, shared) || !registry.IsGivenUp(ctx, o.other, shared)
	})
}

// areInUse reports whether a claim or a carved pool has something of these addresses.
func areInUse(holdings Holdings, space string, addresses *netipx.IPSet) bool {
	return slices.ContainsFunc(addresses.Prefixes(), func(prefix netip.Prefix) bool {
		return slices.ContainsFunc(inUse(holdings.Overlapping(space, prefix)), func(h ledger.Holding) bool { return h.Purpose != ledger.ForRoot })
	})
}

// noteOverlap notes that a block of an entry meets one of another pool.
func noteOverlap(found []overlap, entry string, block netip.Prefix, h ledger.Holding) []overlap {
	i := slices.IndexFunc(found, func(o overlap) bool { return o.entry == entry && o.other == h.Pool })
	if i < 0 {
		i, found = len(found), append(found, overlap{entry: entry, other: h.Pool, shared: &netipx.IPSetBuilder{}})
	}
	if h.CIDR.Bits() > block.Bits() { // of two prefixes that overlap, the longer one is in both
		block = h.CIDR
	}
	found[i].shared.AddPrefix(block)
	return found
}

// entryWith returns the entry of a pool that has a block, as it is written.
func entryWith(spec *ipamv1.IPPoolSpec, block netip.Prefix) string {
	for _, entry := range spec.Addresses {
		if r, err := ipspace.ParseEntry(string(entry)); err == nil && r.Contains(block.Addr()) {
			return string(entry)
		}
	}
	return text(block)
}

// text names the entry and what it shares, in ranges.
func (o overlap) text() string {
	var ranges []string
	if set, err := o.shared.IPSet(); err == nil {
		for _, r := range set.Ranges() {
			ranges = append(ranges, textOfRange(r))
		}
	}
	return o.entry + " shares " + strings.Join(ranges, " and ") + " with " + nameOf(o.other)
}

func textOfRange(r netipx.IPRange) string {
	if p, ok := r.Prefix(); ok {
		return text(p)
	}
	return r.String()
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// taken is a set of addresses of one family: disjoint ranges, ascending.
type taken []netipx.IPRange

// add adds r and returns the parts of it that were not in the set, ascending. The cost grows with the ranges that r meets, and with the
// logarithm of all; what lies behind is moved.
func (t *taken) add(r netipx.IPRange) (fresh []netipx.IPRange) {
	first := t.firstNotBefore(r.From())
	from, next := r.From(), first
	for ; next < len(*t) && (*t)[next].From().Compare(r.To()) <= 0; next++ {
		met := (*t)[next]
		if from.Less(met.From()) {
			fresh = append(fresh, netipx.IPRangeFrom(from, met.From().Prev()))
		}
		from = met.To().Next()
	}
	if from.IsValid() && from.Compare(r.To()) <= 0 {
		fresh = append(fresh, netipx.IPRangeFrom(from, r.To()))
	}
	merged := r
	if next > first {
		merged = netipx.IPRangeFrom(ipspace.Earlier(r.From(), (*t)[first].From()), ipspace.Later(r.To(), (*t)[next-1].To()))
	}
	*t = slices.Replace(*t, first, next, merged)
	return fresh
}

func (t *taken) contains(a netip.Addr) bool {
	i := t.firstNotBefore(a)
	return i < len(*t) && (*t)[i].Contains(a)
}

// firstNotBefore returns the index of the first range that does not end before a.
func (t *taken) firstNotBefore(a netip.Addr) int {
	i, _ := slices.BinarySearchFunc(*t, a, func(r netipx.IPRange, a netip.Addr) int { return r.To().Compare(a) })
	return i
}

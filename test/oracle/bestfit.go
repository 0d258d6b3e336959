// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"cmp"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// BestFit returns the lowest prefix of length r.Bits in the smallest gap that
// has one, the lowest of equally small gaps. The gaps are those of r.
func BestFit[E comparable](gaps []netip.Prefix, r Request[E]) (netip.Prefix, bool) {
	gaps = slices.Clone(gaps)
	slices.SortStableFunc(gaps, func(a, b netip.Prefix) int { return cmp.Compare(b.Bits(), a.Bits()) })
	for _, gap := range gaps {
		if p, ok := lowestIn(gap, r); ok {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// lowestIn returns the lowest prefix in gap that r may have.
func lowestIn[E comparable](gap netip.Prefix, r Request[E]) (netip.Prefix, bool) {
	if gap.Bits() > r.Bits || r.Bits > gap.Addr().BitLen() {
		return netip.Prefix{}, false
	}
	for p := netip.PrefixFrom(gap.Addr(), r.Bits); p.IsValid() && gap.Contains(p.Addr()); p = after(p, netip.Prefix{}) {
		if !isReserved(p, r.Reserved) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// Gaps returns the free prefixes in the blocks of r that no larger free prefix
// in the same block contains, ascending. Reserved addresses count as free.
func (s *Space[E]) Gaps(r Request[E]) []netip.Prefix {
	gaps := make([]netip.Prefix, 0, len(r.Blocks))
	for _, block := range r.Blocks {
		var obstacles []netip.Prefix
		for _, h := range s.held {
			if s.isObstacle(h, block, r.Own) {
				obstacles = append(obstacles, h.Prefix)
			}
		}
		gaps = append(gaps, gapsBetween(obstacles, block)...)
	}
	return gaps
}

// gapsBetween returns the largest prefixes inside p that meet none of the
// obstacles, all of which meet p.
func gapsBetween(obstacles []netip.Prefix, p netip.Prefix) []netip.Prefix {
	if len(obstacles) == 0 {
		return []netip.Prefix{p}
	}
	if slices.ContainsFunc(obstacles, func(o netip.Prefix) bool { return o.Bits() <= p.Bits() }) {
		return nil
	}
	var gaps []netip.Prefix
	for _, half := range halves(p) {
		misses := func(o netip.Prefix) bool { return !o.Overlaps(half) }
		gaps = append(gaps, gapsBetween(slices.DeleteFunc(slices.Clone(obstacles), misses), half)...)
	}
	return gaps
}

// halves returns the two halves of p, which is no single address.
func halves(p netip.Prefix) [2]netip.Prefix {
	lower := netip.PrefixFrom(p.Addr(), p.Bits()+1)
	return [2]netip.Prefix{lower, netip.PrefixFrom(netipx.PrefixLastIP(lower).Next(), p.Bits()+1)}
}

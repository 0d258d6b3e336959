// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"cmp"
	"net/netip"
	"slices"
)

// gapsOf returns the gaps in the blocks of r, ascending, the naive way.
func gapsOf(all []held, r request) []netip.Prefix {
	var gaps []netip.Prefix
	for _, block := range r.Blocks {
		var inTheWay []netip.Prefix
		for _, h := range all {
			above := h.Prefix.Bits() <= block.Bits()
			if h.Prefix.Overlaps(block) && (!above || r.Own == nil || !r.Own(h.Entry)) {
				inTheWay = append(inTheWay, h.Prefix)
			}
		}
		gaps = append(gaps, gapsBetween(inTheWay, block)...)
	}
	return gaps
}

// gapsBetween returns the largest prefixes inside p that meet none of held, all
// of which meet p.
func gapsBetween(held []netip.Prefix, p netip.Prefix) []netip.Prefix {
	if len(held) == 0 {
		return []netip.Prefix{p}
	}
	if slices.ContainsFunc(held, func(h netip.Prefix) bool { return h.Bits() <= p.Bits() }) {
		return nil
	}
	var gaps []netip.Prefix
	for _, half := range cut(p, p.Bits()+1) {
		meets := func(h netip.Prefix) bool { return h.Overlaps(half) }
		gaps = append(gaps, gapsBetween(filter(held, meets), half)...)
	}
	return gaps
}

func filter(ps []netip.Prefix, keep func(netip.Prefix) bool) []netip.Prefix {
	var kept []netip.Prefix
	for _, p := range ps {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}

// bestFit returns what BestFit has to, given all gaps: it tries the smallest
// first.
func bestFit(gaps []netip.Prefix, r request) (netip.Prefix, bool) {
	gaps = slices.Clone(gaps)
	slices.SortStableFunc(gaps, func(a, b netip.Prefix) int { return cmp.Compare(b.Bits(), a.Bits()) })
	for _, gap := range gaps {
		if gap.Bits() > r.Bits || r.Bits > gap.Addr().BitLen() {
			continue
		}
		if p, ok := lowestIn(gap, r); ok {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// lowestIn returns the lowest prefix in gap that r may have.
func lowestIn(gap netip.Prefix, r request) (netip.Prefix, bool) {
	p := netip.PrefixFrom(gap.Addr(), r.Bits)
	for r.Reserved != nil && p.IsSingleIP() && r.Reserved(p.Addr()) {
		p = netip.PrefixFrom(p.Addr().Next(), r.Bits)
		if !gap.Contains(p.Addr()) {
			return netip.Prefix{}, false
		}
	}
	return p, true
}

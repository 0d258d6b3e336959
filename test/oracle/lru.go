// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import "net/netip"

// LeastRecentlyUsed returns the free prefix of length r.Bits in r.Blocks that
// has been free for longest, the lowest of those. A prefix is free since the
// last release that touched any part of it; releases are in their order. It
// looks at every candidate, so the blocks have to be small.
func (s *Space[E]) LeastRecentlyUsed(r Request[E], releases []netip.Prefix) (netip.Prefix, bool) {
	var best netip.Prefix
	since := len(releases) + 1
	for _, block := range r.Blocks {
		for _, p := range s.free(block, r) {
			if n := lastTouch(p, releases); n < since {
				best, since = p, n
			}
		}
	}
	return best, best.IsValid()
}

// free returns every free prefix of length r.Bits in block, ascending.
func (s *Space[E]) free(block netip.Prefix, r Request[E]) []netip.Prefix {
	if block.Bits() > r.Bits || r.Bits > block.Addr().BitLen() {
		return nil
	}
	var all []netip.Prefix
	for p := netip.PrefixFrom(block.Addr(), r.Bits); p.IsValid() && block.Contains(p.Addr()); p = after(p, netip.Prefix{}) {
		if _, taken := s.obstacle(block, p, r.Own); !taken && !isReserved(p, r.Reserved) {
			all = append(all, p)
		}
	}
	return all
}

// lastTouch returns the number of the last release that overlaps p, counted
// from 1; 0 if none does.
func lastTouch(p netip.Prefix, releases []netip.Prefix) int {
	for i := len(releases); i > 0; i-- {
		if releases[i-1].Overlaps(p) {
			return i
		}
	}
	return 0
}

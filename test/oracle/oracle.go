// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"cmp"
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// Held is an entry and the prefix at which it sits.
type Held[E comparable] struct {
	Prefix netip.Prefix
	Entry  E
}

// Space is the list of what is held in one address space, in the order in
// which it came. The zero value is empty.
type Space[E comparable] struct {
	held []Held[E]
}

// Request is what to look for and where, as in the allocator.
type Request[E comparable] struct {
	Blocks   []netip.Prefix
	Own      func(E) bool
	Bits     int
	Reserved func(netip.Addr) bool
}

// Answer is the outcome of asking for a given prefix.
type Answer string

// The answers, the first that applies.
const (
	Fits       Answer = "fits"
	OutOfRange Answer = "out of range"
	Taken      Answer = "taken"
	Reserved   Answer = "reserved"
)

// Insert puts e at p.
func (s *Space[E]) Insert(p netip.Prefix, e E) {
	s.held = append(s.held, Held[E]{p, e})
}

// Remove takes e away from p, once, and reports whether it was there.
func (s *Space[E]) Remove(p netip.Prefix, e E) bool {
	i := slices.Index(s.held, Held[E]{p, e})
	if i < 0 {
		return false
	}
	s.held = slices.Delete(s.held, i, i+1)
	return true
}

// Len returns the number of entries.
func (s *Space[E]) Len() int { return len(s.held) }

// Held returns everything held, in the order in which it came.
func (s *Space[E]) Held() []Held[E] { return slices.Clone(s.held) }

// At returns the entries exactly at p.
func (s *Space[E]) At(p netip.Prefix) []E {
	var at []E
	for _, h := range s.held {
		if h.Prefix == p {
			at = append(at, h.Entry)
		}
	}
	return at
}

// Overlapping returns what shares an address with p, by address, the wider
// first, and in the order of coming at the same prefix.
func (s *Space[E]) Overlapping(p netip.Prefix) []Held[E] {
	var found []Held[E]
	for _, h := range s.held {
		if h.Prefix.Overlaps(p) {
			found = append(found, h)
		}
	}
	slices.SortStableFunc(found, func(a, b Held[E]) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
	})
	return found
}

// FirstFit returns the lowest free prefix of length r.Bits in r.Blocks. It
// tries one candidate after the other, passing over what a held prefix
// covers.
func (s *Space[E]) FirstFit(r Request[E]) (netip.Prefix, bool) {
	for _, block := range r.Blocks {
		if block.Bits() > r.Bits || r.Bits > block.Addr().BitLen() {
			continue
		}
		candidate := netip.PrefixFrom(block.Addr(), r.Bits)
		for candidate.IsValid() && block.Contains(candidate.Addr()) {
			h, taken := s.obstacle(block, candidate, r.Own)
			if !taken && !isReserved(candidate, r.Reserved) {
				return candidate, true
			}
			candidate = after(candidate, h)
		}
	}
	return netip.Prefix{}, false
}

// Fits answers whether want can be taken.
func (s *Space[E]) Fits(r Request[E], want netip.Prefix) Answer {
	for _, block := range r.Blocks {
		if block.Bits() > want.Bits() || !block.Overlaps(want) {
			continue
		}
		if _, taken := s.obstacle(block, want, r.Own); taken {
			return Taken
		}
		if isReserved(want, r.Reserved) {
			return Reserved
		}
		return Fits
	}
	return OutOfRange
}

// LargestFree returns the shortest length of which FirstFit finds a prefix.
func (s *Space[E]) LargestFree(blocks []netip.Prefix, own func(E) bool) (int, bool) {
	for bits := range 129 {
		if _, ok := s.FirstFit(Request[E]{Blocks: blocks, Own: own, Bits: bits}); ok {
			return bits, true
		}
	}
	return 0, false
}

// obstacle returns a held prefix that keeps candidate from being free in
// block: one that overlaps it, unless it is the searcher's own and contains
// the block.
func (s *Space[E]) obstacle(block, candidate netip.Prefix, own func(E) bool) (netip.Prefix, bool) {
	for _, h := range s.held {
		if h.Prefix.Overlaps(candidate) && s.isObstacle(h, block, own) {
			return h.Prefix, true
		}
	}
	return netip.Prefix{}, false
}

// isObstacle reports whether h keeps some part of block from being free.
func (s *Space[E]) isObstacle(h Held[E], block netip.Prefix, own func(E) bool) bool {
	above := h.Prefix.Bits() <= block.Bits()
	mine := above && own != nil && own(h.Entry)
	return h.Prefix.Overlaps(block) && !mine
}

// after returns the next prefix of candidate's length behind both candidate
// and the obstacle h, invalid at the end of the family.
func after(candidate, h netip.Prefix) netip.Prefix {
	last := netipx.PrefixLastIP(candidate)
	if h.IsValid() && last.Less(netipx.PrefixLastIP(h)) {
		last = netipx.PrefixLastIP(h)
	}
	next := last.Next()
	if !next.IsValid() {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(next, candidate.Bits())
}

func isReserved(p netip.Prefix, reserved func(netip.Addr) bool) bool {
	return p.IsSingleIP() && reserved != nil && reserved(p.Addr())
}

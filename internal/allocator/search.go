// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"
	"net/netip"
)

var (
	// ErrExhausted means that no free prefix of the wanted length lies in the
	// blocks; shorter of space or merely fragmented makes no difference.
	ErrExhausted = errors.New("no free prefix of that length")
	// ErrOutOfRange means that the asked prefix lies in none of the blocks, or
	// in part only.
	ErrOutOfRange = errors.New("outside the pool")
	// ErrTaken means that an entry that does not belong to the pool itself
	// overlaps the asked prefix.
	ErrTaken = errors.New("already taken")
	// ErrReserved means that the asked address is free but not handed out.
	ErrReserved = errors.New("reserved")
)

// Request says what to look for and where.
type Request[E comparable] struct {
	// Blocks are the prefixes to look in: a pool's blocks, ascending and
	// disjoint. Long stretches that must not be handed out are best left out
	// here; they cost nothing then.
	Blocks []netip.Prefix
	// Own tells the entries at a block or above it that do not count as taken:
	// those of the pool itself and of its ancestors. Any other entry there
	// takes the whole block. Entries inside a block always count. Nil: none.
	Own func(E) bool
	// Bits is the wanted prefix length; that of the family for an address.
	Bits int
	// Reserved tells single addresses that are not handed out. It is asked only
	// when an address is wanted. Nil: none.
	//
	// What it answers is remembered until an entry comes or goes at that
	// address or at a prefix around it, or until Forget. So all searches in
	// one pool have to bring the same rule, and Forget is due when it
	// changes. A pool nested in another may have its own rule, because its
	// block is an entry. Searches without a rule ignore what others met.
	Reserved func(netip.Addr) bool
}

// FirstFit returns the lowest free prefix of length r.Bits that lies in one of
// r.Blocks, or ErrExhausted. It takes nothing: insert what was found. The cost
// is at most a few steps per bit of the address for every block looked into,
// whatever the number of entries, and as much again for each reserved address
// met for the first time.
func (s *Space[E]) FirstFit(r Request[E]) (netip.Prefix, error) {
	for _, block := range r.Blocks {
		if !canContain(block, r.Bits) {
			continue
		}
		if p, ok := s.firstFitIn(block, r); ok {
			return p, nil
		}
	}
	return netip.Prefix{}, ErrExhausted
}

// canContain reports whether prefixes of length bits exist inside block.
func canContain(block netip.Prefix, bits int) bool {
	return block.IsValid() && block.Bits() <= bits && bits <= block.Addr().BitLen()
}

func (s *Space[E]) firstFitIn(block netip.Prefix, r Request[E]) (netip.Prefix, bool) {
	t := s.family(block)
	bits := uint8(r.Bits) //nolint:gosec // canContain has bounded it
	unmarked := r.Reserved != nil && r.Bits == block.Addr().BitLen()
	for {
		slot, ok := t.enter(pathOf(block), r.Own)
		if !ok || !slot.inner().fits(bits, unmarked) {
			return netip.Prefix{}, false
		}
		at := t.lowest(slot, bits, unmarked)
		p := at.prefix(block.Addr().Is4())
		if !unmarked || !r.Reserved(p.Addr()) {
			return p, true
		}
		t.edit(&t.root, at, func(n *node[E]) { n.flags |= mark })
	}
}

// Fits returns nil if want can be taken: it lies in one of r.Blocks, nothing
// overlaps it, and it is not a reserved address. Otherwise it returns
// ErrOutOfRange, ErrTaken or ErrReserved, the first of these that applies.
// r.Bits does not matter. A want with bits beyond its length is ErrOutOfRange.
func (s *Space[E]) Fits(r Request[E], want netip.Prefix) error {
	block, ok := blockOf(r.Blocks, want)
	if !ok {
		return ErrOutOfRange
	}
	t := s.family(block)
	slot, ok := t.enter(pathOf(block), r.Own)
	if !ok || !t.isFree(slot, pathOf(want)) {
		return ErrTaken
	}
	if want.IsSingleIP() && r.Reserved != nil && r.Reserved(want.Addr()) {
		return ErrReserved
	}
	return nil
}

// blockOf returns the block that contains all of want.
func blockOf(blocks []netip.Prefix, want netip.Prefix) (netip.Prefix, bool) {
	if !want.IsValid() || want != want.Masked() {
		return netip.Prefix{}, false
	}
	for _, block := range blocks {
		if block.Bits() <= want.Bits() && block.Contains(want.Addr()) {
			return block, true
		}
	}
	return netip.Prefix{}, false
}

// LargestFree returns the shortest prefix length of which a free prefix lies
// in one of blocks, and false if nothing is free. Own is as in Request;
// reserved addresses count as free. The cost is that of a FirstFit.
func (s *Space[E]) LargestFree(blocks []netip.Prefix, own func(E) bool) (bits int, ok bool) {
	shortest := uint8(none)
	for _, block := range blocks {
		if !block.IsValid() {
			continue
		}
		if slot, ok := s.family(block).enter(pathOf(block), own); ok {
			shortest = min(shortest, slot.inner().free)
		}
	}
	return int(shortest), shortest != none
}

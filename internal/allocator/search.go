// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"
	"iter"
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
		if p, ok := s.find(block, r, r.goal(block)); ok {
			return p, nil
		}
	}
	return netip.Prefix{}, ErrExhausted
}

// BestFit is FirstFit, but breaks up the smallest gap that will do, so that
// large ones stay whole: a gap is a free prefix in one of r.Blocks that no
// larger free prefix in that block contains. Of equally small gaps it takes
// the lowest, and in a gap the lowest prefix. Reserved addresses make a gap no
// smaller, but one with nothing else in it will not do. It looks into all
// blocks, and once more into the one it chooses.
func (s *Space[E]) BestFit(r Request[E]) (netip.Prefix, error) {
	for {
		block, gap := s.tightest(r)
		if gap == none {
			return netip.Prefix{}, ErrExhausted
		}
		g := r.goal(block)
		g.gap = gap
		if p, ok := s.find(block, r, g); ok {
			return p, nil
		}
	}
}

// tightest returns the block with the smallest gap that will do for r, and the
// length of that gap, or none.
func (s *Space[E]) tightest(r Request[E]) (best netip.Prefix, gap int16) {
	gap = none
	for block, room := range s.rooms(r) {
		if length := room.tightest(r.goal(block)); length > gap {
			best, gap = block, length
		}
	}
	return best, gap
}

// RandomFit is FirstFit, but chooses with the help of random, which must
// return all uint64 with equal chance, such as rand.Uint64 of math/rand/v2. The
// same numbers give the same answer. Only where all that is free in a block
// turns out to be reserved more of them are needed, the first time.
//
// It draws a block among those with room, each with a chance that grows with
// the number of prefixes of that length in it, free or not, up to 2⁴⁰; blocks
// with more count alike. There it draws one of those prefixes, each with equal
// chance. If that one cannot be had it takes the nearest that can: the one
// whose bits differ from it in the least way, read as a number (XOR).
//
// So any free prefix may come: with n in the block, its chance is 1/n or more
// once the block is drawn. What is taken leaves its chance to its free
// neighbours. In a block with much room the choice is close to even; in one
// with little, a free prefix among taken ones comes far more often than one
// among free ones. It looks into all blocks, and once more into the one drawn.
func (s *Space[E]) RandomFit(r Request[E], random func() uint64) (netip.Prefix, error) {
	for {
		block, ok := s.draw(r, random)
		if !ok {
			return netip.Prefix{}, ErrExhausted
		}
		g := r.goal(block)
		g.near = path{random(), random(), 128}
		if p, ok := s.find(block, r, g); ok {
			return p, nil
		}
	}
}

// draw returns one of the blocks with room for what r wants, and false if there
// is none. Each takes the place of those before it with the share that it has
// in the weight so far.
func (s *Space[E]) draw(r Request[E], random func() uint64) (drawn netip.Prefix, ok bool) {
	var total uint64
	for block, room := range s.rooms(r) {
		if !room.fits(r.goal(block)) {
			continue
		}
		weight := uint64(1) << min(r.Bits-block.Bits(), 40)
		total += weight
		if random()%total < weight {
			drawn, ok = block, true
		}
	}
	return drawn, ok
}

// rooms yields the blocks in which prefixes of length r.Bits exist and that
// nobody else holds, each with the room inside it.
func (s *Space[E]) rooms(r Request[E]) iter.Seq2[netip.Prefix, room] {
	return func(yield func(netip.Prefix, room) bool) {
		for _, block := range r.Blocks {
			if !canContain(block, r.Bits) {
				continue
			}
			inside, ok := s.family(block).roomIn(pathOf(block), r.Own)
			if ok && !yield(block, inside) {
				return
			}
		}
	}
}

// canContain reports whether prefixes of length bits exist inside block.
func canContain(block netip.Prefix, bits int) bool {
	return block.IsValid() && block.Bits() <= bits && bits <= block.Addr().BitLen()
}

// goal returns what r looks for in block, with no preference.
func (r Request[E]) goal(block netip.Prefix) goal {
	return goal{
		bits:     uint8(r.Bits), //nolint:gosec // canContain has bounded it
		unmarked: r.Reserved != nil && r.Bits == block.Addr().BitLen(),
	}
}

// find returns the free prefix in block that g prefers, and false if there is
// none. It marks the reserved addresses that it meets.
func (s *Space[E]) find(block netip.Prefix, r Request[E], g goal) (netip.Prefix, bool) {
	for {
		at, ok := s.family(block).fit(pathOf(block), r.Own, g)
		if !ok {
			return netip.Prefix{}, false
		}
		p := at.prefix(block.Addr().Is4())
		if !g.unmarked || !r.Reserved(p.Addr()) {
			return p, true
		}
		s.family(block).setMark(at)
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
	if !s.family(block).isFree(pathOf(block), r.Own, pathOf(want)) {
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
	for _, block := range blocks {
		if !block.IsValid() {
			continue
		}
		inside, entered := s.family(block).roomIn(pathOf(block), own)
		if !entered {
			continue
		}
		if gap := inside.shortest(); gap != none && (!ok || int(gap) < bits) {
			bits, ok = int(gap), true
		}
	}
	return bits, ok
}

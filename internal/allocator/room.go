// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

// room is what a part of the space offers: its gaps, which are the free
// aligned blocks in it that no larger free aligned block in it contains.
type room struct {
	bits  uint8   // the length of the part
	whole bool    // no entry is in it: it is one gap
	gaps  lengths // those of its gaps, unless it is whole
	tight int16   // the longest length of a gap with a host without a mark, or none
}

// wholeRoom returns the room of a part of the given length without entries
// and not full of marks.
func wholeRoom(bits uint8) room { return room{bits: bits, whole: true, tight: int16(bits)} }

// plus returns what r and other, the halves of a block, offer together.
func (r room) plus(other room) room {
	sum := room{bits: r.bits - 1, tight: max(r.tight, other.tight)}
	if r.whole && other.whole {
		sum.whole = true
		sum.tight = min(sum.tight, int16(sum.bits))
		return sum
	}
	sum.gaps = r.gaps.or(other.gaps)
	if r.whole || other.whole {
		sum.gaps = sum.gaps.or(between(sum.bits, r.bits))
	}
	return sum
}

// widened returns the room of the block of the given length around r, which is
// not whole, if nothing else is in it: every half on the way is a gap.
func (r room) widened(bits uint8) room {
	return room{bits: bits, gaps: r.gaps.or(between(bits, r.bits)), tight: max(r.tight, int16(r.bits))}
}

// shortest returns the length of the largest gap, or none.
func (r room) shortest() int16 {
	if r.whole {
		return int16(r.bits)
	}
	return r.gaps.shortest()
}

// tightest returns the length of the smallest gap that holds what g asks for,
// which is not wider than the part, or none.
func (r room) tightest(g goal) int16 {
	switch {
	case g.unmarked:
		return r.tight
	case r.whole:
		return int16(r.bits)
	}
	return r.gaps.and(upTo(g.bits)).longest()
}

// fits reports whether there is a gap as g asks for it.
func (r room) fits(g goal) bool { return r.tightest(g) >= g.gap }

// goal is what a search looks for.
type goal struct {
	bits     uint8 // the length of the prefix
	unmarked bool  // it is a host, and must not carry a mark
	gap      int16 // the shortest length of a gap that may be broken up for it
	near     path  // of several, the nearest to this one is preferred
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import "math/bits"

// lengths is a set of prefix lengths from 1 to 128. Bit i, counted from 0 at
// the front, stands for length i+1, so the lengths of what lies strictly
// inside a prefix need no bit that its path needs.
type lengths struct{ hi, lo uint64 }

// none is the prefix length of a free block where there is none; shorter than
// any real one.
const none = -1

// upTo returns the lengths from 1 to n.
func upTo(n uint8) lengths {
	if n <= 64 {
		return lengths{^uint64(0) << (64 - n), 0}
	}
	return lengths{^uint64(0), ^uint64(0) << (128 - n)}
}

// between returns the lengths from n+1 to m.
func between(n, m uint8) lengths { return upTo(m).without(upTo(n)) }

// and returns the lengths that are in both l and m.
func (l lengths) and(m lengths) lengths { return lengths{l.hi & m.hi, l.lo & m.lo} }

// or returns the lengths that are in l or m.
func (l lengths) or(m lengths) lengths { return lengths{l.hi | m.hi, l.lo | m.lo} }

// without returns the lengths that are in l but not in m.
func (l lengths) without(m lengths) lengths { return lengths{l.hi &^ m.hi, l.lo &^ m.lo} }

func (l lengths) isEmpty() bool { return l == lengths{} }

// shortest returns the shortest length in l, or none.
func (l lengths) shortest() int16 {
	switch {
	case l.hi != 0:
		return int16(bits.LeadingZeros64(l.hi)) + 1 //nolint:gosec // at most 63
	case l.lo != 0:
		return int16(bits.LeadingZeros64(l.lo)) + 65 //nolint:gosec // at most 63
	}
	return none
}

// longest returns the longest length in l, or none.
func (l lengths) longest() int16 {
	switch {
	case l.lo != 0:
		return 128 - int16(bits.TrailingZeros64(l.lo)) //nolint:gosec // at most 63
	case l.hi != 0:
		return 64 - int16(bits.TrailingZeros64(l.hi)) //nolint:gosec // at most 63
	}
	return none
}

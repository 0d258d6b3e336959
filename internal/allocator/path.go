// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// path is a prefix of either family as a string of bits, the way down a trie.
// The first bit of the address is the highest of hi, bits beyond the length
// are zero.
type path struct {
	hi, lo uint64
	bits   uint8
}

// pathOf returns the path of p, which must be valid; host bits are dropped.
func pathOf(p netip.Prefix) path {
	at := path{bits: uint8(p.Bits())} //nolint:gosec // at most 128
	if p.Addr().Is4() {
		b := p.Addr().As4()
		at.hi = uint64(binary.BigEndian.Uint32(b[:])) << 32
	} else {
		b := p.Addr().As16()
		at.hi, at.lo = binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	}
	return at.cut(at.bits)
}

// prefix returns the prefix that p is the path of in IPv4 or IPv6.
func (p path) prefix(is4 bool) netip.Prefix {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], p.hi)
	binary.BigEndian.PutUint64(b[8:], p.lo)
	if is4 {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(b[:4])), int(p.bits))
	}
	return netip.PrefixFrom(netip.AddrFrom16(b), int(p.bits))
}

// cut returns the first n bits of p.
func (p path) cut(n uint8) path {
	m := upTo(n)
	return path{p.hi & m.hi, p.lo & m.lo, n}
}

// bit returns bit i of p, counted from 0 at the front.
func (p path) bit(i uint8) int {
	if i < 64 {
		return int(p.hi >> (63 - i) & 1)
	}
	return int(p.lo >> (127 - i) & 1)
}

// half returns p with one more bit: its lower half for 0, its upper for 1.
func (p path) half(bit int) path {
	if bit == 1 && p.bits < 64 {
		p.hi |= 1 << (63 - p.bits)
	} else if bit == 1 {
		p.lo |= 1 << (127 - p.bits)
	}
	p.bits++
	return p
}

// along returns p prolonged to n bits by those that q has there.
func (p path) along(q path, n uint8) path {
	m := between(p.bits, n)
	return path{p.hi | q.hi&m.hi, p.lo | q.lo&m.lo, n}
}

// covers reports whether q is p or lies inside it.
func (p path) covers(q path) bool { return p.bits <= q.bits && q.cut(p.bits) == p }

// common returns the longest path that covers both p and q.
func (p path) common(q path) path {
	n := bits.LeadingZeros64(p.hi ^ q.hi)
	if n == 64 {
		n += bits.LeadingZeros64(p.lo ^ q.lo)
	}
	return p.cut(min(uint8(n), p.bits, q.bits)) //nolint:gosec // at most 128
}

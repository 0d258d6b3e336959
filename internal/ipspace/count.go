// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"net/netip"

	"go4.org/netipx"
)

// Count is an exact number of addresses, from 0 to 2¹²⁸-1. The zero value is
// 0. Counts may be compared with ==.
//
// Arithmetic saturates at both ends. No sum of disjoint sets that this package
// parses comes near the upper end; it is reached by ::/0 alone, which is one
// more than fits.
type Count struct {
	hi, lo uint64
}

// maxCount is 2¹²⁸-1, where Count saturates.
var maxCount = Count{math.MaxUint64, math.MaxUint64}

// CountOf returns n as a Count.
func CountOf(n uint64) Count { return Count{lo: n} }

// Add returns c+d, or 2¹²⁸-1 if that is less.
func (c Count) Add(d Count) Count {
	lo, carry := bits.Add64(c.lo, d.lo, 0)
	hi, carry := bits.Add64(c.hi, d.hi, carry)
	if carry != 0 {
		return maxCount
	}
	return Count{hi, lo}
}

// Sub returns c-d, or 0 if d is greater than c.
func (c Count) Sub(d Count) Count {
	lo, borrow := bits.Sub64(c.lo, d.lo, 0)
	hi, borrow := bits.Sub64(c.hi, d.hi, borrow)
	if borrow != 0 {
		return Count{}
	}
	return Count{hi, lo}
}

// Cmp returns -1, 0 or +1 as c is less than, equal to or greater than d.
func (c Count) Cmp(d Count) int {
	return cmp.Or(cmp.Compare(c.hi, d.hi), cmp.Compare(c.lo, d.lo))
}

// IsZero reports whether c is 0.
func (c Count) IsZero() bool { return c == Count{} }

// String returns c in decimal.
func (c Count) String() string { return c.big().String() }

// Fit returns how many blocks of 2^bits addresses go into the count, most at most.
func (c Count) Fit(bits, most int) int {
	blocks := c.shiftRight(bits)
	if blocks.hi > 0 || blocks.lo > uint64(most) { //nolint:gosec // nobody asks for less than none
		return most
	}
	return int(blocks.lo) //nolint:gosec // at most most
}

func (c Count) big() *big.Int {
	b := new(big.Int).SetUint64(c.hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(c.lo))
}

// shiftRight returns c/2ⁿ rounded down.
func (c Count) shiftRight(n int) Count {
	if n >= 64 {
		return Count{lo: c.hi >> (n - 64)}
	}
	return Count{hi: c.hi >> n, lo: c.lo>>n | c.hi<<(64-n)}
}

// Percent returns how many hundredths of whole part is, rounded down. It is 0
// if whole is 0, and stops at the greatest int32 should part exceed whole so
// far.
func Percent(part, whole Count) int32 {
	if whole.IsZero() {
		return 0
	}
	p := part.big()
	p.Mul(p, big.NewInt(100)).Quo(p, whole.big())
	if p.Cmp(big.NewInt(math.MaxInt32)) > 0 {
		return math.MaxInt32
	}
	return int32(p.Int64()) //nolint:gosec // just bounded
}

// PrefixSize returns the number of addresses in p: 0 if p is invalid, 2¹²⁸-1
// for ::/0.
func PrefixSize(p netip.Prefix) Count {
	if !p.IsValid() {
		return Count{}
	}
	return RangeSize(netipx.RangeOfPrefix(p))
}

// RangeSize returns the number of addresses in r: 0 if r is invalid, 2¹²⁸-1
// for all of IPv6.
func RangeSize(r netipx.IPRange) Count {
	if !r.IsValid() {
		return Count{}
	}
	return ordinal(r.To()).Sub(ordinal(r.From())).Add(CountOf(1))
}

// SetSize returns the number of addresses in set: 0 if set is nil, 2¹²⁸-1 if
// it is more. The cost grows with the ranges of set.
func SetSize(set *netipx.IPSet) Count {
	var n Count
	for _, r := range rangesOf(set) {
		n = n.Add(RangeSize(r))
	}
	return n
}

// rangesOf returns the ranges of set, none for nil.
func rangesOf(set *netipx.IPSet) []netipx.IPRange {
	if set == nil {
		return nil
	}
	return set.Ranges()
}

// ordinal returns how many addresses of its family precede a.
func ordinal(a netip.Addr) Count {
	if a.Is4() {
		b := a.As4()
		return Count{lo: uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return Count{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:])}
}

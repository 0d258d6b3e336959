// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace

import (
	"net/netip"

	"go4.org/netipx"
)

// The longest prefix lengths whose networks have reserved addresses. Longer
// ones are used whole: /31 by RFC 3021, /127 by RFC 6164, and single hosts.
const (
	longestReserved4 = 30
	longestReserved6 = 126
)

// IsReserved reports whether a is set aside in the network of prefix length
// networkBits that contains it: as its network or broadcast address in IPv4
// (RFC 1122 §3.2.1.3), as its subnet-router anycast address in IPv6 (RFC 4291
// §2.6.1). IPv4 networks of /31 and /32 and IPv6 networks of /127 and /128
// have none.
func IsReserved(a netip.Addr, networkBits int) bool {
	if !hasReserved(a, networkBits) {
		return false
	}
	network := networkOf(a, networkBits)
	return a == network.From() || a.Is4() && a == network.To()
}

// ReservedIn returns how many addresses of set IsReserved holds for, given
// networkBits. The cost grows with the ranges of set, not with their size.
func ReservedIn(set *netipx.IPSet, networkBits int) Count {
	var n Count
	for _, r := range rangesOf(set) {
		n = n.Add(reservedInRange(r, networkBits))
	}
	return n
}

// reservedInRange counts the borders between networks inside r. Each puts one
// network's last address and the next one's first into r; the ends of r may
// add one of either:
//
//	       r.From                      r.To
//	...|.....[......|........|........|....].....|...
//	      last first   ...             first
func reservedInRange(r netipx.IPRange, networkBits int) Count {
	if !hasReserved(r.From(), networkBits) {
		return Count{}
	}
	hostBits := r.From().BitLen() - networkBits
	borders := ordinal(r.To()).shiftRight(hostBits).Sub(ordinal(r.From()).shiftRight(hostBits))
	n := borders
	if r.From() == networkOf(r.From(), networkBits).From() {
		n = n.Add(CountOf(1))
	}
	if !r.From().Is4() {
		return n
	}
	if r.To() == networkOf(r.To(), networkBits).To() {
		n = n.Add(CountOf(1))
	}
	return n.Add(borders)
}

func hasReserved(a netip.Addr, networkBits int) bool {
	longest := longestReserved6
	if a.Is4() {
		longest = longestReserved4
	}
	return a.IsValid() && networkBits >= 0 && networkBits <= longest
}

func networkOf(a netip.Addr, networkBits int) netipx.IPRange {
	return netipx.RangeOfPrefix(netip.PrefixFrom(a, networkBits))
}

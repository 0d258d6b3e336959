// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace

import "net/netip"

// Earlier returns the one of two addresses that comes first; of different families, the one of IPv4.
func Earlier(a, b netip.Addr) netip.Addr {
	if b.Less(a) {
		return b
	}
	return a
}

// Later returns the one of two addresses that comes last; of different families, the one of IPv6.
func Later(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return b
	}
	return a
}

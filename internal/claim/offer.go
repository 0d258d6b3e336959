// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"net/netip"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
)

// offeredBy is what decides about a claim. There is no offer of what cannot be read.
func offeredBy(o *door.Offer) offered {
	switch {
	case o == nil:
		return unknown
	case o.Hidden != nil:
		return hidden
	case o.Halted != nil:
		return halted
	case o.Closed != nil:
		return nothingNew
	}
	return fresh
}

// withheldBy says why the claim cannot be looked after; nil if it can.
func withheldBy(o *door.Offer) error {
	return cmp.Or(o.Hidden, o.Halted)
}

// blockAt returns what a claim gets that begins with this address; false if nothing of the pool's length does.
func blockAt(o *door.Offer, first netip.Addr) (netip.Prefix, bool) {
	p := netip.PrefixFrom(first, o.Bits)
	return p, p == p.Masked()
}

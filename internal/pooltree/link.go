// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
)

// NeedsLink reports whether hosts reach the gateway only where it is in their
// network. A link-local gateway of IPv6 is on every link (RFC 4861 section 4.2).
func NeedsLink(gateway netip.Addr) bool {
	return gateway.IsValid() && (gateway.Is4() || !gateway.IsLinkLocalUnicast())
}

// link returns the addresses that reach the gateway of the network. All do
// where there is no network to be in: none is known, or its length is that of
// a single host, which has a route to its gateway.
func (n Network) link() (on netipx.IPRange, bounded bool) {
	if !NeedsLink(n.Gateway) || n.Bits < 1 || n.Bits >= n.Gateway.BitLen() {
		return netipx.IPRange{}, false
	}
	return netipx.RangeOfPrefix(netip.PrefixFrom(n.Gateway, n.Bits)), true
}

// OffLink returns the parts of the area that do not reach their gateway,
// ascending.
func (a Area) OffLink() []Area {
	_, offLink := divide([]Area{a})
	return offLink
}

// divide returns the parts of areas that reach their gateway, and those that
// do not. All are ascending.
func divide(areas []Area) (onLink, offLink []Area) {
	for _, area := range areas {
		link, bounded := area.Network.link()
		if !bounded {
			onLink = append(onLink, area)
			continue
		}
		on := clip([]Area{area}, link)
		onLink = append(onLink, on...)
		offLink = append(offLink, cut([]Area{area}, setOf(on))...)
	}
	return onLink, offLink
}

// reachingIn returns the parts of prefixes that are not off-link.
func (p *Pool) reachingIn(prefixes []netip.Prefix) []netip.Prefix {
	if len(p.offLink) == 0 {
		return prefixes
	}
	var b netipx.IPSetBuilder
	for _, prefix := range prefixes {
		b.AddPrefix(prefix)
	}
	for _, area := range p.offLink {
		b.RemoveRange(area.Range)
	}
	return build(&b).Prefixes()
}

// OffLink returns what inside r is kept from claims only because it does not
// reach its gateway, ascending.
func (p *Pool) OffLink(r netipx.IPRange) []Area {
	lost := cut(clip(p.offLink, r), p.never)
	return slices.DeleteFunc(lost, func(a Area) bool { return p.usable([]Area{a}).IsZero() })
}

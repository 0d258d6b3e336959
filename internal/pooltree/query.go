// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// Addresses returns all addresses of the pool, those that it keeps back
// included.
func (p *Pool) Addresses() *netipx.IPSet { return p.addresses }

// IsExternal reports whether something outside chooses the pool's addresses.
// Such a pool has no blocks, gives only what is asked for by its address, and
// refuses every prefix length.
func (p *Pool) IsExternal() bool { return p.external }

// Blocks returns the fewest prefixes that make up the pool, ascending; none for
// an external pool.
func (p *Pool) Blocks() []netip.Prefix { return slices.Clone(p.blocks) }

// ReachingBlocks returns the fewest prefixes that make up what claims may get,
// ascending: the blocks without what does not reach its gateway. Not to be
// modified.
func (p *Pool) ReachingBlocks() []netip.Prefix { return p.reaching }

// Cover returns the fewest prefixes that contain all that the pool may have
// handed out, ascending: its blocks, or all of IPv4 for an external pool.
func (p *Pool) Cover() []netip.Prefix {
	if p.external {
		return []netip.Prefix{everyIPv4}
	}
	return p.Blocks()
}

// Excluded returns the fewest prefixes that make up what the pool hands out
// under no length of prefix: exclusions and gateways inside the pool,
// ascending. Reserved addresses are not among them.
func (p *Pool) Excluded() []netip.Prefix { return p.never.Prefixes() }

// Withholds reports whether part of prefix is excluded, a gateway, or kept for
// a certain claim. The cost grows with the logarithm of what is.
func (p *Pool) Withholds(prefix netip.Prefix) bool {
	return p.never.OverlapsPrefix(prefix) || len(p.KeptIn(prefix)) > 0
}

// HostBits returns the prefix length of a single address of the pool's
// family: 32 or 128, or 0 for a pool without addresses.
func (p *Pool) HostBits() int {
	if len(p.areas) == 0 {
		return 0
	}
	return p.areas[0].Range.From().BitLen()
}

// ClaimBits returns the prefix length of what a claim gets that does not say
// what it wants.
func (p *Pool) ClaimBits() int { return cmp.Or(p.claimBits, p.HostBits()) }

// Strategy returns how a free prefix is chosen.
func (p *Pool) Strategy() Strategy { return p.strategy }

// Tiers returns the fewest prefixes that make up each part of the pool,
// ascending, in the order in which the parts are consumed; nil where there is
// no order. Each prefix lies inside one block. Not to be modified.
func (p *Pool) Tiers() [][]netip.Prefix { return p.tiers }

// LongestBits returns the longest prefix length that may be asked for. What is
// longer is refused by no other method: it may have been handed out before.
func (p *Pool) LongestBits() int { return cmp.Or(p.longestBits, p.HostBits()) }

// IsBounded reports whether the pool says which prefix lengths may be asked for.
func (p *Pool) IsBounded() bool { return p.shortestBits > 0 || p.longestBits > 0 }

// RefusesLength says why nothing of this prefix length may be asked for, as what the pool allows or
// has: "allows /12 to /16".
func (p *Pool) RefusesLength(bits int) (reason string, refused bool) {
	fits := func(block netip.Prefix) bool { return block.Bits() <= bits && bits <= block.Addr().BitLen() }
	switch {
	case bits < p.shortestBits, bits > p.LongestBits() && p.shortestBits > 0:
		return fmt.Sprintf("allows /%d to /%d", p.shortestBits, p.LongestBits()), true
	case bits > p.LongestBits():
		return fmt.Sprintf("allows lengths up to /%d", p.LongestBits()), true
	case !slices.ContainsFunc(p.Blocks(), fits):
		return "has no block of that length", true
	}
	return "", false
}

// Total returns the number of addresses of the pool; of an external pool its
// limit, 0 where it has none.
func (p *Pool) Total() ipspace.Count { return p.total }

// ExcludedCount returns how many addresses of the pool are kept back:
// exclusions, gateways and reserved addresses, each counted once.
func (p *Pool) ExcludedCount() ipspace.Count { return p.excluded }

// Contains reports whether all of prefix lies inside the pool.
func (p *Pool) Contains(prefix netip.Prefix) bool { return p.addresses.ContainsPrefix(prefix) }

// Reserved reports whether a is kept back as a single address because its
// network reserves it. It is false outside the pool.
func (p *Pool) Reserved(a netip.Addr) bool {
	if p.reserved == AllocateReserved {
		return false
	}
	area, ok := areaOf(p.areas, a)
	return ok && area.Network.Bits > 0 && ipspace.IsReserved(a, area.Network.Bits)
}

// NetworkOf returns what comes with the address a. An address that is not, or
// no longer, in the pool has a network of host length and nothing else.
func (p *Pool) NetworkOf(a netip.Addr) Network {
	if area, ok := areaOf(p.areas, a); ok {
		return area.Network
	}
	return Network{Bits: a.BitLen()}
}

// AllGateways returns the gateways that come with the pool's addresses, also
// those outside it, each once.
func (p *Pool) AllGateways() []netip.Addr {
	gateways := slices.Clone(p.gateways)
	for _, area := range p.areas {
		if g := area.Network.Gateway; g.IsValid() && !slices.Contains(gateways, g) {
			gateways = append(gateways, g)
		}
	}
	return gateways
}

// AreasIn returns what comes with the addresses of the pool that lie inside r,
// ascending.
func (p *Pool) AreasIn(r netipx.IPRange) []Area { return clip(p.areas, r) }

// HasNetworksOf reports whether both pools have the same addresses, and the
// same comes with each.
func (p *Pool) HasNetworksOf(other *Pool) bool {
	return slices.EqualFunc(p.areas, other.areas, func(a, b Area) bool {
		return a.Range == b.Range && a.Network.Equal(b.Network)
	})
}

// Refuses says why prefix may not be handed out even if nobody holds it:
// outside the pool, excluded, gateway, or reserved.
func (p *Pool) Refuses(prefix netip.Prefix) (reason string, refused bool) {
	if reason, refused := p.RefusesAdopted(prefix); refused {
		return reason, true
	}
	switch {
	case p.hasGatewayIn(prefix):
		return aGateway, true
	case p.never.OverlapsPrefix(prefix):
		return "is excluded or contains an excluded address", true
	case prefix.IsSingleIP() && p.Reserved(prefix.Addr()):
		return "is a reserved address of its network", true
	}
	return "", false
}

const aGateway = "is the pool's gateway or contains it"

func (p *Pool) hasGatewayIn(prefix netip.Prefix) bool {
	return slices.ContainsFunc(p.gateways, prefix.Contains)
}

// RefusesAdopted says why prefix may not even stay with a claim that arrived
// with it: what the pool excludes and reserves does not count, nor do gateways
// where the pool keeps them with who has them.
func (p *Pool) RefusesAdopted(prefix netip.Prefix) (reason string, refused bool) {
	switch {
	case !p.Contains(prefix):
		return "is not in the pool", true
	case !p.keepsGateways && p.hasGatewayIn(prefix):
		return aGateway, true
	}
	return "", false
}

// RefusesOffLink says why prefix may not be handed out to a claim even if
// nobody holds it: it does not reach its gateway, or part of it does not.
func (p *Pool) RefusesOffLink(prefix netip.Prefix) (reason string, refused bool) {
	found := clip(p.offLink, netipx.RangeOfPrefix(prefix))
	if len(found) == 0 {
		return "", false
	}
	return fmt.Sprintf("does not reach its gateway, %s", found[0].Network.Gateway), true
}

// Kept returns what the pool keeps for certain claims, ascending. Not to be
// modified.
func (p *Pool) Kept() []Kept { return p.kept }

// KeptFor returns what the pool keeps for the claim that has these names, and
// whether it does. The first name that something is kept for counts.
func (p *Pool) KeptFor(names ...Claimant) (netip.Prefix, bool) {
	for _, c := range names {
		for _, name := range []Claimant{c, c.OfAnyKind()} {
			if prefix, ok := p.keptFor[name]; ok {
				return prefix, true
			}
		}
	}
	return netip.Prefix{}, false
}

// Denies says why the claim gets nothing.
func (p *Pool) Denies(c Claimant) (reason string, denied bool) {
	reason, denied = p.denied[c]
	if !denied {
		reason, denied = p.denied[c.OfAnyKind()]
	}
	return reason, denied
}

// KeptIn returns what the pool keeps that overlaps prefix, ascending: all of
// that lies inside it, or the one that contains it. Not to be modified. The
// cost grows with what is returned, and with the logarithm of what is kept.
func (p *Pool) KeptIn(prefix netip.Prefix) []Kept {
	first, _ := slices.BinarySearchFunc(p.kept, prefix.Masked().Addr(), func(k Kept, a netip.Addr) int {
		return netipx.PrefixLastIP(k.Prefix).Compare(a)
	})
	next := first
	for next < len(p.kept) && p.kept[next].Prefix.Overlaps(prefix) {
		next++
	}
	return p.kept[first:next]
}

// UsableIn returns how many addresses of prefix the pool may hand out as
// single addresses: in the pool, not excluded, no gateway, not reserved. The
// cost grows with the ranges of the pool and its exclusions that lie inside
// prefix, not with their size.
func (p *Pool) UsableIn(prefix netip.Prefix) ipspace.Count {
	switch {
	case !prefix.IsValid():
		return ipspace.Count{}
	case prefix.IsSingleIP():
		return p.usableAddress(prefix.Addr())
	}
	return p.usable(clip(p.open, netipx.RangeOfPrefix(prefix)))
}

func (p *Pool) usableAddress(a netip.Addr) ipspace.Count {
	if _, ok := areaOf(p.open, a); !ok || p.Reserved(a) {
		return ipspace.Count{}
	}
	return ipspace.CountOf(1)
}

// usable counts what is not reserved in disjoint areas.
func (p *Pool) usable(areas []Area) ipspace.Count {
	var n ipspace.Count
	for _, area := range areas {
		n = n.Add(ipspace.RangeSize(area.Range))
		if p.reserved == ExcludeReserved && area.Network.Bits > 0 {
			n = n.Sub(ipspace.ReservedIn(setOf([]Area{area}), area.Network.Bits))
		}
	}
	return n
}

// areaOf returns the area that a lies in.
func areaOf(areas []Area, a netip.Addr) (Area, bool) {
	i := firstNotBefore(areas, a)
	if i == len(areas) || !areas[i].Range.Contains(a) {
		return Area{}, false
	}
	return areas[i], true
}

// clip returns the parts of areas that lie inside r.
func clip(areas []Area, r netipx.IPRange) []Area {
	var clipped []Area
	for _, area := range areas[firstNotBefore(areas, r.From()):] {
		if area.Range.From().Compare(r.To()) > 0 {
			break
		}
		from, to := area.Range.From(), area.Range.To()
		if from.Less(r.From()) {
			from = r.From()
		}
		if r.To().Less(to) {
			to = r.To()
		}
		clipped = append(clipped, Area{netipx.IPRangeFrom(from, to), area.Network})
	}
	return clipped
}

// firstNotBefore returns the index of the first area that does not end before
// a.
func firstNotBefore(areas []Area, a netip.Addr) int {
	i, _ := slices.BinarySearchFunc(areas, a, func(area Area, a netip.Addr) int {
		return area.Range.To().Compare(a)
	})
	return i
}

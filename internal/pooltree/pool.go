// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree

import (
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// Network is what comes with a single address.
type Network struct {
	// Bits is the prefix length of the network that the address is in; 0 means
	// that the pool does not say. Then, as where it is no length of the family,
	// nothing is reserved.
	Bits int
	// Implied: Bits is only the length of the pool's block, which nobody has
	// chosen for a network and no gateway depends on.
	Implied bool
	// Gateway of the network; the zero value means none.
	Gateway netip.Addr
	// DNSServers in the order to try them, of either family. Not to be
	// modified.
	DNSServers []netip.Addr
}

// Equal reports whether both are the same for who gets an address.
func (n Network) Equal(other Network) bool {
	return n.Bits == other.Bits && n.Gateway == other.Gateway && slices.Equal(n.DNSServers, other.DNSServers)
}

// Area is a part of a pool whose addresses have the same network settings.
type Area struct {
	Range   netipx.IPRange
	Network Network
}

// ReservedPolicy says what is done with the addresses that a network reserves
// for itself, as ipspace.IsReserved has it.
type ReservedPolicy int

const (
	// ExcludeReserved keeps them back. The default.
	ExcludeReserved ReservedPolicy = iota
	// AllocateReserved hands them out like any other.
	AllocateReserved
)

// OffLinkPolicy says what is done with addresses whose gateway is not in the
// network that they come with, so that hosts do not reach it.
type OffLinkPolicy int

const (
	// ExcludeOffLink keeps them from claims. The default. Pools may be carved
	// out of them: those may have networks of their own.
	ExcludeOffLink OffLinkPolicy = iota
	// AllocateOffLink hands them out like any other.
	AllocateOffLink
)

// Strategy says which of several free prefixes is handed out.
type Strategy int

const (
	// FirstFit is the lowest. The default.
	FirstFit Strategy = iota
	// BestFit is the lowest in the smallest gap that will do.
	BestFit
	// Random is any.
	Random
	// LeastRecentlyUsed is the one that has been free for longest.
	LeastRecentlyUsed
)

// Claimant names a claim, whether or not it exists.
type Claimant struct{ Group, Kind, Namespace, Name string }

func (c Claimant) String() string {
	if c == c.OfAnyKind() {
		return "a claim " + c.Namespace + "/" + c.Name
	}
	return c.Kind + " " + c.Namespace + "/" + c.Name
}

// OfAnyKind stands for the claims of that name, whatever their kind.
func (c Claimant) OfAnyKind() Claimant { return Claimant{Namespace: c.Namespace, Name: c.Name} }

// Kept is a prefix that is handed out to one claim only, or to the claims of one
// name, whatever their kind.
type Kept struct {
	Prefix netip.Prefix
	For    Claimant
}

// IsFor says whether the prefix is kept for the claim that has these names.
func (k Kept) IsFor(names ...Claimant) bool {
	return slices.ContainsFunc(names, func(c Claimant) bool { return k.For == c || k.For == c.OfAnyKind() })
}

// Config says what a pool consists of.
type Config struct {
	// Areas are disjoint and of one family, in any order.
	Areas []Area
	// Gateways are never handed out, as those of areas are not.
	Gateways []netip.Addr
	// KeepsGateways: a gateway, or what contains one, stays with a claim that
	// arrived with it. The default is that it does not.
	KeepsGateways bool
	// Excluded addresses are never handed out; nil means none. What lies
	// outside the areas is ignored.
	Excluded *netipx.IPSet
	// Reserved is what is done with reserved addresses, and OffLink with those
	// that do not reach their gateway.
	Reserved ReservedPolicy
	OffLink  OffLinkPolicy
	// ClaimBits is the prefix length of what a claim gets that does not say; 0
	// means a single address.
	ClaimBits int
	// Strategy is how a free prefix is chosen.
	Strategy Strategy
	// ShortestBits and LongestBits bound the prefix length that may be asked
	// for; 0 means that there is no bound.
	ShortestBits, LongestBits int
	// Kept are disjoint prefixes that the pool may hand out, each for another
	// claim, in any order.
	Kept []Kept
	// Denied says why a claim gets nothing, not even what it asks for, nor
	// what is kept for it; one that arrived with something keeps that. Nil
	// means that none is denied.
	Denied map[Claimant]string
	// Tiers are parts of the pool in the order in which they are consumed,
	// whatever the strategy: the next one when all before are full. The ranges
	// of one are ascending; those of all are disjoint, and together they are
	// the areas. Nil means that there is no order.
	Tiers [][]netipx.IPRange
	// External: something outside chooses the pool's addresses, as Neutron
	// chooses floating IPs. Such a pool has no blocks, and every single address
	// of IPv4 may turn out to be one of its own. Of the other fields only Limit
	// counts.
	External bool
	// Limit is the greatest number of addresses that an external pool may hold
	// at once; 0 means that none is known here.
	Limit int
}

// Pool is the shape of one pool. It is immutable and safe for concurrent use.
type Pool struct {
	reserved  ReservedPolicy
	areas     []Area
	addresses *netipx.IPSet
	blocks    []netip.Prefix
	// never are the excluded addresses and gateways inside the pool.
	never    *netipx.IPSet
	gateways []netip.Addr
	// keepsGateways is as in Config.
	keepsGateways bool
	// offLink are the areas, cut where needed, that do not reach their gateway
	// and are not handed out therefore; open are the others without never.
	offLink, open []Area
	// reaching are the blocks without offLink.
	reaching []netip.Prefix

	total, excluded ipspace.Count
	claimBits       int
	shortestBits    int
	longestBits     int
	strategy        Strategy
	tiers           [][]netip.Prefix

	// kept are ascending.
	kept    []Kept
	keptFor map[Claimant]netip.Prefix
	denied  map[Claimant]string

	// external is as in Config.
	external bool
}

// New returns the pool that config describes. The cost is O(n log n) in the
// ranges and kept prefixes of config.
func New(config Config) *Pool {
	if config.External {
		return newExternal(config.Limit)
	}
	p := &Pool{
		reserved: config.Reserved, claimBits: config.ClaimBits, strategy: config.Strategy,
		shortestBits: config.ShortestBits, longestBits: config.LongestBits,
		keepsGateways: config.KeepsGateways, areas: slices.Clone(config.Areas),
		kept: slices.Clone(config.Kept), keptFor: make(map[Claimant]netip.Prefix, len(config.Kept)),
		denied: maps.Clone(config.Denied),
	}
	slices.SortFunc(p.kept, func(a, b Kept) int { return a.Prefix.Compare(b.Prefix) })
	for _, k := range p.kept {
		p.keptFor[k.For] = k.Prefix
	}
	slices.SortFunc(p.areas, func(a, b Area) int { return a.Range.From().Compare(b.Range.From()) })
	p.addresses = setOf(p.areas)
	p.blocks = p.addresses.Prefixes()
	p.gateways = gatewaysOf(config, p.addresses)
	p.never = neverOf(config.Excluded, p.gateways, p.addresses)
	onLink := p.areas
	if config.OffLink == ExcludeOffLink {
		onLink, p.offLink = divide(p.areas)
	}
	p.reaching = p.reachingIn(p.blocks)
	for _, tier := range config.Tiers {
		p.tiers = append(p.tiers, p.reachingIn(prefixesOf(tier)))
	}
	p.open = cut(onLink, p.never)
	p.total = ipspace.SetSize(p.addresses)
	p.excluded = p.total.Sub(p.usable(p.open))
	return p
}

// everyIPv4 contains what an external pool may turn out to hold.
var everyIPv4 = netip.PrefixFrom(netip.IPv4Unspecified(), 0)

// newExternal returns an external pool. It counts its limit and not the
// addresses of IPv4, and each address comes by itself: no network reserves any.
func newExternal(limit int) *Pool {
	everything := Area{netipx.RangeOfPrefix(everyIPv4), Network{Bits: everyIPv4.Addr().BitLen()}}
	p := New(Config{Areas: []Area{everything}, Reserved: AllocateReserved})
	p.external, p.blocks = true, nil
	p.total = ipspace.CountOf(uint64(max(0, limit)))
	return p
}

func prefixesOf(ranges []netipx.IPRange) (prefixes []netip.Prefix) {
	for _, r := range ranges {
		prefixes = r.AppendPrefixes(prefixes)
	}
	return prefixes
}

func setOf(areas []Area) *netipx.IPSet {
	var b netipx.IPSetBuilder
	for _, area := range areas {
		b.AddRange(area.Range)
	}
	return build(&b)
}

// gatewaysOf returns the gateways that lie inside the pool.
func gatewaysOf(config Config, addresses *netipx.IPSet) []netip.Addr {
	all := slices.Clone(config.Gateways)
	for _, area := range config.Areas {
		all = append(all, area.Network.Gateway)
	}
	var gateways []netip.Addr
	for _, g := range all {
		if addresses.Contains(g) && !slices.Contains(gateways, g) {
			gateways = append(gateways, g)
		}
	}
	return gateways
}

func neverOf(excluded *netipx.IPSet, gateways []netip.Addr, addresses *netipx.IPSet) *netipx.IPSet {
	var b netipx.IPSetBuilder
	if excluded != nil {
		b.AddSet(excluded)
	}
	for _, g := range gateways {
		b.Add(g)
	}
	b.Intersect(addresses)
	return build(&b)
}

// cut takes never out of the areas. Both are ascending, so one pass does.
func cut(areas []Area, never *netipx.IPSet) []Area {
	holes := never.Ranges()
	open := make([]Area, 0, len(areas)+len(holes))
	for _, area := range areas {
		from, last := area.Range.From(), area.Range.To()
		for len(holes) > 0 && holes[0].From().Compare(last) <= 0 && from.IsValid() {
			if holes[0].To().Less(from) { // lies before the area
				holes = holes[1:]
				continue
			}
			if holes[0].From().Compare(from) > 0 {
				open = append(open, Area{netipx.IPRangeFrom(from, holes[0].From().Prev()), area.Network})
			}
			if holes[0].To().Compare(last) > 0 { // reaches into the next area
				from = netip.Addr{}
				break
			}
			from = holes[0].To().Next()
			holes = holes[1:]
		}
		if from.IsValid() && from.Compare(last) <= 0 {
			open = append(open, Area{netipx.IPRangeFrom(from, last), area.Network})
		}
	}
	return open
}

// build returns the set of b. Ranges that are invalid cannot be in a Config:
// there is no error to expect, and without one the set is never nil.
func build(b *netipx.IPSetBuilder) *netipx.IPSet {
	set, err := b.IPSet()
	if err != nil {
		return &netipx.IPSet{}
	}
	return set
}

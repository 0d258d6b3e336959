// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// maxNetworks is in how many networks of an area reserved addresses are looked for. An area with more is for pools
// and prefixes.
const maxNetworks = 1024

// Withheld is what a pool itself, not the pools above it, hands out to nobody, or to one claim only.
type Withheld struct {
	// Excluded are never handed out: excluded, or reserved by their networks; nil for none.
	Excluded *netipx.IPSet
	// Gateways may be outside the pool.
	Gateways []netip.Addr
	// Kept are in the order of their addresses.
	Kept []Kept
}

// Kept is a prefix that is kept for a claim.
type Kept struct {
	Prefix netip.Prefix
	// For is the claim's NAMESPACE/NAME, or its NAME where the namespace is not known.
	For string
}

// withhold finds what pools withhold. Pools with a spec that is not valid withhold nothing that is known.
func withhold(pools []*Pool) {
	byRef := map[ipamv1.PoolReference]*Pool{}
	for _, p := range pools {
		byRef[p.Ref] = p
	}
	shapes := map[*Pool]*pooltree.Pool{}
	for _, p := range pools {
		if shape := shapeOf(p, byRef, shapes); shape != nil {
			p.Withheld = withheldBy(shape)
		}
	}
}

// shapeOf returns the shape of a pool under the pools above it, as far as these are shown; nil if it is not known.
func shapeOf(p *Pool, byRef map[ipamv1.PoolReference]*Pool, shapes map[*Pool]*pooltree.Pool) *pooltree.Pool {
	shape, isKnown := shapes[p]
	if isKnown || p.spec == nil {
		return shape
	}
	shapes[p] = nil // ends circles
	var above *pooltree.Pool
	if parent := byRef[p.Parent]; parent != nil {
		above = shapeOf(parent, byRef, shapes)
	}
	shape, mistakes := poolspec.ResolveUnder(p.spec, p.Ref, above)
	if len(mistakes) > 0 {
		return nil
	}
	shapes[p] = shape
	return shape
}

func withheldBy(shape *pooltree.Pool) Withheld {
	w := Withheld{Gateways: shape.AllGateways()}
	if shape.IsExternal() {
		return w
	}
	var excluded netipx.IPSetBuilder
	for _, prefix := range shape.Excluded() {
		excluded.AddPrefix(prefix)
	}
	for _, r := range shape.Addresses().Ranges() {
		for _, area := range shape.AreasIn(r) {
			for _, a := range reservedIn(shape, area) {
				excluded.Add(a)
			}
		}
	}
	if set, err := excluded.IPSet(); err == nil && len(set.Ranges()) > 0 {
		w.Excluded = set
	}
	for _, kept := range shape.Kept() {
		w.Kept = append(w.Kept, Kept{kept.Prefix, strings.TrimPrefix(kept.For.Namespace+"/"+kept.For.Name, "/")})
	}
	return w
}

// reservedIn returns the addresses that the networks of an area reserve; none if there are more than maxNetworks.
func reservedIn(shape *pooltree.Pool, area pooltree.Area) (reserved []netip.Addr) {
	network, err := area.Range.From().Prefix(area.Network.Bits)
	if err != nil || area.Network.Bits == 0 {
		return nil
	}
	for networks := 0; network.Addr().IsValid() && network.Addr().Compare(area.Range.To()) <= 0; networks++ {
		if networks == maxNetworks {
			return nil
		}
		first, last := network.Addr(), netipx.PrefixLastIP(network)
		for _, a := range []netip.Addr{first, last} {
			if area.Range.Contains(a) && shape.Reserved(a) {
				reserved = append(reserved, a)
			}
		}
		network = netip.PrefixFrom(last.Next(), network.Bits())
	}
	return reserved
}

// metal3Withheld reads what a pool of Metal3's withholds.
func metal3Withheld(pool *m3v1.IPPool) Withheld {
	var w Withheld
	add := func(gateway *m3v1.Address) {
		if gateway == nil {
			return
		}
		if a, err := netip.ParseAddr(string(*gateway)); err == nil && !slices.Contains(w.Gateways, a) {
			w.Gateways = append(w.Gateways, a)
		}
	}
	add(pool.Spec.Gateway)
	for i := range pool.Spec.Pools {
		add(pool.Spec.Pools[i].Gateway)
	}
	for name, address := range pool.Spec.PreAllocations {
		if a, err := netip.ParseAddr(string(address)); err == nil {
			w.Kept = append(w.Kept, Kept{netip.PrefixFrom(a, a.BitLen()), pool.Namespace + "/" + name})
		}
	}
	slices.SortFunc(w.Kept, func(a, b Kept) int { return a.Prefix.Compare(b.Prefix) })
	return w
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// part is some of the pool's addresses with the network that they are in: those of one subnet, or those of none.
type part struct {
	path *field.Path
	// spec is nil where nothing is said.
	spec *ipamv1.Network
	// entries are cut to the addresses of the part.
	entries []entry
	// subnet is the zero value for the addresses of no subnet.
	subnet  netip.Prefix
	gateway netip.Addr
	dns     []netip.Addr
}

// networkBits returns the length of the network that the addresses of an
// entry are in: what the spec says, else that of the subnet, else that of the
// entry if it is a CIDR, else host length.
func (p *part) networkBits(e entry) int {
	if p.spec != nil && p.spec.PrefixLength != nil {
		return int(*p.spec.PrefixLength)
	}
	if p.subnet.IsValid() {
		return p.subnet.Bits()
	}
	if cidr, err := ipspace.ParsePrefix(e.text); err == nil {
		return cidr.Bits()
	}
	return e.addrs.From().BitLen()
}

// areas returns the addresses of the part with what comes with them.
func (p *part) areas() []pooltree.Area {
	areas := make([]pooltree.Area, 0, len(p.entries))
	implied := !p.subnet.IsValid() && (p.spec == nil || p.spec.PrefixLength == nil) && !pooltree.NeedsLink(p.gateway)
	for _, e := range p.entries {
		areas = append(areas, pooltree.Area{
			Range: e.addrs, Network: pooltree.Network{Bits: p.networkBits(e), Implied: implied, Gateway: p.gateway, DNSServers: p.dns},
		})
	}
	return areas
}

// readNetworks reads the pool's network and those of its subnets. A subnet
// that names no DNS servers has the pool's.
func (r *resolver) readNetworks() {
	rest := part{path: r.path.Child("network"), spec: r.spec.Network, entries: r.entries}
	var subnets []part
	if n := len(r.spec.Subnets); n > ipamv1.MaxSubnets { // webhooks are asked before the schema is
		r.fail(field.TooMany(r.path.Child("subnets"), n, ipamv1.MaxSubnets))
		return
	}
	for i := range r.spec.Subnets {
		if subnet, ok := r.readSubnet(i, subnets); ok {
			subnets = append(subnets, subnet)
		}
	}
	rest.entries = without(r.entries, subnets)
	r.readNetwork(&rest)
	r.parts = []part{rest}
	for _, subnet := range subnets {
		r.readNetwork(&subnet)
		if len(subnet.dns) == 0 {
			subnet.dns = rest.dns
		}
		r.parts = append(r.parts, subnet)
	}
}

// readSubnet reads which addresses a subnet is for: some of the pool's, and
// none that an earlier one is for.
func (r *resolver) readSubnet(i int, earlier []part) (part, bool) {
	path, text := r.path.Child("subnets").Index(i), r.spec.Subnets[i].CIDR
	cidr, err := ipspace.ParsePrefix(text)
	if err != nil {
		r.invalid(path.Child("cidr"), text, "%v", err)
		return part{}, false
	}
	if !r.checkFamily(path.Child("cidr"), text, cidr.Addr()) {
		return part{}, false
	}
	for _, other := range earlier {
		if other.subnet.Overlaps(cidr) {
			r.invalid(path.Child("cidr"), text, "overlaps subnet %s", other.subnet)
			return part{}, false
		}
	}
	entries := within(r.entries, cidr)
	if len(entries) == 0 && len(r.entries) > 0 {
		r.invalid(path.Child("cidr"), text, "contains no address of the pool")
	}
	return part{path: path.Child("network"), spec: &r.spec.Subnets[i].Network, entries: entries, subnet: cidr}, true
}

// within returns what lies inside cidr.
func within(entries []entry, cidr netip.Prefix) []entry {
	bounds := netipx.RangeOfPrefix(cidr)
	var inside []entry
	for _, e := range entries {
		if e.addrs.Overlaps(bounds) {
			e.addrs = netipx.IPRangeFrom(ipspace.Later(e.addrs.From(), bounds.From()), ipspace.Earlier(e.addrs.To(), bounds.To()))
			inside = append(inside, e)
		}
	}
	return inside
}

// without returns what lies in none of the subnets.
func without(entries []entry, subnets []part) []entry {
	var outside []entry
	for _, e := range entries {
		var left netipx.IPSetBuilder
		left.AddRange(e.addrs)
		for _, s := range subnets {
			left.RemovePrefix(s.subnet)
		}
		set, err := left.IPSet()
		if err != nil {
			continue // ranges that have been read are valid
		}
		for _, addrs := range set.Ranges() {
			e.addrs = addrs
			outside = append(outside, e)
		}
	}
	return outside
}

func (r *resolver) readNetwork(p *part) {
	if p.spec == nil {
		return
	}
	r.checkNetworkBits(p.path.Child("prefixLength"), p.spec.PrefixLength)
	if n := len(p.spec.DNSServers); n > ipamv1.MaxDNSServers {
		r.fail(field.TooMany(p.path.Child("dnsServers"), n, ipamv1.MaxDNSServers))
		return
	}
	for i, text := range p.spec.DNSServers {
		r.readDNSServer(p, p.path.Child("dnsServers").Index(i), string(text))
	}
	if p.spec.Gateway != "" {
		r.readGateway(p, p.path.Child("gateway"), p.spec.Gateway)
	}
}

// checkNetworkBits allows any length of the family: a pool may be a slice of a
// bigger network, and a block may hold many networks.
func (r *resolver) checkNetworkBits(path *field.Path, bits *int32) {
	if bits == nil || len(r.entries) == 0 {
		return
	}
	if host := r.entries[0].addrs.From().BitLen(); *bits < 1 || int(*bits) > host {
		r.invalid(path, *bits, "must be between 1 and %d in a pool of %s", host, r.family)
	}
}

// readDNSServer accepts either family, and loopback for resolvers on the
// machine itself.
func (r *resolver) readDNSServer(p *part, path *field.Path, text string) {
	server, err := ipspace.ParseAddr(text)
	switch {
	case err != nil:
		r.invalid(path, text, "%v", err)
	case server.IsUnspecified() || server.IsMulticast():
		r.invalid(path, text, "is not the address of a server")
	case slices.Contains(p.dns, server):
		r.fail(field.Duplicate(path, excerpt.Of(text)))
	default:
		p.dns = append(p.dns, server)
	}
}

// readGateway wants an address that hosts of the part can reach: inside the
// network of at least one entry whose network is known, that is, shorter than
// host length. That every address reaches it CheckGateways sees to. It may lie
// outside the pool. An IPv6 gateway may be link-local,
// as routers announce themselves (RFC 4861 §4.2). The network and broadcast
// address of an IPv4 network are no gateways unless they are handed out like
// any other.
func (r *resolver) readGateway(p *part, path *field.Path, text string) {
	gateway, err := ipspace.ParseAddr(text)
	if err != nil {
		r.invalid(path, text, "%v", err)
		return
	}
	if !r.checkFamily(path, text, gateway) {
		return
	}
	p.gateway = gateway
	name, special := specialIn(netipx.IPRangeFrom(gateway, gateway))
	switch {
	case special:
		r.invalid(path, text, "is %s, which is no gateway", name)
	case !p.reaches(gateway):
		r.invalid(path, text, "is not in the network of any of the pool's addresses; network.prefixLength may be missing or too long")
	case gateway.Is4() && r.reservesFor(p, gateway):
		r.invalid(path, text, "is the network or broadcast address of its network")
	}
}

func (p *part) reaches(gateway netip.Addr) bool {
	if !pooltree.NeedsLink(gateway) {
		return true
	}
	known := slices.DeleteFunc(slices.Clone(p.entries), func(e entry) bool { return p.networkBits(e) >= gateway.BitLen() })
	return len(known) == 0 || slices.ContainsFunc(known, func(e entry) bool { return p.onLink(e, gateway) })
}

// onLink reports whether an address of the entry is in one network with the
// gateway.
func (p *part) onLink(e entry, gateway netip.Addr) bool {
	network := netip.PrefixFrom(gateway, p.networkBits(e))
	return network.IsValid() && netipx.RangeOfPrefix(network).Overlaps(e.addrs)
}

func (r *resolver) reservesFor(p *part, gateway netip.Addr) bool {
	return !r.allocatesReserved() && slices.ContainsFunc(p.entries, func(e entry) bool {
		return p.onLink(e, gateway) && ipspace.IsReserved(gateway, p.networkBits(e))
	})
}

// special are the ranges that no interface is numbered from. Everything else
// is left to whoever plans the network: private, shared, documentation and
// link-local space all have their uses in a pool.
var special = []struct {
	name        string
	first, last string
}{
	{"the unspecified address (RFC 1122 section 3.2.1.3)", "0.0.0.0", "0.0.0.0"},
	{"a loopback address (RFC 1122 section 3.2.1.3)", "127.0.0.0", "127.255.255.255"},
	{"a multicast address (RFC 5771)", "224.0.0.0", "239.255.255.255"},
	{"the limited broadcast address (RFC 919)", "255.255.255.255", "255.255.255.255"},
	{"the unspecified address (RFC 4291 section 2.5.2)", "::", "::"},
	{"the loopback address (RFC 4291 section 2.5.3)", "::1", "::1"},
	{"a multicast address (RFC 4291 section 2.7)", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
}

// specialIn names the special range that addrs overlaps.
func specialIn(addrs netipx.IPRange) (name string, found bool) {
	for _, s := range special {
		if r, err := netipx.ParseIPRange(s.first + "-" + s.last); err == nil && r.Overlaps(addrs) {
			return s.name, true
		}
	}
	return "", false
}

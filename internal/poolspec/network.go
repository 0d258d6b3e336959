// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

func (r *resolver) readNetwork() {
	network := r.spec.Network
	if network == nil {
		return
	}
	path := r.path.Child("network")
	r.checkNetworkBits(path.Child("prefixLength"))
	for i, text := range network.DNSServers {
		r.readDNSServer(path.Child("dnsServers").Index(i), string(text))
	}
	if network.Gateway != "" {
		r.readGateway(path.Child("gateway"), network.Gateway)
	}
}

// checkNetworkBits allows any length of the family: a pool may be a slice of a
// bigger network, and a block may hold many networks.
func (r *resolver) checkNetworkBits(path *field.Path) {
	bits := r.spec.Network.PrefixLength
	if bits == nil || len(r.entries) == 0 {
		return
	}
	if host := r.entries[0].addrs.From().BitLen(); *bits < 1 || int(*bits) > host {
		r.invalid(path, *bits, "must be between 1 and %d in a pool of %s", host, r.family)
	}
}

// readDNSServer accepts either family, and loopback for resolvers on the
// machine itself.
func (r *resolver) readDNSServer(path *field.Path, text string) {
	server, err := ipspace.ParseAddr(text)
	switch {
	case err != nil:
		r.invalid(path, text, "%v", err)
	case server.IsUnspecified() || server.IsMulticast():
		r.invalid(path, text, "is not the address of a server")
	case slices.Contains(r.dns, server):
		r.fail(field.Duplicate(path, text))
	default:
		r.dns = append(r.dns, server)
	}
}

// readGateway wants an address that hosts of the pool can reach: inside the
// network of at least one part of the pool whose network is known, that is,
// shorter than host length. It may lie outside the pool. An IPv6 gateway may
// be link-local, as routers announce themselves (RFC 4861 §4.2). The network
// and broadcast address of an IPv4 network are no gateways unless they are
// handed out like any other.
func (r *resolver) readGateway(path *field.Path, text string) {
	gateway, err := ipspace.ParseAddr(text)
	if err != nil {
		r.invalid(path, text, "%v", err)
		return
	}
	if !r.checkFamily(path, text, gateway) {
		return
	}
	r.gateway = gateway
	name, special := specialIn(netipx.IPRangeFrom(gateway, gateway))
	switch {
	case special:
		r.invalid(path, text, "is %s, which is no gateway", name)
	case !r.reachable(gateway):
		r.invalid(path, text, "is not in the network of any of the pool's addresses; network.prefixLength may be missing or too long")
	case gateway.Is4() && r.reservesFor(gateway):
		r.invalid(path, text, "is the network or broadcast address of its network")
	}
}

func (r *resolver) reachable(gateway netip.Addr) bool {
	if gateway.Is6() && gateway.IsLinkLocalUnicast() {
		return true
	}
	known := slices.DeleteFunc(slices.Clone(r.entries), func(e entry) bool { return r.networkBits(e) >= gateway.BitLen() })
	return len(known) == 0 || slices.ContainsFunc(known, func(e entry) bool { return r.onLink(e, gateway) })
}

// onLink reports whether an address of the entry is in one network with the
// gateway.
func (r *resolver) onLink(e entry, gateway netip.Addr) bool {
	network := netip.PrefixFrom(gateway, r.networkBits(e))
	return network.IsValid() && netipx.RangeOfPrefix(network).Overlaps(e.addrs)
}

func (r *resolver) reservesFor(gateway netip.Addr) bool {
	return !r.allocatesReserved() && slices.ContainsFunc(r.entries, func(e entry) bool {
		return r.onLink(e, gateway) && ipspace.IsReserved(gateway, r.networkBits(e))
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

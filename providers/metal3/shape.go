// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Shape is what the spec of an IPPool means.
type Shape struct {
	// Config describes the pool. Its tiers are Entries, and who is denied follows from Unkept.
	Config pooltree.Config
	// Entries are the addresses of each entry that no earlier one has, ascending, in the order in which the entries are consumed. An entry
	// may have none. Gateways are among them.
	Entries [][]netipx.IPRange
	// Unkept says, by the name of the claim, why the pool does not keep what preAllocations has for it; empty if all is kept. A claim of such
	// a name gets nothing.
	Unkept map[string]*field.Error
	// Refused are mistakes that Metal3's admission refuses. A pool that is stored with them is served.
	Refused field.ErrorList
	// Warnings are of what is served but probably not meant.
	Warnings []string
}

// Read returns what the spec of an IPPool in this namespace means, or every mistake in it with its field, never both.
func Read(spec *m3v1.IPPoolSpec, namespace string) (*Shape, field.ErrorList) {
	r := &reader{spec: spec, path: field.NewPath("spec"), shape: Shape{
		Config: pooltree.Config{Reserved: pooltree.AllocateReserved, OffLink: pooltree.AllocateOffLink, KeepsGateways: true, Denied: map[pooltree.Claimant]string{}},
		Unkept: map[string]*field.Error{},
	}}
	r.readStrategy()
	r.readEntries()
	r.readKept(namespace)
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	r.shape.Config.Tiers = r.shape.Entries
	for name, why := range r.shape.Unkept {
		r.shape.Config.Denied[pooltree.Claimant{Namespace: namespace, Name: name}] = why.Error()
	}
	return &r.shape, nil
}

// reader reads one spec.
type reader struct {
	spec  *m3v1.IPPoolSpec
	path  *field.Path
	shape Shape
	errs  field.ErrorList

	// ranges are those of the entries as they are written; the zero value for an entry without addresses.
	ranges []netipx.IPRange
	// taken are the addresses of all entries so far.
	taken taken
}

func (r *reader) warn(path *field.Path, format string, args ...any) {
	r.shape.Warnings = append(r.shape.Warnings, path.String()+": "+fmt.Sprintf(format, args...))
}

func (r *reader) invalid(path *field.Path, value any, format string, args ...any) {
	r.errs = append(r.errs, field.Invalid(path, excerpt.Any(value), excerpt.Message(fmt.Sprintf(format, args...))))
}

func (r *reader) readStrategy() {
	switch r.spec.AllocationStrategy {
	case "", m3v1.SequentialStrategy:
		r.shape.Config.Strategy = pooltree.FirstFit
	case m3v1.RandomStrategy:
		r.shape.Config.Strategy = pooltree.Random
	default:
		r.errs = append(r.errs, field.NotSupported(r.path.Child("allocationStrategy"), excerpt.Of(r.spec.AllocationStrategy),
			[]m3v1.AllocationStrategy{m3v1.SequentialStrategy, m3v1.RandomStrategy}))
	}
}

func (r *reader) readEntries() {
	general := r.readNetwork(r.path, r.spec.Prefix, r.spec.Gateway, r.spec.DNSServers, pooltree.Network{})
	for i := range r.spec.Pools {
		entry, path := &r.spec.Pools[i], r.path.Child("pools").Index(i)
		network := r.readNetwork(path, entry.Prefix, entry.Gateway, entry.DNSServers, general)
		addresses := r.readRange(path, entry)
		r.ranges = append(r.ranges, addresses)
		r.shape.Entries = append(r.shape.Entries, nil)
		if !addresses.IsValid() || !r.checkFamily(path, addresses) {
			continue
		}
		r.checkNetwork(path, addresses, network)
		fresh := r.taken.add(addresses)
		if len(fresh) != 1 || fresh[0] != addresses {
			r.warnOfOverlap(path, i)
		}
		r.shape.Entries[i] = fresh
		for _, part := range fresh {
			r.shape.Config.Areas = append(r.shape.Config.Areas, pooltree.Area{Range: part, Network: network})
		}
	}
}

// readNetwork reads what comes with addresses: what is said here and, for what is not, general. Every gateway that is named is kept back,
// whether or not an address comes with it.
func (r *reader) readNetwork(path *field.Path, bits int, gateway *m3v1.Address, servers []m3v1.Address, general pooltree.Network) pooltree.Network {
	network := general
	if bits != 0 {
		network.Bits = bits
	}
	if address, ok := r.readAddress(path.Child("gateway"), gateway); ok {
		network.Gateway = address
		r.shape.Config.Gateways = append(r.shape.Config.Gateways, address)
	}
	if len(servers) > 0 {
		network.DNSServers = make([]netip.Addr, 0, len(servers))
	}
	for i := range servers {
		if address, ok := r.readAddress(path.Child("dnsServers").Index(i), &servers[i]); ok {
			network.DNSServers = append(network.DNSServers, address)
		}
	}
	return network
}

// checkFamily refuses an entry of another family than the first.
func (r *reader) checkFamily(path *field.Path, addresses netipx.IPRange) bool {
	if len(r.shape.Config.Areas) == 0 {
		return true
	}
	first := r.shape.Config.Areas[0].Range.From()
	if first.BitLen() == addresses.From().BitLen() {
		return true
	}
	r.invalid(path, addresses.String(), "is %s, and the entries before are %s: a pool has addresses of one family", familyOf(addresses.From()), familyOf(first))
	return false
}

// checkNetwork warns of what Metal3 hands out as it is, and no host can use.
func (r *reader) checkNetwork(path *field.Path, addresses netipx.IPRange, network pooltree.Network) {
	host := addresses.From().BitLen()
	switch {
	case network.Bits == 0:
		r.warn(path.Child("prefix"), "not set, nor is spec.prefix: the addresses come without the length of their network")
	case network.Bits < 0 || network.Bits > host:
		r.warn(path.Child("prefix"), "%d is no length of an %s network", network.Bits, familyOf(addresses.From()))
	}
	if network.Gateway.IsValid() && network.Gateway.BitLen() != host {
		r.warn(path.Child("gateway"), "%s is of another family than the addresses", network.Gateway)
		return
	}
	for _, off := range (pooltree.Area{Range: addresses, Network: network}).OffLink() {
		r.warn(path.Child("gateway"), "%s is not in the network of %s with prefix length %d: hosts do not reach it", network.Gateway, off.Range, network.Bits)
	}
}

func (r *reader) warnOfOverlap(path *field.Path, i int) {
	for earlier, other := range r.ranges[:i] {
		if other.IsValid() && other.Overlaps(r.ranges[i]) {
			r.warn(path, "overlaps pools[%d], which says what comes with the addresses of both", earlier)
			return
		}
	}
}

// readKept reads what is kept for claims. What the pool cannot hand out it does not keep.
func (r *reader) readKept(namespace string) {
	holders := map[netip.Addr]string{}
	for _, name := range slices.Sorted(maps.Keys(r.spec.PreAllocations)) {
		text, path := r.spec.PreAllocations[name], r.path.Child("preAllocations").Key(excerpt.Of(name))
		address, ok := r.readAddress(path, &text)
		if !ok {
			continue
		}
		holder, isHeld := holders[address]
		switch {
		case isHeld:
			r.refuseKept(name, field.Invalid(path, excerpt.Of(text), fmt.Sprintf("is kept for claim %q", excerpt.Of(holder))))
		case !r.taken.contains(address):
			r.refuseKept(name, field.Invalid(path, excerpt.Of(text), "is in none of spec.pools"))
		case slices.Contains(r.shape.Config.Gateways, address):
			r.shape.Unkept[name] = field.Invalid(path, excerpt.Of(text), "is a gateway, which is not handed out")
		default:
			holders[address] = name
			r.shape.Config.Kept = append(r.shape.Config.Kept, pooltree.Kept{
				Prefix: netip.PrefixFrom(address, address.BitLen()),
				For:    pooltree.Claimant{Namespace: namespace, Name: name},
			})
		}
	}
}

// refuseKept has the pool keep nothing for a claim.
func (r *reader) refuseKept(name string, why *field.Error) {
	r.shape.Unkept[name] = why
	r.shape.Refused = append(r.shape.Refused, why)
}

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"fmt"
	"net/netip"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// manyBlocks is from how many CIDR blocks on a pool has a warning: each is recorded by itself.
const manyBlocks = 1024

// Shape is what the spec of a pool means.
type Shape struct {
	Config pooltree.Config
	// Warnings are of what is served but probably not meant.
	Warnings []string
}

// Read returns what the spec of a pool means, or every mistake in it with its field, never both.
func Read(spec *icv1.InClusterIPPoolSpec) (*Shape, field.ErrorList) {
	r := &reader{spec: spec, path: field.NewPath("spec")}
	addresses := r.readSet(r.path.Child("addresses"), spec.Addresses)
	excluded := r.readSet(r.path.Child("excludedAddresses"), spec.ExcludedAddresses)
	network := r.readNetwork(addresses)
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	never := r.excluding(excluded, network)
	shape := &Shape{Config: pooltree.Config{
		Excluded: never, Reserved: pooltree.AllocateReserved, OffLink: pooltree.AllocateOffLink, KeepsGateways: true,
		Strategy: pooltree.FirstFit,
	}}
	for _, part := range addresses.Ranges() {
		shape.Config.Areas = append(shape.Config.Areas, pooltree.Area{
			Range: part, Network: pooltree.Network{Bits: spec.Prefix, Gateway: r.gateway},
		})
	}
	shape.Warnings = r.doubts(addresses, never, network)
	return shape, nil
}

// reader reads one spec.
type reader struct {
	spec *icv1.InClusterIPPoolSpec
	path *field.Path
	// bits is the length of an address of the pool's family; 0 before any is read.
	bits int
	// gateway is the zero value for none.
	gateway netip.Addr
	errs    field.ErrorList
}

func (r *reader) invalid(path *field.Path, value any, format string, args ...any) {
	r.errs = append(r.errs, field.Invalid(path, excerpt.Any(value), fmt.Sprintf(format, args...)))
}

// readSet returns the addresses of entries, which may overlap.
func (r *reader) readSet(path *field.Path, entries []string) *netipx.IPSet {
	var builder netipx.IPSetBuilder
	for i, text := range entries {
		addresses, err := parseEntry(text)
		switch {
		case err != nil:
			r.invalid(path.Index(i), text, "%v", err)
		case r.isOtherFamily(addresses.From()):
			r.invalid(path.Index(i), text, "is of another family than the entries before: a pool has one")
		default:
			builder.AddRange(addresses)
		}
	}
	set, err := builder.IPSet()
	if err != nil { // by the builder's contract none of the ranges that it was given is invalid
		r.invalid(path, entries, "%v", err)
		return &netipx.IPSet{}
	}
	return set
}

// isOtherFamily reports whether an address is not of the pool's family, which is that of the first that it is asked about.
func (r *reader) isOtherFamily(address netip.Addr) bool {
	if r.bits == 0 {
		r.bits = address.BitLen()
	}
	return address.BitLen() != r.bits
}

// readNetwork returns the network that the addresses are in; the zero value, with a mistake, if there is none.
func (r *reader) readNetwork(addresses *netipx.IPSet) netip.Prefix {
	r.readGateway()
	ranges, path := addresses.Ranges(), r.path.Child("addresses")
	if len(ranges) == 0 {
		if len(r.errs) == 0 {
			r.errs = append(r.errs, field.Required(path, "must have an address"))
		}
		return netip.Prefix{}
	}
	lowest, highest := ranges[0].From(), ranges[len(ranges)-1].To()
	network, err := lowest.Prefix(r.spec.Prefix)
	if err != nil {
		r.invalid(r.path.Child("prefix"), r.spec.Prefix, "must be between 0 and %d", r.bits)
		return netip.Prefix{}
	}
	if _, _, isWhole := addresses.RemoveFreePrefix(0); isWhole {
		r.invalid(path, r.spec.Addresses, "contain every address of their family")
	}
	if !network.Contains(highest) {
		r.invalid(path, r.spec.Addresses, "%s is not in %s, the network of the lowest address with spec.prefix", highest, network)
	}
	return network
}

func (r *reader) readGateway() {
	if r.spec.Gateway == "" {
		return
	}
	path := r.path.Child("gateway")
	gateway, err := parseAddress(r.spec.Gateway)
	switch {
	case err != nil:
		r.invalid(path, r.spec.Gateway, "%v", err)
	case r.isOtherFamily(gateway):
		r.invalid(path, r.spec.Gateway, "is of another family than the addresses")
	default:
		r.gateway = gateway
	}
}

// excluding returns what is excluded together with the addresses that the in-cluster provider reserves: of a network of every length the
// first, and of IPv4 the last.
func (r *reader) excluding(excluded *netipx.IPSet, network netip.Prefix) *netipx.IPSet {
	if r.spec.AllocateReservedIPAddresses {
		return excluded
	}
	var builder netipx.IPSetBuilder
	builder.AddSet(excluded)
	builder.Add(network.Addr())
	if network.Addr().Is4() {
		builder.Add(netipx.PrefixLastIP(network))
	}
	set, err := builder.IPSet()
	if err != nil { // both are addresses
		return excluded
	}
	return set
}

// doubts returns what is served but probably not meant.
func (r *reader) doubts(addresses, never *netipx.IPSet, network netip.Prefix) (doubts []string) {
	var builder netipx.IPSetBuilder
	builder.AddSet(addresses)
	builder.RemoveSet(never)
	if r.gateway.IsValid() {
		builder.Remove(r.gateway)
	}
	if open, err := builder.IPSet(); err == nil && len(open.Ranges()) == 0 {
		doubts = append(doubts, "spec.addresses: all are excluded, reserved or the gateway, so that nothing is handed out")
	}
	if r.gateway.IsValid() && !network.Contains(r.gateway) {
		doubts = append(doubts, fmt.Sprintf("spec.gateway: %s is not in %s, the network of the addresses: hosts do not reach it", r.gateway, network))
	}
	if n := len(addresses.Prefixes()); n > manyBlocks {
		doubts = append(doubts, fmt.Sprintf("spec.addresses: are %d CIDR blocks, each with a record; up to %d are advisable", n, manyBlocks))
	}
	return doubts
}

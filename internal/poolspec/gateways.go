// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"fmt"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// CheckGateways returns the entries of the pool with addresses that do not
// reach the gateway that comes with them, also where the pool has that from
// its parent. Entries whose addresses did not reach the same gateway in the
// former shape are returned as known. Either shape is nil if there is none.
//
// It is no part of Resolve: a pool that was stored before this rule, or whose
// parent has changed, goes on serving what reaches its gateway.
func CheckGateways(spec *ipamv1.IPPoolSpec, pool ipamv1.PoolReference, shape, was *pooltree.Pool) (mistakes, known field.ErrorList) {
	if shape == nil {
		return nil, nil
	}
	r := resolver{spec: spec, pool: pool, path: field.NewPath("spec")}
	r.readBlocks()
	r.readNetworks()
	for i := range r.parts {
		p := &r.parts[i]
		for _, e := range p.entries {
			lost := shape.OffLink(e.addrs)
			switch mistake := p.offLink(e, lost, Inherits(spec)); {
			case len(lost) == 0:
			case hasOffLink(was, lost):
				known = append(known, mistake)
			default:
				mistakes = append(mistakes, mistake)
			}
		}
	}
	return mistakes, known
}

// offLink describes what of an entry does not reach its gateway; nil if all of it does.
func (p *part) offLink(e entry, lost []pooltree.Area, inherits bool) *field.Error {
	if len(lost) == 0 {
		return nil
	}
	first := lost[0]
	what, verb, more := first.Range.String(), "do", ""
	if first.Range.From() == first.Range.To() {
		what, verb = first.Range.From().String(), "does"
	}
	if n := len(lost) - 1; n > 0 {
		verb, more = "do", fmt.Sprintf(" and %d more of its ranges", n)
	}
	remedy := fmt.Sprintf("correct %s, or set the network of these addresses in spec.subnets", p.path)
	if inherits && !p.subnet.IsValid() {
		remedy = fmt.Sprintf("the pool inherits them from its parent: set %s", p.path)
	}
	return field.Invalid(e.path, e.text, fmt.Sprintf("%s%s %s not reach gateway %s with prefix length %d; %s",
		what, more, verb, first.Network.Gateway, first.Network.Bits, remedy))
}

// hasOffLink reports whether the shape has these areas off-link already, with the same network.
func hasOffLink(shape *pooltree.Pool, lost []pooltree.Area) bool {
	if shape == nil {
		return false
	}
	for _, area := range lost {
		var same netipx.IPSetBuilder
		for _, a := range shape.OffLink(area.Range) {
			if a.Network.Gateway == area.Network.Gateway && a.Network.Bits == area.Network.Bits {
				same.AddRange(a.Range)
			}
		}
		if set, err := same.IPSet(); err != nil || !set.ContainsRange(area.Range) {
			return false
		}
	}
	return true
}

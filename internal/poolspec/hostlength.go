// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// CheckHostLength looks for addresses that come with host length although
// nobody has said so: ranges and single addresses without
// network.prefixLength. With a gateway it is a mistake, because machines could
// not reach that; without one it is a warning.
//
// It is no part of Resolve: a pool that was stored before this rule goes on
// serving, and only admission asks.
func CheckHostLength(spec *ipamv1.IPPoolSpec, pool ipamv1.PoolReference) (mistakes field.ErrorList, warnings []string) {
	r := resolver{spec: spec, pool: pool, path: field.NewPath("spec")}
	r.readBlocks()
	r.readNetworks()
	for i := range r.parts {
		p := &r.parts[i]
		host, missing := p.hostLength()
		path := p.path.Child("prefixLength")
		switch {
		case !missing:
		case p.gateway.IsValid():
			mistakes = append(mistakes, field.Required(path, fmt.Sprintf(
				"ranges and single addresses come with a /%d otherwise, and machines do not reach gateway %s: set the length of its network", host, p.gateway)))
		case len(spec.Addresses) > 0:
			warnings = append(warnings, fmt.Sprintf(
				"%s: not set: ranges and single addresses come with a /%d; set the length of their network, or %d if that is what is wanted", path, host, host))
		}
	}
	return mistakes, warnings
}

// hostLength reports whether some addresses of the part come with host length
// although the spec does not say so, and which length that is.
func (p *part) hostLength() (host int, missing bool) {
	if p.spec != nil && p.spec.PrefixLength != nil {
		return 0, false
	}
	i := slices.IndexFunc(p.entries, func(e entry) bool { return p.networkBits(e) == e.addrs.From().BitLen() })
	if i < 0 {
		return 0, false
	}
	return p.entries[i].addrs.From().BitLen(), true
}

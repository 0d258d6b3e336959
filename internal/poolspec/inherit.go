// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Inherits reports whether the pool has the network settings of the pool that
// it is carved from: it sets none of its own.
func Inherits(spec *ipamv1.IPPoolSpec) bool {
	n := spec.Network
	return spec.ParentRef != nil && (n == nil || n.PrefixLength == nil && n.Gateway == "" && len(n.DNSServers) == 0)
}

// ResolveUnder is Resolve for a pool that is carved from parent, which may be
// nil: a pool that sets no network has that of the parent, who may have it
// from its own. Subnets of its own stand; those without DNS servers have the
// parent's.
//
// The parent's settings make no spec invalid: they may change at any time. An
// address that is kept for a claim and becomes the gateway is not kept any
// more.
func ResolveUnder(spec *ipamv1.IPPoolSpec, pool ipamv1.PoolReference, parent *pooltree.Pool) (*pooltree.Pool, field.ErrorList) {
	r := resolver{spec: spec, pool: pool, path: field.NewPath("spec")}
	shape := r.resolve()
	if shape == nil || parent == nil || !Inherits(spec) {
		return shape, r.errs
	}
	config := r.config()
	config.Areas = nil
	for i := range r.parts {
		config.Areas = append(config.Areas, r.parts[i].areasUnder(parent)...)
	}
	shape = pooltree.New(config)
	isRefused := func(k pooltree.Kept) bool { _, refused := shape.Refuses(k.Prefix); return refused }
	if slices.ContainsFunc(config.Kept, isRefused) {
		config.Kept = slices.DeleteFunc(config.Kept, isRefused)
		shape = pooltree.New(config)
	}
	return shape, nil
}

// areasUnder returns the addresses of the part with what comes with them where
// the pool has the parent's network settings. What does not lie in the parent
// has none.
func (p *part) areasUnder(parent *pooltree.Pool) []pooltree.Area {
	var areas []pooltree.Area
	for _, own := range p.areas() {
		inherited := parent.AreasIn(own.Range)
		switch {
		case !containsRange(parent, own.Range):
			areas = append(areas, own)
		case p.subnet.IsValid():
			if len(own.Network.DNSServers) == 0 {
				own.Network.DNSServers = inherited[0].Network.DNSServers
			}
			areas = append(areas, own)
		default:
			for _, a := range inherited {
				if a.Network.Implied {
					a.Network.Bits = own.Network.Bits
				}
				areas = append(areas, a)
			}
		}
	}
	return areas
}

func containsRange(parent *pooltree.Pool, r netipx.IPRange) bool {
	return parent.Addresses().ContainsRange(r)
}

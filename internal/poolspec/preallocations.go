// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// claimKinds are the kinds of claims that addresses are kept for, by their names.
var claimKinds = map[string]schema.GroupKind{kinds.IPAddressClaim.Kind: kinds.IPAddressClaim, kinds.IPClaim.Kind: kinds.IPClaim}

// preAllocation is one readable entry of spec.preAllocations.
type preAllocation struct {
	pooltree.Kept
	// path of the address, and its text.
	path *field.Path
	text string
}

// readPreAllocations reads what is kept for which claim: no address for two, and no two for one claim.
func (r *resolver) readPreAllocations() {
	path, all := r.path.Child("preAllocations"), r.spec.PreAllocations
	if len(all) > ipamv1.MaxPreAllocations {
		r.fail(field.TooMany(path, len(all), ipamv1.MaxPreAllocations))
		return
	}
	claims, addresses := map[pooltree.Claimant]bool{}, map[netip.Prefix]bool{}
	for i := range all {
		entry, address, text := path.Index(i), path.Index(i).Child("address"), all[i].Address
		claim, known := r.readClaimant(entry, &all[i])
		if known && claims[claim] {
			r.fail(field.Duplicate(entry.Child("claimName"), excerpt.Of(claim.String())))
		}
		kept, readable := r.readKept(address, text)
		if readable && addresses[kept] {
			r.fail(field.Duplicate(address, excerpt.Of(text)))
		}
		if known && readable {
			r.kept = append(r.kept, preAllocation{pooltree.Kept{Prefix: kept, For: claim}, address, text})
		}
		claims[claim], addresses[kept] = true, true
	}
}

// readClaimant reads which claim an address is kept for. An IPPool has claims of its own namespace only.
func (r *resolver) readClaimant(path *field.Path, p *ipamv1.PreAllocation) (pooltree.Claimant, bool) {
	kind, namespace := cmp.Or(p.Kind, kinds.IPAddressClaim.Kind), cmp.Or(p.Namespace, r.pool.Namespace)
	claimKind, known := claimKinds[kind]
	if !known {
		r.fail(field.NotSupported(path.Child("kind"), excerpt.Of(kind), slices.Sorted(maps.Keys(claimKinds))))
	}
	switch {
	case r.pool.Namespace == "" && namespace == "":
		r.fail(field.Required(path.Child("namespace"), "a GlobalIPPool has claims of every namespace"))
		known = false
	case r.pool.Namespace != "" && namespace != r.pool.Namespace:
		r.invalid(path.Child("namespace"), namespace, "an IPPool has claims of its own namespace only, %s", r.pool.Namespace)
		known = false
	}
	return pooltree.Claimant{Group: claimKind.Group, Kind: kind, Namespace: namespace, Name: p.ClaimName}, known
}

// readKept reads what is kept: an address, or the block that begins with it where claims get blocks.
func (r *resolver) readKept(path *field.Path, text string) (netip.Prefix, bool) {
	address, err := ipspace.ParseAddr(text)
	if err != nil {
		r.invalid(path, text, "%v", err)
		return netip.Prefix{}, false
	}
	if !r.checkFamily(path, text, address) {
		return netip.Prefix{}, false
	}
	kept := netip.PrefixFrom(address, cmp.Or(r.claimBits, address.BitLen()))
	if kept != kept.Masked() {
		r.invalid(path, text, "is not the first address of a /%d, which is what claims get", kept.Bits())
		return netip.Prefix{}, false
	}
	return kept, true
}

// checkKept refuses to keep what the pool would never hand out.
func (r *resolver) checkKept(shape *pooltree.Pool) {
	for _, k := range r.kept {
		if reason, refused := shape.Refuses(k.Prefix); refused {
			r.invalid(k.path, k.text, "%s", reason)
		}
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"cmp"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// Parent returns the pool that the pool's block is carved from; the zero value
// for a root.
func Parent(spec *ipamv1.IPPoolSpec, pool ipamv1.PoolReference) ipamv1.PoolReference {
	if spec.ParentRef == nil {
		return ipamv1.PoolReference{}
	}
	parent := ipamv1.PoolReference{Kind: spec.ParentRef.Kind, Namespace: spec.ParentRef.Namespace, Name: spec.ParentRef.Name}
	if parent.GroupKind() == kinds.IPPool {
		parent.Namespace = cmp.Or(parent.Namespace, pool.Namespace)
	}
	return parent
}

// NamesParent reports whether the spec names a pool of Weir's kinds that its
// block is carved from.
func NamesParent(spec *ipamv1.IPPoolSpec) bool {
	if spec.ParentRef == nil || spec.ParentRef.Name == "" {
		return false
	}
	kind := kinds.Weir(spec.ParentRef.Kind)
	return kind == kinds.IPPool || kind == kinds.GlobalIPPool
}

// CheckParent returns what is wrong with what a pool says of the pool that it is
// carved from, as far as it can be told without that.
func CheckParent(spec *ipamv1.IPPoolSpec, pool ipamv1.PoolReference) field.ErrorList {
	r := resolver{spec: spec, pool: pool, path: field.NewPath("spec")}
	r.checkParent()
	return r.errs
}

// checkParent checks what a pool says of the pool that it is carved from, as
// far as it can be told without that. A cluster-scoped pool comes from another:
// whoever may delete a namespace could take a namespaced parent away from all.
func (r *resolver) checkParent() {
	if r.spec.ParentRef == nil || r.spec.ParentRef.Name == "" {
		return // the schema wants a name
	}
	parent, path := Parent(r.spec, r.pool), r.path.Child("parentRef")
	switch {
	case parent == r.pool:
		r.invalid(path.Child("name"), parent.Name, "a pool cannot be carved from itself")
	case r.pool.GroupKind() == kinds.GlobalIPPool && parent.GroupKind() == kinds.IPPool:
		r.invalid(path.Child("kind"), parent.Kind, "a GlobalIPPool is carved from a GlobalIPPool")
	case parent.GroupKind() == kinds.GlobalIPPool && parent.Namespace != "":
		r.fail(field.Forbidden(path.Child("namespace"), "a GlobalIPPool has no namespace"))
	}
	if cidr, err := netip.ParsePrefix(r.spec.CIDR); err == nil && r.spec.PrefixLength != nil && int(*r.spec.PrefixLength) != cidr.Bits() {
		r.invalid(r.path.Child("prefixLength"), *r.spec.PrefixLength, "cidr is a /%d", cidr.Bits())
	}
}

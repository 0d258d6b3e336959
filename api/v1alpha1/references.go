// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupKind is the kind of pool that is referred to.
func (r PoolReference) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: cmp.Or(r.APIGroup, GroupVersion.Group), Kind: r.Kind}
}

// Canonical leaves the group out where it is the default, so that two references to the same pool are equal.
func (r PoolReference) Canonical() PoolReference {
	if r.APIGroup == GroupVersion.Group {
		r.APIGroup = ""
	}
	return r
}

// GroupKind is the kind of the claim, or of the pool that a block is recorded for.
func (r ClaimReference) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

// Pool is the pool that a block is recorded for.
func (r ClaimReference) Pool() PoolReference {
	return PoolReference{APIGroup: r.APIGroup, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.Canonical()
}

// IsRootBlock says whether the record is of a root pool's own block.
func (s *IPAllocationSpec) IsRootBlock() bool {
	return s.Purpose == PoolBlockPurpose && s.ClaimRef.Pool() == s.PoolRef.Canonical()
}

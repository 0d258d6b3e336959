// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// Kinds of pools, as they appear in references.
const (
	// InClusterIPPoolKind is the kind of pools of a namespace.
	InClusterIPPoolKind = "InClusterIPPool"
	// GlobalInClusterIPPoolKind is the kind of pools of the whole cluster.
	GlobalInClusterIPPoolKind = "GlobalInClusterIPPool"
)

// Finalizers, as the in-cluster provider sets and removes them. Whichever of the two controllers runs can finish what the other began. Other
// providers of this group use the same.
const (
	// PoolFinalizer holds a pool until nothing is allocated from it.
	PoolFinalizer = "ipam.cluster.x-k8s.io/ProtectPool"
	// ClaimFinalizer is on every IPAddressClaim that may have an address.
	ClaimFinalizer = "ipam.cluster.x-k8s.io/ReleaseAddress"
	// AddressFinalizer protects an IPAddress for as long as its claim lives.
	AddressFinalizer = "ipam.cluster.x-k8s.io/ProtectAddress"
)

// Annotations by which Weir goes beyond the in-cluster provider's API. They are set when a pool is created, and never changed.
const (
	// AddressSpaceAnnotation on a pool names the address space that its addresses are unique in. Absent means a space of the pool's own. On a
	// Namespace it is what new pools of the namespace get that name neither a space nor a parent.
	AddressSpaceAnnotation = "ipam.weir.dev/address-space"
	// ParentAnnotation on a pool names the pool that its addresses are carved from, as GlobalIPPool/<name>. Absent means none.
	ParentAnnotation = "ipam.weir.dev/parent"
)

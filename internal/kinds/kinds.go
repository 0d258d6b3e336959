// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds names kinds of objects by group and kind, so that references are compared by both: IPPool, IPClaim and IPAddress exist in
// several groups. Nothing else in Weir compares the name of a kind.
package kinds

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// addressGroup is that of Cluster API's claims.
const addressGroup = "ipam.cluster.x-k8s.io"

// Kinds that Weir knows. Compare them with ==.
var (
	IPPool         = Weir(ipamv1.IPPoolKind)
	GlobalIPPool   = Weir(ipamv1.GlobalIPPoolKind)
	IPClaim        = Weir(ipamv1.IPClaimKind)
	IPAllocation   = Weir(ipamv1.IPAllocationKind)
	IPAddressClaim = schema.GroupKind{Group: addressGroup, Kind: "IPAddressClaim"}
	IPAddress      = schema.GroupKind{Group: addressGroup, Kind: "IPAddress"}
	Cluster        = schema.GroupKind{Group: clusterv1.GroupVersion.Group, Kind: clusterv1.ClusterKind}
)

// Weir returns the kind of this name in Weir's own group.
func Weir(kind string) schema.GroupKind {
	return schema.GroupKind{Group: ipamv1.GroupVersion.Group, Kind: kind}
}

// OfOwner returns the kind of an owner.
func OfOwner(owner metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
}

// IsSame says whether two owner references are to an object of the same kind and name, whatever its UID.
func IsSame(a, b metav1.OwnerReference) bool { return a.Name == b.Name && OfOwner(a) == OfOwner(b) }

// Pool returns a reference to a pool. The namespace is empty for a cluster-scoped one.
func Pool(kind schema.GroupKind, namespace, name string) ipamv1.PoolReference {
	return ipamv1.PoolReference{APIGroup: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}.Canonical()
}

// Claim returns how records name an object that something is recorded for.
func Claim(kind schema.GroupKind, key types.NamespacedName, uid types.UID) ipamv1.ClaimReference {
	return ipamv1.ClaimReference{APIGroup: kind.Group, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name, UID: string(uid)}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Kinds of this group, as they appear in references.
const (
	// IPPoolKind is the kind of pools.
	IPPoolKind = "IPPool"
	// IPClaimKind is the kind of claims.
	IPClaimKind = "IPClaim"
	// IPAddressKind is the kind of what claims are answered with.
	IPAddressKind = "IPAddress"
)

// Finalizers, as Metal3's controller sets and removes them. Whichever of the two controllers runs can finish what the other began.
const (
	// IPPoolFinalizer holds a pool until nothing is allocated from it.
	IPPoolFinalizer = "ippool.ipam.metal3.io"
	// IPClaimFinalizer is on every IPClaim that may have an address.
	IPClaimFinalizer = "ipclaim.ipam.metal3.io"
	// IPAddressFinalizer protects an IPAddress for as long as its claim lives.
	IPAddressFinalizer = "ipaddress.ipam.metal3.io"

	// ClusterAPIClaimFinalizer is on every IPAddressClaim, of Cluster API, that names an IPPool of this group.
	ClusterAPIClaimFinalizer = "ipam.metal3.io/ipaddressclaim"
	// ClusterAPIAddressFinalizer is on the IPAddress, of Cluster API, that answers such a claim.
	ClusterAPIAddressFinalizer = "ipam.metal3.io/ipaddress"
)

// AddressAnnotation on an IPClaim, or an IPAddressClaim that names an IPPool of this group, asks for one address: that one is handed out,
// or none.
const AddressAnnotation = "ipAddress"

// Annotations by which Weir goes beyond Metal3's API. They are set when a pool is created, and never changed.
const (
	// AddressSpaceAnnotation on an IPPool names the address space that its addresses are unique in. Absent means a space of the pool's own.
	AddressSpaceAnnotation = "ipam.weir.dev/address-space"
	// ParentAnnotation on an IPPool names the pool that its addresses are carved from, as GlobalIPPool/<name>. Absent means none.
	ParentAnnotation = "ipam.weir.dev/parent"
)

// Texts of an IPClaim's status.errorMessage that other programs compare with.
const (
	// ExhaustedMessage: the pool has no free address, or the address that is asked for is in none of its entries.
	ExhaustedMessage = "Exhausted IP Pools"
	// ConflictingMessage: the address that is asked for is another than the one that the pool keeps for the claim.
	ConflictingMessage = "PreAllocation and requested ip address are conflicting"
	// NotAvailableMessage: the address that is asked for is in use, or kept for another claim.
	NotAvailableMessage = "Requested IP not available"
	// OutOfBoundsMessage: what the pool keeps for the claim is in none of its entries.
	OutOfBoundsMessage = "Pre-allocated IP out of bounds"
	// InvalidAnnotationMessage begins the message where the address that is asked for is none. The text in quotes, and why, follow.
	InvalidAnnotationMessage = "Invalid ipAddress annotation "
	// CreateFailedMessage begins the message where the API server does not store the IPAddress, or its record. Its words follow.
	CreateFailedMessage = "Failed to create associated IPAddress object"
)

// Address is the text of an IPv4 or IPv6 address, without zone or embedded IPv4 address. It need not be canonical: upper case and
// leading zeros of IPv6 groups are allowed. Compare parsed addresses, never texts.
//
// +kubebuilder:validation:Pattern=`((^((([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])\.){3}([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5]))$)|(^(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$))`
type Address string

// Subnet is the text of an address with a prefix length. The address need not be the first of its network, and matters: see Pool. The
// length of an IPv6 subnet may have a leading zero.
//
// +kubebuilder:validation:Pattern=`((^((([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])\.){3}([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5]))/([0-9]|[1-2][0-9]|3[0-2])$)|(^(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))/([0-9]|[0-9][0-9]|1[0-1][0-9]|12[0-8])$))`
type Subnet string

// ObjectReference names an object. It has the fields of the core group's type of that name, which is what Metal3 has here. Weir and Metal3
// set name and namespace, and read nothing else.
//
// +structType=atomic
type ObjectReference struct {
	// kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`
	// namespace of the object. Empty means that of the object that refers to it.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +optional
	Name string `json:"name,omitempty"`
	// uid of the object.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// apiVersion of the object: group and version.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// resourceVersion of the object.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// fieldPath names a part of the object.
	// +optional
	FieldPath string `json:"fieldPath,omitempty"`
}

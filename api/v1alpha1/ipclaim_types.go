// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClaimPoolReference names the pool that a claim wants its prefix from.
type ClaimPoolReference struct {
	// kind of the pool.
	// +required
	// +kubebuilder:validation:Enum=IPPool;GlobalIPPool
	Kind string `json:"kind,omitempty"`

	// name of the pool; an IPPool is looked up in the claim's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// PoolSelector chooses a pool by its labels.
type PoolSelector struct {
	// kind of the pools to choose from.
	// +required
	// +kubebuilder:validation:Enum=IPPool;GlobalIPPool
	Kind string `json:"kind,omitempty"`

	// LabelSelector that the pool must match.
	metav1.LabelSelector `json:",inline"`
}

// ClaimReclaimPolicy says what happens to a prefix when its claim is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type ClaimReclaimPolicy string

const (
	// ClaimReclaimDelete: the prefix becomes free again.
	ClaimReclaimDelete ClaimReclaimPolicy = "Delete"
	// ClaimReclaimRetain: the prefix is kept for a claim of the same kind, namespace and name.
	ClaimReclaimRetain ClaimReclaimPolicy = "Retain"
)

// IPClaimSpec asks for one prefix.
// +kubebuilder:validation:XValidation:rule="has(self.poolRef) || has(self.poolSelector)",message="one of poolRef and poolSelector is required"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.poolRef) || (has(self.poolRef) && self.poolRef == oldSelf.poolRef)",message="poolRef is immutable",fieldPath=".poolRef"
// +kubebuilder:validation:XValidation:rule="has(self.poolSelector) == has(oldSelf.poolSelector) && (!has(self.poolSelector) || self.poolSelector == oldSelf.poolSelector)",message="poolSelector is immutable",fieldPath=".poolSelector"
// +kubebuilder:validation:XValidation:rule="has(self.prefixLength) == has(oldSelf.prefixLength) && (!has(self.prefixLength) || self.prefixLength == oldSelf.prefixLength)",message="prefixLength is immutable",fieldPath=".prefixLength"
// +kubebuilder:validation:XValidation:rule="has(self.ipFamily) == has(oldSelf.ipFamily) && (!has(self.ipFamily) || self.ipFamily == oldSelf.ipFamily)",message="ipFamily is immutable",fieldPath=".ipFamily"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cidr) || (has(self.cidr) && self.cidr == oldSelf.cidr)",message="cidr is set once",fieldPath=".cidr"
type IPClaimSpec struct {
	// poolRef names the pool. When poolSelector is given it may be absent and is set at admission; if given, the selector must match it
	// when the claim is created. Immutable.
	// +optional
	PoolRef *ClaimPoolReference `json:"poolRef,omitempty"`

	// poolSelector chooses the first pool in name order that matches, is visible, serves here and has room. Immutable.
	// +optional
	PoolSelector *PoolSelector `json:"poolSelector,omitempty"`

	// prefixLength is the wanted size in bits. Absent means the pool's allocation.defaultPrefixLength, or a
	// single address if it has none. Immutable.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	PrefixLength *int32 `json:"prefixLength,omitempty"`

	// ipFamily narrows the pools that poolSelector chooses from. Immutable.
	// +optional
	IPFamily IPFamily `json:"ipFamily,omitempty"`

	// cidr is the prefix. Empty: Weir sets it in the create response. Given: this very prefix or an error. Set once.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="cidr must be a prefix in canonical form"
	CIDR string `json:"cidr,omitempty"`

	// reclaimPolicy says what happens to the prefix when the claim is deleted. Absent means Delete.
	// +optional
	ReclaimPolicy ClaimReclaimPolicy `json:"reclaimPolicy,omitempty"`
}

// AllocationReference names an IPAllocation in the claim's namespace.
type AllocationReference struct {
	// name of the IPAllocation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// IPClaimStatus is what is known of the claim's prefix.
type IPClaimStatus struct {
	// conditions: Ready; Paused is there once the claim was paused; WithinPool is there, and False, while the pool would not hand out the
	// prefix.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// allocatedCIDR equals spec.cidr once the claim is recorded.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	AllocatedCIDR string `json:"allocatedCIDR,omitempty"`

	// allocationRef names the claim's record.
	// +optional
	AllocationRef *AllocationReference `json:"allocationRef,omitempty"`

	// network is what comes with an address out of its pool.
	// +optional
	Network *Network `json:"network,omitempty"`
}

// IPClaim asks for one prefix out of a pool; an address is a /32 or /128.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipclaims,shortName=wipc,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move-hierarchy="
// +kubebuilder:printcolumn:name="CIDR",type="string",JSONPath=".spec.cidr",description="Prefix"
// +kubebuilder:printcolumn:name="Pool",type="string",JSONPath=".spec.poolRef.name",description="Pool"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the claim is recorded"
// +kubebuilder:printcolumn:name="Reason",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type IPClaim struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is asked for.
	// +required
	Spec IPClaimSpec `json:"spec,omitempty,omitzero"`
	// status is what is known.
	// +optional
	Status IPClaimStatus `json:"status,omitempty,omitzero"`
}

// IPClaimList is a list of IPClaims.
//
// +kubebuilder:object:root=true
type IPClaimList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of IPClaims.
	Items []IPClaim `json:"items"`
}

// GetConditions returns the conditions of the claim.
func (c *IPClaim) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions sets the conditions of the claim.
func (c *IPClaim) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

func init() {
	objectTypes = append(objectTypes, &IPClaim{}, &IPClaimList{})
}

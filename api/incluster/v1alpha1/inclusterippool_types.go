// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
)

// InClusterIPPoolSpec says which addresses the pool has, and what comes with them: as in v1alpha2,
// and with the fields that v1alpha2 does not have. Those are refused, and the refusal says what to
// write. Of a subnet neither the first nor the last address was ever handed out.
//
// +kubebuilder:validation:XValidation:rule="!has(self.subnet)",message="is not served any more: write addresses: [FIRST-LAST], from its second address to its last but one, and its length as prefix",reason=FieldValueForbidden,fieldPath=".subnet"
// +kubebuilder:validation:XValidation:rule="!has(self.start)",message="is not served any more: write addresses: [START-END]",messageExpression="'is not served any more: write addresses: [' + self.start + '-' + self.end + ']'",reason=FieldValueForbidden,fieldPath=".start"
// +kubebuilder:validation:XValidation:rule="!has(self.end)",message="is not served any more: write addresses: [START-END]",messageExpression="'is not served any more: write addresses: [' + self.start + '-' + self.end + ']'",reason=FieldValueForbidden,fieldPath=".end"
// +kubebuilder:validation:XValidation:rule="has(self.addresses) || has(self.subnet) || has(self.start) || has(self.end)",message="single addresses, CIDRs and ranges FIRST-LAST",reason=FieldValueRequired,fieldPath=".addresses"
// +kubebuilder:validation:XValidation:rule="has(self.prefix) || has(self.subnet)",message="the length of the network that the addresses are in",reason=FieldValueRequired,fieldPath=".prefix"
type InClusterIPPoolSpec struct {
	// addresses are the pool's: single addresses, CIDRs and ranges (first-last, both inclusive), of
	// one family. They may overlap. They are required.
	// +optional
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty"`

	// prefix is the length of the network that all addresses are in: that of the lowest one. 0
	// means that nothing is said of it. It is required.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	Prefix *int `json:"prefix,omitempty"`

	// subnet is refused: write addresses, from its second address to its last but one, and prefix.
	// +optional
	Subnet string `json:"subnet,omitempty"`

	// start is refused: write addresses, as first-last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Start string `json:"start,omitempty"`

	// end is refused: write addresses, as first-last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	End string `json:"end,omitempty"`

	// gateway of that network. It is never handed out.
	// +optional
	Gateway string `json:"gateway,omitempty"`

	// allocateReservedIPAddresses is whether the first address of the network, and the last one of
	// an IPv4 network, are handed out.
	// +optional
	AllocateReservedIPAddresses bool `json:"allocateReservedIPAddresses,omitempty"`

	// excludedAddresses are never handed out. They are written like addresses, and may lie outside
	// of these.
	// +optional
	// +listType=atomic
	ExcludedAddresses []string `json:"excludedAddresses,omitempty"`

	// addressReuseGracePeriodSeconds is how long a released address is not handed out again. The
	// deletion of its claim does not wait for that.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AddressReuseGracePeriodSeconds int32 `json:"addressReuseGracePeriodSeconds,omitempty"`
}

// InClusterIPPool hands out addresses to claims of its namespace. Its address space is its own,
// unless the annotation ipam.weir.dev/address-space names one, or
// ipam.weir.dev/parent a GlobalIPPool that its addresses are carved from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=inclusterippools,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion:warning="ipam.cluster.x-k8s.io/v1alpha1 InClusterIPPool is deprecated: use v1alpha2, with addresses and prefix"
// +kubebuilder:printcolumn:name="Addresses",type="string",JSONPath=".spec.addresses",description="Addresses of the pool"
// +kubebuilder:printcolumn:name="Total",type="integer",JSONPath=".status.ipAddresses.total",description="Addresses that can be handed out"
// +kubebuilder:printcolumn:name="Free",type="integer",JSONPath=".status.ipAddresses.free",description="Addresses that are free"
// +kubebuilder:printcolumn:name="Used",type="integer",JSONPath=".status.ipAddresses.used",description="Addresses that are not free"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the pool hands out addresses"
type InClusterIPPool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which addresses the pool has.
	// +required
	Spec InClusterIPPoolSpec `json:"spec"`

	// status is what is known of the pool.
	// +optional
	Status icv1.InClusterIPPoolStatus `json:"status,omitempty"`
}

// InClusterIPPoolList is a list of InClusterIPPools.
//
// +kubebuilder:object:root=true
type InClusterIPPoolList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of InClusterIPPools.
	Items []InClusterIPPool `json:"items"`
}

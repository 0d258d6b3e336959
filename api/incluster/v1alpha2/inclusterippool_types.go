// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InClusterIPPoolSpec says which addresses the pool has, and what comes with them.
type InClusterIPPoolSpec struct {
	// addresses are the pool's: single addresses, CIDRs and ranges (first-last, both inclusive), of one family. They may overlap.
	// +required
	// +listType=atomic
	Addresses []string `json:"addresses"`

	// prefix is the length of the network that all addresses are in: that of the lowest one. 0 means that nothing is said of it.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix"`

	// gateway of that network. It is never handed out.
	// +optional
	Gateway string `json:"gateway,omitempty"`

	// allocateReservedIPAddresses is whether the first address of the network, and the last one of an IPv4 network, are handed out.
	// +optional
	AllocateReservedIPAddresses bool `json:"allocateReservedIPAddresses,omitempty"`

	// excludedAddresses are never handed out. They are written like addresses, and may lie outside of these.
	// +optional
	// +listType=atomic
	ExcludedAddresses []string `json:"excludedAddresses,omitempty"`

	// addressReuseGracePeriodSeconds is how long a released address is not handed out again. The deletion of its claim does not wait for that.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AddressReuseGracePeriodSeconds int32 `json:"addressReuseGracePeriodSeconds,omitempty"`
}

// InClusterIPPoolStatus is what is known of the pool.
type InClusterIPPoolStatus struct {
	// ipAddresses counts the pool's addresses. Absent means that they were not counted.
	// +optional
	Addresses *InClusterIPPoolStatusIPAddresses `json:"ipAddresses,omitempty"`

	// conditions: Ready, Paused, Exhausted and Movable, as of Weir's pools. The in-cluster provider has no such field.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InClusterIPPoolStatusIPAddresses counts addresses. Each number is at most 2^63-1.
type InClusterIPPoolStatusIPAddresses struct {
	// total is how many can be handed out: all but the excluded and reserved ones and the gateway.
	// +required
	Total int64 `json:"total"`

	// used is how many of these are not free: handed out, cooling down, or kept.
	// +required
	Used int64 `json:"used"`

	// free is how many of total are neither.
	// +required
	Free int64 `json:"free"`

	// outOfRange is how many are handed out although the pool has them no more.
	// +required
	OutOfRange int64 `json:"outOfRange"`
}

// InClusterIPPool hands out addresses to claims of its namespace. Its address space is its own, unless the annotation ipam.weir.dev/address-space
// names one, or ipam.weir.dev/parent a GlobalIPPool that its addresses are carved from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=inclusterippools,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move-hierarchy="
// +kubebuilder:storageversion
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
	Status InClusterIPPoolStatus `json:"status,omitempty"`
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

// GetConditions returns the conditions of the pool.
func (p *InClusterIPPool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions sets the conditions of the pool.
func (p *InClusterIPPool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// PoolSpec returns the spec, which both kinds share.
func (p *InClusterIPPool) PoolSpec() *InClusterIPPoolSpec { return &p.Spec }

// PoolStatus returns the status, which both kinds share.
func (p *InClusterIPPool) PoolStatus() *InClusterIPPoolStatus { return &p.Status }

func init() {
	objectTypes = append(objectTypes, &InClusterIPPool{}, &InClusterIPPoolList{})
}

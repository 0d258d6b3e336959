// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GlobalInClusterIPPool hands out addresses to claims of every namespace. Its address space is its own, unless the annotation ipam.weir.dev/address-space
// names one, or ipam.weir.dev/parent a GlobalIPPool that its addresses are carved from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=globalinclusterippools,scope=Cluster,categories=cluster-api
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move="
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Addresses",type="string",JSONPath=".spec.addresses",description="Addresses of the pool"
// +kubebuilder:printcolumn:name="Total",type="integer",JSONPath=".status.ipAddresses.total",description="Addresses that can be handed out"
// +kubebuilder:printcolumn:name="Free",type="integer",JSONPath=".status.ipAddresses.free",description="Addresses that are free"
// +kubebuilder:printcolumn:name="Used",type="integer",JSONPath=".status.ipAddresses.used",description="Addresses that are not free"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the pool hands out addresses"
type GlobalInClusterIPPool struct {
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

// GlobalInClusterIPPoolList is a list of GlobalInClusterIPPools.
//
// +kubebuilder:object:root=true
type GlobalInClusterIPPoolList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of GlobalInClusterIPPools.
	Items []GlobalInClusterIPPool `json:"items"`
}

// GetConditions returns the conditions of the pool.
func (p *GlobalInClusterIPPool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions sets the conditions of the pool.
func (p *GlobalInClusterIPPool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// PoolSpec returns the spec, which both kinds share.
func (p *GlobalInClusterIPPool) PoolSpec() *InClusterIPPoolSpec { return &p.Spec }

// PoolStatus returns the status, which both kinds share.
func (p *GlobalInClusterIPPool) PoolStatus() *InClusterIPPoolStatus { return &p.Status }

func init() {
	objectTypes = append(objectTypes, &GlobalInClusterIPPool{}, &GlobalInClusterIPPoolList{})
}

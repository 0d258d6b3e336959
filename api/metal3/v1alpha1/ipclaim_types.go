// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPClaimSpec says what is asked for. It is immutable.
type IPClaimSpec struct {
	// pool is the IPPool that an address is asked of, by its name. It is in the claim's namespace: a claim that names another one is refused.
	// +required
	Pool ObjectReference `json:"pool"`
}

// IPClaimStatus is what is known of the claim's address.
type IPClaimStatus struct {
	// address names the IPAddress, in the claim's namespace, that answers the claim. Absent before there is one.
	// +optional
	Address *ObjectReference `json:"address,omitempty"`

	// errorMessage says why the claim has no address. It goes when the reason does. Absent while all is well.
	// +optional
	ErrorMessage *string `json:"errorMessage,omitempty"`

	// conditions: Ready; Paused is there once the claim was paused; WithinPool is there, and False, while the pool would not hand out the
	// address. Metal3 has no such field.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IPClaim asks a pool for one address.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipclaims,scope=Namespaced,categories=cluster-api,shortName=ipc;ipclaim;m3ipc;m3ipclaim;m3ipclaims;metal3ipc;metal3ipclaim;metal3ipclaims
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the claim has an address"
type IPClaim struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is asked for.
	// +optional
	Spec IPClaimSpec `json:"spec,omitempty"`
	// status is what is known.
	// +optional
	Status IPClaimStatus `json:"status,omitempty"`
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

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPAddressSpec is the address of a claim, with what comes with it. Address, pool and claim are immutable.
type IPAddressSpec struct {
	// claim is the IPClaim that has the address, by its name, in the namespace of the IPAddress. The claim need not exist: it gets the
	// address when it comes.
	// +required
	Claim ObjectReference `json:"claim"`

	// pool is the IPPool that the address is of, by its name, in the namespace of the IPAddress.
	// +required
	Pool ObjectReference `json:"pool"`

	// prefix is the prefix length of the network that the address is in, at most 128. 0 means that the pool does not say.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix,omitempty"`

	// gateway of that network. Absent means none.
	// +optional
	Gateway *Address `json:"gateway,omitempty"`

	// address is the address itself. The object's name follows from it: see namePrefix of IPPool.
	// +required
	Address Address `json:"address"`

	// dnsServers in the order to try them, of either family.
	// +optional
	DNSServers []Address `json:"dnsServers,omitempty"`
}

// IPAddress is the answer to a claim.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ipaddresses,scope=Namespaced,categories=metal3,shortName=ipa;ipaddress;m3ipa;m3ipaddress;m3ipaddresses;metal3ipa;metal3ipaddress;metal3ipaddresses
// +kubebuilder:selectablefield:JSONPath=`.spec.claim.name`
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type IPAddress struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the address.
	// +optional
	Spec IPAddressSpec `json:"spec,omitempty"`
}

// IPAddressList is a list of IPAddresses.
//
// +kubebuilder:object:root=true
type IPAddressList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of IPAddresses.
	Items []IPAddress `json:"items"`
}

func init() {
	objectTypes = append(objectTypes, &IPAddress{}, &IPAddressList{})
}

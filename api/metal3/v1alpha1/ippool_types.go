// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AllocationStrategy says which free address of an entry is handed out.
//
// +kubebuilder:validation:Enum=sequential;random
type AllocationStrategy string

const (
	// SequentialStrategy is the lowest free address.
	SequentialStrategy AllocationStrategy = "sequential"
	// RandomStrategy is any free address.
	RandomStrategy AllocationStrategy = "random"
)

// Pool is one entry of a pool: a range of addresses, both ends inclusive, and what comes with them.
//
// It begins at start; without that, one after the address of subnet as it is written, so that 192.168.1.1/26 begins at 192.168.1.2. It
// ends at end and with subnet, whichever comes first; with neither, at the last address of the family. An entry without start and subnet
// has no addresses.
type Pool struct {
	// start is the first address. Absent means one after the address of subnet.
	// +optional
	Start *Address `json:"start,omitempty"`

	// end is the last address. Absent means the last of subnet or, without that, of the family.
	// +optional
	End *Address `json:"end,omitempty"`

	// subnet bounds the range. Its last address, which IPv4 uses for broadcasts, is handed out like any other.
	// +optional
	Subnet *Subnet `json:"subnet,omitempty"`

	// prefix is the prefix length of the network that the addresses are in, at most 128. 0 means that of the spec; it does not follow from
	// subnet.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix,omitempty"`

	// gateway of that network. Absent means that of the spec.
	// +optional
	Gateway *Address `json:"gateway,omitempty"`

	// dnsServers in the order to try them, of either family. Empty means those of the spec.
	// +optional
	DNSServers []Address `json:"dnsServers,omitempty"`
}

// IPPoolSpec says which addresses the pool has, and what comes with them.
type IPPoolSpec struct {
	// clusterName is the Cluster, in the pool's namespace, that the pool belongs to: it waits for that, moves, pauses and goes with it.
	// Absent means none.
	// +optional
	ClusterName *string `json:"clusterName,omitempty"`

	// pools are the pool's entries. They are consumed in their order, whatever the strategy: the next one when all before are full. They may
	// overlap: the first that contains an address says what comes with it. All are of one family: a pool of both is not served.
	// +optional
	Pools []Pool `json:"pools,omitempty"`

	// allocationStrategy says which free address of an entry is handed out: sequential means the lowest, random any. Immutable.
	// +optional
	// +kubebuilder:default=sequential
	AllocationStrategy AllocationStrategy `json:"allocationStrategy,omitempty"`

	// preAllocations are addresses by the name of the claim that they are kept for, of either kind, before it exists and between its lives.
	// A claim gets nothing if the pool cannot keep what is meant for it: in no entry, a gateway, or kept for a claim before it in the
	// alphabet. What it has already it keeps.
	// +optional
	PreAllocations map[string]Address `json:"preAllocations,omitempty"`

	// prefix is the prefix length of the network that the addresses are in, at most 128, where an entry does not say. 0 means that
	// nothing is said.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix,omitempty"`

	// gateway of that network, where an entry names none. No gateway is handed out, but a claim that has one keeps it.
	// +optional
	Gateway *Address `json:"gateway,omitempty"`

	// dnsServers in the order to try them, of either family, where an entry names none.
	// +optional
	DNSServers []Address `json:"dnsServers,omitempty"`

	// namePrefix begins the names of the pool's IPAddresses: the address follows after a dash, with dashes for its dots and colons. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	NamePrefix string `json:"namePrefix"`
}

// IPPoolStatus is what is known of the pool.
type IPPoolStatus struct {
	// lastUpdated is when something else of the status changed last.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// indexes are the addresses that are handed out, by the name of their claim, of either kind; the lowest, where a claim of each kind has
	// the name. They are some seconds old at most. Absent while there are none, or more than 1,000.
	// +optional
	Allocations map[string]Address `json:"indexes,omitempty"`

	// capacity is how many addresses of the entries can be handed out, each counted once: all but the gateways. It is capped at 2^63-1, which
	// capacityCapped tells. Absent means that they were not counted, or that an entry is open-ended.
	// +optional
	Capacity *int64 `json:"capacity,omitempty"`

	// availableIPCount is how many of these are neither handed out nor kept for a claim. Absent where capacity is absent or capped.
	// +optional
	AvailableIPCount *int64 `json:"availableIPCount,omitempty"`

	// capacityCapped is true while capacity is not exact, because the entries have more addresses than it can tell.
	// +optional
	CapacityCapped bool `json:"capacityCapped,omitempty"`

	// conditions: Ready, Paused, Exhausted and Movable, as of Weir's pools. Metal3 has no such field.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IPPool hands out addresses to claims of its namespace.
//
// Its addresses are unique in the address space that the annotation ipam.weir.dev/address-space names: pools of that space, of Weir's
// kinds too, may not overlap. Without the annotation the pool has a space of its own, and may overlap any other.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ippools,scope=Namespaced,categories=cluster-api,shortName=ipp;ippool;m3ipp;m3ippool;m3ippools;metal3ipp;metal3ippool;metal3ippools
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the pool belongs to"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Capacity",type="integer",JSONPath=".status.capacity",description="Addresses that can be handed out"
// +kubebuilder:printcolumn:name="Available IPs",type="integer",JSONPath=".status.availableIPCount",description="Addresses that are not handed out"
// +kubebuilder:printcolumn:name="Capacity Capped",type="boolean",JSONPath=".status.capacityCapped",description="Whether there are more addresses than can be shown"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the pool hands out addresses"
type IPPool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is which addresses the pool has.
	// +optional
	Spec IPPoolSpec `json:"spec,omitempty"`
	// status is what is known.
	// +optional
	Status IPPoolStatus `json:"status,omitempty"`
}

// IPPoolList is a list of IPPools.
//
// +kubebuilder:object:root=true
type IPPoolList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of IPPools.
	Items []IPPool `json:"items"`
}

// GetConditions returns the conditions of the pool.
func (p *IPPool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions sets the conditions of the pool.
func (p *IPPool) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }

func init() {
	objectTypes = append(objectTypes, &IPPool{}, &IPPoolList{})
}

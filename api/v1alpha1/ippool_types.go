// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPPoolSpec is the desired state of an IPPool or GlobalIPPool.
// +kubebuilder:validation:XValidation:rule="[has(self.cidr) || has(self.parentRef), has(self.addresses), has(self.openStack)].filter(x, x).size() == 1",message="exactly one source is required: cidr and/or parentRef, addresses, or openStack; to grow a root pool, replace cidr by addresses that contain it"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cidr) || (has(self.cidr) ? self.cidr == oldSelf.cidr : has(self.addresses) && !has(oldSelf.parentRef))",message="cidr is set once; to grow a root pool, replace it by addresses that contain it; a carved pool keeps its block",fieldPath=".cidr"
// +kubebuilder:validation:XValidation:rule="has(self.openStack) == has(oldSelf.openStack)",message="the source of a pool is immutable",fieldPath=".openStack"
// +kubebuilder:validation:XValidation:rule="has(self.parentRef) == has(oldSelf.parentRef) && (!has(self.parentRef) || self.parentRef == oldSelf.parentRef)",message="parentRef is immutable",fieldPath=".parentRef"
// +kubebuilder:validation:XValidation:rule="has(self.prefixLength) == has(oldSelf.prefixLength) && (!has(self.prefixLength) || self.prefixLength == oldSelf.prefixLength)",message="prefixLength is immutable",fieldPath=".prefixLength"
// +kubebuilder:validation:XValidation:rule="!has(self.prefixLength) || has(self.parentRef)",message="prefixLength is for pools with a parentRef",fieldPath=".prefixLength"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ipFamily) || (has(self.ipFamily) && self.ipFamily == oldSelf.ipFamily)",message="ipFamily is immutable",fieldPath=".ipFamily"
// +kubebuilder:validation:XValidation:rule="(has(self.addressSpace) ? self.addressSpace : 'default') == (has(oldSelf.addressSpace) ? oldSelf.addressSpace : 'default') || (has(self.parentRef) && !has(oldSelf.cidr) && !has(oldSelf.addressSpace))",message="addressSpace is immutable",fieldPath=".addressSpace"
// +kubebuilder:validation:XValidation:rule="has(self.delegateTo) == has(oldSelf.delegateTo) && (!has(self.delegateTo) || self.delegateTo == oldSelf.delegateTo)",message="delegateTo is immutable",fieldPath=".delegateTo"
// +kubebuilder:validation:XValidation:rule="!has(self.allocation) || !has(self.allocation.minPrefixLength) || !has(self.allocation.maxPrefixLength) || self.allocation.minPrefixLength <= self.allocation.maxPrefixLength",message="minPrefixLength must not be longer than maxPrefixLength",fieldPath=".allocation.minPrefixLength"
type IPPoolSpec struct {
	// cidr is the pool's block, in canonical form. Root pool: given by the user. Pool with a parentRef: empty means that
	// Weir carves a block of prefixLength from the parent and writes it here in the create response, given means this very
	// block or an error. Set once; to grow a root pool, replace it by addresses that contain it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="must be a prefix in canonical form"
	CIDR string `json:"cidr,omitempty"`

	// parentRef names the pool to carve the block from. Immutable.
	// +optional
	ParentRef *ParentReference `json:"parentRef,omitempty"`

	// prefixLength of the block to carve, in bits. Absent means the parent's allocation.defaultPrefixLength; it is required if the
	// parent has none. Immutable.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	PrefixLength *int32 `json:"prefixLength,omitempty"`

	// addresses are what the pool consists of instead of one block: CIDRs, inclusive ranges and single addresses of one
	// family. They come to 1,024 prefixes at most: a range that begins or ends within a prefix is several. The list may grow and
	// shrink; what is in use may not fall out. A list may be replaced by a cidr under the same condition.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Addresses []AddressEntry `json:"addresses,omitempty"`

	// excludedAddresses are never handed out, neither by this pool nor by those that are carved from it in this cluster. Same grammar as
	// addresses. They come to 16,384 prefixes at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	ExcludedAddresses []AddressEntry `json:"excludedAddresses,omitempty"`

	// ipFamily of the pool. Set by Weir from the addresses; if given it must agree. Immutable.
	// +optional
	IPFamily IPFamily `json:"ipFamily,omitempty"`

	// addressSpace within which addresses are unique. Absent means "default". Immutable.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	AddressSpace string `json:"addressSpace,omitempty"`

	// network is what comes with a single address. A pool with a parentRef that sets none of it has that of the nearest pool above
	// that does, also when it changes there.
	// +optional
	Network *Network `json:"network,omitempty"`

	// subnets override network for the addresses inside their cidr. They may not overlap, and each contains an address of
	// the pool.
	// +optional
	// +listType=map
	// +listMapKey=cidr
	// +kubebuilder:validation:MaxItems=64
	Subnets []Subnet `json:"subnets,omitempty"`

	// allocation says how addresses are chosen and what may be asked for.
	// +optional
	Allocation *AllocationPolicy `json:"allocation,omitempty"`

	// preAllocations keep addresses for claims of given names. A claim that an address is kept for gets that one or none; one
	// that has an address already keeps it. To keep an address that another claim holds is refused.
	// +optional
	// +listType=map
	// +listMapKey=address
	// +kubebuilder:validation:MaxItems=4096
	PreAllocations []PreAllocation `json:"preAllocations,omitempty"`

	// visibility says who may claim and carve. Absent means Consumer on an IPPool and Shared on a GlobalIPPool. On an IPPool it
	// governs carving from other namespaces only: it is for the claims of its own namespace, which may always carve from it, too.
	// It may change at any time; a claim that has its answer keeps it.
	// +optional
	Visibility PoolVisibility `json:"visibility,omitempty"`

	// namespaceSelector narrows visibility Shared to namespaces with such labels, whatever their project. Absent means all. It
	// may be set with visibility Shared only.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// delegateTo is the name of the member cluster whose Weir hands out this pool: that of its
	// --cluster-name. The pool is carved from a parent here. Immutable. It needs the feature gate
	// Federation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DelegateTo string `json:"delegateTo,omitempty"`

	// mode of the pool. Absent means Serving. Closing is for a delegated pool that is being deleted at the hub.
	// +optional
	Mode PoolMode `json:"mode,omitempty"`

	// expansion of a delegated pool: the hub creates a further pool before this one is full. It may change at any time. A pool
	// with network.gateway or subnets cannot have it.
	// +optional
	Expansion *Expansion `json:"expansion,omitempty"`

	// clusterName is the Cluster API Cluster that the pool belongs to, in the pool's namespace. It sets the label
	// cluster.x-k8s.io/cluster-name, and the pool pauses with the Cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ClusterName string `json:"clusterName,omitempty"`

	// openStack makes the pool hand out floating IPs from Neutron, to IPAddressClaims. It needs the feature gate OpenStack.
	// +optional
	OpenStack *OpenStackSource `json:"openStack,omitempty"`
}

// Capacity counts addresses. Every count is an exact decimal number, as a string because IPv6 counts do not fit a number.
type Capacity struct {
	// total addresses of the pool.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Total string `json:"total,omitempty"`

	// allocated to claims.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Allocated string `json:"allocated,omitempty"`

	// available to claims and child pools; what is kept for a claim that does not hold it is not. A GlobalIPPool that is at home in
	// another cluster has 0: it hands out nothing here.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Available string `json:"available,omitempty"`

	// excluded by excludedAddresses, as gateway, as reserved addresses, or because they do not reach their gateway.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Excluded string `json:"excluded,omitempty"`

	// cooling: released and not yet available again, because it cools down or is retained for the next claim of the name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Cooling string `json:"cooling,omitempty"`

	// delegated to child pools.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Delegated string `json:"delegated,omitempty"`
}

// ReleasedTemplate names the propagated template that a member cluster has released.
type ReleasedTemplate struct {
	// templateUID is the UID of the template at the hub.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	TemplateUID string `json:"templateUID,omitempty"`

	// templateGeneration is the generation of the template that was answered.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TemplateGeneration *int64 `json:"templateGeneration,omitempty"`
}

// Values of MemberStatus.Applied.
const (
	// MemberApplied: the member has taken the pool as the hub has it.
	MemberApplied = "True"
	// MemberRefused: the member has refused it.
	MemberRefused = "False"
)

// MemberStatus is what the member cluster of a delegated pool reports of its copy.
type MemberStatus struct {
	// cluster is the member's name. The report counts only while that is spec.delegateTo.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`

	// applied is True if the member has taken the pool as the hub has it, False if it has refused it.
	// Absent where nothing says so.
	// +optional
	// +kubebuilder:validation:Enum="True";"False"
	Applied string `json:"applied,omitempty"`

	// reason of the copy's Ready condition.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message of the copy's Ready condition, or the member's words where it has refused the pool.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// claims is the number of records of claims at the member.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Claims *int32 `json:"claims,omitempty"`

	// capacity of the copy, in addresses.
	// +optional
	Capacity Capacity `json:"capacity,omitempty,omitzero"`

	// utilizationPercent is the share of total that is not available at the member, in percent, rounded down.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UtilizationPercent *int32 `json:"utilizationPercent,omitempty"`

	// released names the template of which the member has handed the block back.
	// +optional
	Released *ReleasedTemplate `json:"released,omitempty"`
}

// IPPoolStatus is the observed state of an IPPool or GlobalIPPool. It can be lost and is rebuilt.
type IPPoolStatus struct {
	// conditions: Ready, Exhausted and Paused; WithinPool is there, and False, while the parent would not give the block; NetworkCurrent is there,
	// and False, while IPAddresses carry other network settings than the pool has now; GatewayReachable is there, and False, while
	// addresses of the pool do not reach their gateway, and are not handed out; where Cluster API is
	// installed also Movable: whether clusterctl move leaves nothing behind; at the hub of a delegated pool also
	// Delegated: whether its member serves it.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation that the status was computed for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// allocatedCIDR is the pool's block as the ledger holds it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	AllocatedCIDR string `json:"allocatedCIDR,omitempty"`

	// capacity in addresses. At the hub, that of a delegated pool is what its member reports.
	// +optional
	Capacity Capacity `json:"capacity,omitempty,omitzero"`

	// utilizationPercent is the share of total that is not available, rounded down. Absent on a GlobalIPPool that is at home in another
	// cluster, and on a delegated pool that its member has not reported: how much of it is used is known there.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UtilizationPercent *int32 `json:"utilizationPercent,omitempty"`

	// utilization is utilizationPercent as text with its sign, for kubectl get.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4
	Utilization string `json:"utilization,omitempty"`

	// addressSummary tells the first entries of spec.addresses and how many follow, for kubectl get. Absent on a pool with a cidr.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=320
	AddressSummary string `json:"addressSummary,omitempty"`

	// largestFreePrefixLength is the length of the largest block that can still be handed out, in bits. Absent when there
	// is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	LargestFreePrefixLength *int32 `json:"largestFreePrefixLength,omitempty"`

	// children is the number of pools carved from this one. Absent at the hub of a delegated pool that
	// its member has reported: they are there.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Children *int32 `json:"children,omitempty"`

	// claims is the number of records of claims in this pool: those that hold a prefix of it, and those whose prefix cools down, is
	// retained, or is held for a claim that has moved to another cluster. At the hub, that of a delegated pool is what its member reports.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Claims *int32 `json:"claims,omitempty"`

	// member is what the member cluster reports of a delegated pool. It is there at the hub only, and
	// stays as it was reported last while no report comes. Karmada's bindings are one source of it;
	// whoever may write the status is another.
	// +optional
	Member *MemberStatus `json:"member,omitempty"`

	// released is set by a member cluster that has released a delegated pool: nothing of its block is in use there, nor will be.
	// +optional
	Released *ReleasedTemplate `json:"released,omitempty"`
}

// IPPool is a set of addresses for claims of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ippools,shortName=wipp,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move-hierarchy="
// +kubebuilder:selectablefield:JSONPath=`.spec.parentRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.delegateTo`
// +kubebuilder:printcolumn:name="CIDR",type="string",JSONPath=".spec.cidr",description="Block of the pool"
// +kubebuilder:printcolumn:name="Addresses",type="string",JSONPath=".status.addressSummary",description="What a pool without a block consists of"
// +kubebuilder:printcolumn:name="Parent",type="string",JSONPath=".spec.parentRef.name",description="Pool that the block was carved from"
// +kubebuilder:printcolumn:name="Total",type="string",JSONPath=".status.capacity.total",description="Addresses of the pool"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.capacity.available",description="Addresses that can be handed out"
// +kubebuilder:printcolumn:name="Used",type="string",JSONPath=".status.utilization",description="Share that is not available"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the pool serves"
// +kubebuilder:printcolumn:name="Reason",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why"
// +kubebuilder:printcolumn:name="Space",type="string",priority=1,JSONPath=".spec.addressSpace",description="Address space; none means default"
// +kubebuilder:printcolumn:name="Mode",type="string",priority=1,JSONPath=".spec.mode",description="Draining, Closing: the pool hands out nothing more"
// +kubebuilder:printcolumn:name="Paused",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether the pool is paused, by itself or with its Cluster"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type IPPool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the pool.
	// +required
	Spec IPPoolSpec `json:"spec,omitempty,omitzero"`
	// status is the observed state of the pool.
	// +optional
	Status IPPoolStatus `json:"status,omitempty,omitzero"`
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

// GlobalIPPool is a set of addresses for claims of every namespace that its visibility admits.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=globalippools,shortName=wgipp,scope=Cluster,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move="
// +kubebuilder:selectablefield:JSONPath=`.spec.parentRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.delegateTo`
// +kubebuilder:printcolumn:name="CIDR",type="string",JSONPath=".spec.cidr",description="Block of the pool"
// +kubebuilder:printcolumn:name="Addresses",type="string",JSONPath=".status.addressSummary",description="What a pool without a block consists of"
// +kubebuilder:printcolumn:name="Parent",type="string",JSONPath=".spec.parentRef.name",description="Pool that the block was carved from"
// +kubebuilder:printcolumn:name="Total",type="string",JSONPath=".status.capacity.total",description="Addresses of the pool"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.capacity.available",description="Addresses that can be handed out"
// +kubebuilder:printcolumn:name="Used",type="string",JSONPath=".status.utilization",description="Share that is not available"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the pool serves"
// +kubebuilder:printcolumn:name="Reason",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why"
// +kubebuilder:printcolumn:name="Space",type="string",priority=1,JSONPath=".spec.addressSpace",description="Address space; none means default"
// +kubebuilder:printcolumn:name="Mode",type="string",priority=1,JSONPath=".spec.mode",description="Draining, Closing: the pool hands out nothing more"
// +kubebuilder:printcolumn:name="Paused",type="string",priority=1,JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether the pool is paused, by itself or with its Cluster"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type GlobalIPPool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the pool.
	// +required
	Spec IPPoolSpec `json:"spec,omitempty,omitzero"`
	// status is the observed state of the pool.
	// +optional
	Status IPPoolStatus `json:"status,omitempty,omitzero"`
}

// GlobalIPPoolList is a list of GlobalIPPools.
//
// +kubebuilder:object:root=true
type GlobalIPPoolList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of GlobalIPPools.
	Items []GlobalIPPool `json:"items"`
}

// GetConditions returns the conditions of the pool.
func (p *IPPool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions sets the conditions of the pool.
func (p *IPPool) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }

// PoolSpec returns the spec, which both kinds of pool share.
func (p *IPPool) PoolSpec() *IPPoolSpec { return &p.Spec }

// PoolStatus returns the status, which both kinds of pool share.
func (p *IPPool) PoolStatus() *IPPoolStatus { return &p.Status }

// PoolReference returns the reference that allocations of this pool carry.
func (p *IPPool) PoolReference() PoolReference {
	return PoolReference{Kind: IPPoolKind, Namespace: p.Namespace, Name: p.Name}
}

// GetConditions returns the conditions of the pool.
func (p *GlobalIPPool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions sets the conditions of the pool.
func (p *GlobalIPPool) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }

// PoolSpec returns the spec, which both kinds of pool share.
func (p *GlobalIPPool) PoolSpec() *IPPoolSpec { return &p.Spec }

// PoolStatus returns the status, which both kinds of pool share.
func (p *GlobalIPPool) PoolStatus() *IPPoolStatus { return &p.Status }

// PoolReference returns the reference that allocations of this pool carry.
func (p *GlobalIPPool) PoolReference() PoolReference {
	return PoolReference{Kind: GlobalIPPoolKind, Name: p.Name}
}

func init() {
	objectTypes = append(objectTypes, &IPPool{}, &IPPoolList{}, &GlobalIPPool{}, &GlobalIPPoolList{})
}

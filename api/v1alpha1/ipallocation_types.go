// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PoolReference names the pool that an allocation comes from.
type PoolReference struct {
	// apiGroup of the pool. Absent means ipam.weir.dev.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`

	// kind of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// namespace of the pool; empty for a cluster-scoped one, as a GlobalIPPool.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// ClaimReference names the object that an allocation was made for: a claim, or a pool for its blocks.
type ClaimReference struct {
	// apiGroup of the claim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`

	// kind of the claim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// namespace of the claim; empty for a cluster-scoped owner.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the claim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	Name string `json:"name,omitempty"`

	// uid of the claim. A claim deleted and created again under its name is another claim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	UID string `json:"uid,omitempty"`
}

// MaxClaimAlias is how many characters spec.claimAlias of an IPAllocation has at most.
const MaxClaimAlias = 200

// AllocationPurpose says what an allocation is for.
// +kubebuilder:validation:Enum=Claim;PoolBlock;HandBack
type AllocationPurpose string

const (
	// ClaimPurpose: the prefix is for a claim.
	ClaimPurpose AllocationPurpose = "Claim"
	// PoolBlockPurpose: the prefix is a block of the pool that claimRef names, carved from the pool that poolRef names. Where both are the
	// same, that is a root pool: such records keep the roots of an address space disjoint.
	PoolBlockPurpose AllocationPurpose = "PoolBlock"
	// HandBackPurpose: a member cluster has released the block of the delegated pool that poolRef names, and hands out nothing of it.
	// The uid in claimRef is that of the pool at the hub.
	HandBackPurpose AllocationPurpose = "HandBack"
)

// AllocationOrigin says where the prefix of an allocation comes from, if Weir has not chosen it here.
// +kubebuilder:validation:Enum=Adopted
type AllocationOrigin string

// AdoptedOrigin: the claim came with its answer (restored, moved), and the record was made for that.
const AdoptedOrigin AllocationOrigin = "Adopted"

// AllocationState says how an allocation stands.
// +kubebuilder:validation:Enum=Active;Confirmed;Cooling;Retained;Moved;Ended
type AllocationState string

const (
	// ActiveState: the prefix is reserved for its claim, or the claim has it. The manager that created the record judges it, or the
	// one that took it over. The default.
	ActiveState AllocationState = "Active"
	// ConfirmedState: the record has won, and no answer object says so: blocks of pools, and what was handed back.
	ConfirmedState AllocationState = "Confirmed"
	// CoolingState: the claim has released the prefix, which no claim gets before the pool's cooldown is over.
	CoolingState AllocationState = "Cooling"
	// RetainedState: the claim has released the prefix, which only the next claim of the same kind, namespace and name gets.
	RetainedState AllocationState = "Retained"
	// MovedState: the claim, or the carved pool, has moved to another cluster, and only what comes back with the prefix gets it.
	MovedState AllocationState = "Moved"
	// EndedState: the hub has delegated the block, or part of it, to this cluster again. The record of the hand-back holds nothing any more; it
	// keeps the copy of the pool closed that handed the block back. Final.
	EndedState AllocationState = "Ended"
)

// AllocationManager says which manager is responsible for a record that is not answered yet.
type AllocationManager struct {
	// instance of the manager that created the record or took it over last.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Instance string `json:"instance,omitempty"`

	// createdRevision is the resourceVersion that the record was created at. Every write that changes the record sets it;
	// absent means that the record is as it was created, so that its own resourceVersion is the one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	CreatedRevision string `json:"createdRevision,omitempty"`
}

// ExternalReference names what backs an allocation outside the cluster.
type ExternalReference struct {
	// id of the external object, a floating IP for instance.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ID string `json:"id,omitempty"`
}

// IPAllocationSpec is the ledger's record of one prefix in use.
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="has(self.origin) == has(oldSelf.origin) && (!has(self.origin) || self.origin == oldSelf.origin)",message="origin is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.claimAlias) == has(oldSelf.claimAlias) && (!has(self.claimAlias) || self.claimAlias == oldSelf.claimAlias)",message="claimAlias is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.delegatedTo) == has(oldSelf.delegatedTo) && (!has(self.delegatedTo) || self.delegatedTo == oldSelf.delegatedTo)",message="delegatedTo is immutable"
// +kubebuilder:validation:XValidation:rule="!has(self.state) || self.state != 'Ended' || self.purpose == 'HandBack'",message="state Ended is for purpose HandBack only"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || oldSelf.state != 'Ended' || has(self.state) && self.state == 'Ended'",message="state Ended is final"
type IPAllocationSpec struct {
	// poolRef names the pool that the prefix comes from; the pool itself for blocks of a root pool. Immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="poolRef is immutable"
	PoolRef PoolReference `json:"poolRef,omitempty,omitzero"`

	// addressSpace within which the prefix is unique. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="addressSpace is immutable"
	AddressSpace string `json:"addressSpace,omitempty"`

	// cidr is the prefix, in canonical form; an address is a /32 or /128. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cidr is immutable"
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self && cidr(self).prefixLength() > 0",message="cidr must be a prefix in canonical form"
	CIDR string `json:"cidr,omitempty"`

	// claimRef names what the prefix is held for. Immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="claimRef is immutable"
	ClaimRef ClaimReference `json:"claimRef,omitempty,omitzero"`

	// claimAlias is a second name of the claim: what the pool keeps for a claim of that name, in the namespace and of the kind of
	// claimRef, it keeps for this one. For a host of Metal3 that is <BareMetalHost>-<pool>, 200 characters at most. Set with the
	// create, by Weir only; immutable. Absent means that the claim has no other name, or none was known.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	ClaimAlias string `json:"claimAlias,omitempty"`

	// purpose of the allocation. Immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="purpose is immutable"
	Purpose AllocationPurpose `json:"purpose,omitempty"`

	// delegatedTo names the member cluster that hands out the block, as spec.delegateTo of the pool does: the value of a label, edge-a for
	// instance. The record stays, also without its pool, until that cluster has handed the block back or who may manage records says
	// so. Set with the create, by Weir only; immutable. Absent for all but the block of a delegated pool, at the hub.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`
	DelegatedTo string `json:"delegatedTo,omitempty"`

	// origin of the prefix: Adopted where it was not chosen here. Immutable.
	// +optional
	Origin AllocationOrigin `json:"origin,omitempty"`

	// manager is responsible for the record. Changed by Weir only.
	// +optional
	Manager AllocationManager `json:"manager,omitempty,omitzero"`

	// state of the allocation: Active while its claim has the prefix, or may get it; Confirmed once a block of a pool, or its hand-back, has won; Cooling
	// or Retained once the claim has released the prefix, which releasedAt decides; Moved while it stands for what has moved to another
	// cluster. Changed by Weir only.
	// +optional
	// +kubebuilder:default=Active
	State AllocationState `json:"state,omitempty"`

	// external names what backs the allocation outside the cluster. Set with the create, by Weir only.
	// +optional
	External ExternalReference `json:"external,omitempty,omitzero"`

	// releasedAt is when the claim released the prefix, which then cools down or is retained. Changed by Weir only.
	// Absent while the claim has the prefix.
	// +optional
	ReleasedAt metav1.Time `json:"releasedAt,omitempty,omitzero"`
}

// IPAllocationStatus repeats the prefix where tools look for it.
type IPAllocationStatus struct {
	// allocatedCIDR equals spec.cidr and is written with the create.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	AllocatedCIDR string `json:"allocatedCIDR,omitempty"`
}

// IPAllocation is the ledger's record of one prefix in use. It is made, changed and removed by Weir alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ipallocations,shortName=wipa,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:selectablefield:JSONPath=`.spec.cidr`
// +kubebuilder:selectablefield:JSONPath=`.spec.poolRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.poolRef.namespace`
// +kubebuilder:selectablefield:JSONPath=`.spec.claimRef.name`
// +kubebuilder:printcolumn:name="CIDR",type="string",JSONPath=".spec.cidr",description="Prefix in use"
// +kubebuilder:printcolumn:name="Pool",type="string",JSONPath=".spec.poolRef.name",description="Pool that the prefix comes from"
// +kubebuilder:printcolumn:name="PoolNamespace",type="string",priority=1,JSONPath=".spec.poolRef.namespace",description="Namespace of the pool; none for a GlobalIPPool"
// +kubebuilder:printcolumn:name="Kind",type="string",JSONPath=".spec.claimRef.kind",description="Kind of what the prefix is held for"
// +kubebuilder:printcolumn:name="Claim",type="string",JSONPath=".spec.claimRef.name",description="What the prefix is held for"
// +kubebuilder:printcolumn:name="Purpose",type="string",JSONPath=".spec.purpose",description="Purpose of the allocation"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".spec.state",description="Active, Confirmed (a pool's block), Cooling, Retained or Moved"
// +kubebuilder:printcolumn:name="Released",type="date",JSONPath=".spec.releasedAt",description="Time since the claim released the prefix; none while it has it"
// +kubebuilder:printcolumn:name="Space",type="string",priority=1,JSONPath=".spec.addressSpace",description="Address space"
// +kubebuilder:printcolumn:name="PoolKind",type="string",priority=1,JSONPath=".spec.poolRef.kind",description="Kind of the pool"
// +kubebuilder:printcolumn:name="PoolGroup",type="string",priority=1,JSONPath=".spec.poolRef.apiGroup",description="API group of the pool; none for ipam.weir.dev"
// +kubebuilder:printcolumn:name="ClaimNamespace",type="string",priority=1,JSONPath=".spec.claimRef.namespace",description="Namespace of what the prefix is held for"
// +kubebuilder:printcolumn:name="ClaimGroup",type="string",priority=1,JSONPath=".spec.claimRef.apiGroup",description="API group of what the prefix is held for"
// +kubebuilder:printcolumn:name="Cluster",type="string",priority=1,JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the claim belongs to"
// +kubebuilder:printcolumn:name="Created",type="string",priority=1,JSONPath=".metadata.creationTimestamp",description="Time of creation"
// +kubebuilder:printcolumn:name="ReleasedAt",type="string",priority=1,JSONPath=".spec.releasedAt",description="When the claim released the prefix; none while it has it"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type IPAllocation struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the record.
	// +required
	Spec IPAllocationSpec `json:"spec,omitempty,omitzero"`
	// status repeats the prefix; there is no status subresource.
	// +optional
	Status IPAllocationStatus `json:"status,omitempty,omitzero"`
}

// IPAllocationList is a list of IPAllocations.
//
// +kubebuilder:object:root=true
type IPAllocationList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items is the list of IPAllocations.
	Items []IPAllocation `json:"items"`
}

func init() {
	objectTypes = append(objectTypes, &IPAllocation{}, &IPAllocationList{})
}

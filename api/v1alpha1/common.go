// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Kinds of this group, as they appear in references.
const (
	// IPPoolKind is the kind of namespaced pools.
	IPPoolKind = "IPPool"
	// GlobalIPPoolKind is the kind of cluster-scoped pools.
	GlobalIPPoolKind = "GlobalIPPool"
	// IPClaimKind is the kind of Weir's own claims.
	IPClaimKind = "IPClaim"
	// IPAllocationKind is the kind of the ledger's records.
	IPAllocationKind = "IPAllocation"
)

// Finalizers.
const (
	// ClaimFinalizer is on every IPAddressClaim that Weir answers. It comes off when the claim's address is released.
	ClaimFinalizer = "ipam.weir.dev/claim"
	// AddressFinalizer protects an IPAddress for as long as its claim lives (Cluster API contract: "IPAddress").
	AddressFinalizer = "ipam.weir.dev/address"
	// AllocationFinalizer is on every IPAllocation; only the ledger takes it off.
	AllocationFinalizer = "ipam.weir.dev/allocation"
	// PoolFinalizer holds a pool until nothing is allocated from it.
	PoolFinalizer = "ipam.weir.dev/pool"
)

// Annotations and labels.
const (
	// AddressAnnotation on an IPAddressClaim asks for one address: that address is handed out, or none.
	AddressAnnotation = "ipam.weir.dev/address"
	// DNSServersAnnotation on an IPAddress carries the DNS servers of its network, comma separated in the pool's order:
	// the IPAddress kind has no field for them.
	DNSServersAnnotation = "ipam.weir.dev/dns-servers"
	// AllocatedLabel is set on a carved pool in the write that sets its cidr.
	AllocatedLabel = "ipam.weir.dev/allocated"
	// DelegatedToLabel is set on a delegated pool in the same write: the name of the member cluster.
	DelegatedToLabel = "ipam.weir.dev/delegated-to"
	// ProjectLabel on a namespace or GlobalIPPool names the project that it belongs to.
	ProjectLabel = "ipam.weir.dev/project"
	// ArrivedAnnotation is set at admission on what has been here, or elsewhere, before: it was moved by clusterctl, or is restored
	// from a backup. On an IPClaim or carved pool that is created with what it has had already, by somebody who may manage
	// IPAllocations: its prefix is recorded afterwards. On an IPAddressClaim and an IPAddress that are created with Weir's finalizer:
	// the claim waits for its IPAddress or record, and the IPAddress for its claim. On an IPAllocation that Weir has not made.
	ArrivedAnnotation = "ipam.weir.dev/arrived"
	// HomeAnnotation on a GlobalIPPool is the UID of the kube-system namespace of the cluster that it was created in.
	HomeAnnotation = "ipam.weir.dev/home"
	// OpenStackAnnotation on a pool of floating IPs is how the pool is known in its cloud: its key, the id of its project and that of its
	// external network, with a space between each. Weir writes it once. It moves and is restored with the pool.
	OpenStackAnnotation = "ipam.weir.dev/openstack"
	// GrantedAnnotation on a pool of another API that is carved from one of Weir's is a digest of the blocks that it has of that. It
	// moves and is restored with the pool: what the spec says beyond that, the pool only asks for.
	GrantedAnnotation = "ipam.weir.dev/granted"
	// LeaveBehindAnnotation on an IPPool lets clusterctl move it although something of it stays: Weir does not block the move.
	LeaveBehindAnnotation = "ipam.weir.dev/leave-behind"
	// HeldAnnotation on an IPAllocation that moves to another cluster names the IPAllocation that holds its prefix here instead.
	HeldAnnotation = "ipam.weir.dev/held"
	// MovedAnnotation on a claim of a front door is set at admission when clusterctl is done with it here because it has moved it to another
	// cluster, and the claim's pool stays: Weir lets it go once what it has here is on its way to be held. It is the claim's UID. An
	// IPAllocation that Weir marks as moved for such a claim has it, too.
	MovedAnnotation = "ipam.weir.dev/moved"
	// ForceReleaseAnnotation on a delegated pool states that the named member cluster has released the block.
	ForceReleaseAnnotation = "ipam.weir.dev/force-release"
	// TemplateAnnotation on a delegated pool is the UID of that pool at the hub. The hub writes it, and it travels
	// with the pool: by it the member's report names the pool at the hub.
	TemplateAnnotation = "ipam.weir.dev/template"
	// SiblingOfAnnotation on a delegated pool is the name of the pool that it was created beside, because that
	// one ran low (spec.expansion). Weir writes it with the create.
	SiblingOfAnnotation = "ipam.weir.dev/sibling-of"
)

// FieldManager is under which name Weir makes records and IPAddresses, and writes finalizers: by that its webhooks leave it alone. Anybody
// may write under it: where that would gain something, it counts for who has the verb manage only.
const FieldManager = "weir"

// Bounds that are not in the schema because they are used in code as well.
const (
	// DefaultAddressSpace is the address space of a pool that names none.
	DefaultAddressSpace = "default"
	// MaxAddressEntries is the greatest length of spec.addresses and spec.excludedAddresses.
	MaxAddressEntries = 1024
	// MaxBlocks is the greatest number of prefixes that a pool's addresses may come to: each is a record of its own.
	MaxBlocks = 1024
	// MaxExclusions is the greatest number of prefixes that what a pool excludes may come to: every manager keeps them in memory.
	MaxExclusions = 16384
	// MaxSubnets is the greatest length of spec.subnets.
	MaxSubnets = 64
	// MaxDNSServers is the greatest length of a network's dnsServers.
	MaxDNSServers = 16
	// MaxPreAllocations is the greatest length of spec.preAllocations.
	MaxPreAllocations = 4096
)

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types.
const (
	// ReadyCondition is true when the object does what its spec asks for; its reason says what should be done otherwise.
	ReadyCondition = "Ready"
	// PausedCondition is true while the object, or the pool that an unanswered claim waits for, is paused: by its Cluster or by the
	// annotation cluster.x-k8s.io/paused. A claim has it only if it is or has been.
	PausedCondition = "Paused"
	// ExhaustedCondition is true while a pool has nothing available; the message says where it has gone. Such a pool is healthy: it does
	// not count towards Ready.
	ExhaustedCondition = "Exhausted"
	// BlocksHeldCondition is true on a pool while members may use blocks of it whose pools are gone. It is absent otherwise, and does
	// not count towards Ready.
	BlocksHeldCondition = "BlocksHeld"
	// FloatingIPsCondition is false on a pool of floating IPs that differ from the records of the pool: a claim's does not exist, or one
	// names a claim that does not. Weir compares them every ten minutes. It does not count towards Ready.
	FloatingIPsCondition = "FloatingIPs"
	// ForeignAddressesCondition is true on a pool of the address space default while IPAddresses of other IPAM providers name addresses
	// of it: the pool hands those out to nobody. The message counts them and names the first. It is absent otherwise, and does not count
	// towards Ready.
	ForeignAddressesCondition = "ForeignAddresses"
	// AddressesByHandCondition is true on a pool while IPAddresses of it were made by hand and no claim has them. What the pool would hand
	// out of them is recorded, and goes to no other claim. The message counts them and names the first. It is absent otherwise, and does
	// not count towards Ready.
	AddressesByHandCondition = "AddressesByHand"
	// MovableCondition is false while clusterctl move would leave something behind of what is handed out of a pool. It does not
	// count towards Ready, and is shown only where Cluster API is installed. What moves is told by what Weir can see: an owner of a
	// kind of Cluster API's groups, or an IPPool or IPClaim, counts as moving, any other as staying.
	MovableCondition = "Movable"
	// WithinPoolCondition is false on a claim, or a carved pool, that keeps what its pool would not hand out to it today: it arrived
	// with that from another cluster or a backup, or the pool has been changed since. It is absent otherwise, and does not count
	// towards Ready.
	WithinPoolCondition = "WithinPool"
	// NetworkCurrentCondition is false on a pool while IPAddresses carry another prefix length, gateway or DNS servers than the pool
	// says now: an IPAddress never changes. It is absent otherwise, and does not count towards Ready.
	NetworkCurrentCondition = "NetworkCurrent"
	// GatewayReachableCondition is false on a pool with addresses that do not reach the gateway that comes with them: it was stored
	// before such pools were refused, or past the webhooks. They are not handed out to claims; what is in use stays. It is absent
	// otherwise, and does not count towards Ready.
	GatewayReachableCondition = "GatewayReachable"
	// DelegatedCondition is true on a delegated pool at the hub while its member serves it, as
	// status.member has it. It does not count towards Ready: the block stands whatever the member says.
	DelegatedCondition = "Delegated"
	// ExpandedCondition is false on a delegated pool with spec.expansion while it needs a further pool
	// and cannot have one. It is there at the hub only, and does not count towards Ready.
	ExpandedCondition = "Expanded"
	// DeletingCondition is true on a claim that is being deleted and that finalizers of others keep,
	// or what backs it outside of the cluster, or a write that the API server refuses. It is absent
	// otherwise.
	DeletingCondition = "Deleting"
)

// Reasons of the Deleting condition. The claim keeps what it has meanwhile.
const (
	// WaitingForFinalizersReason: the message names the finalizers.
	WaitingForFinalizersReason = "WaitingForFinalizers"
	// WaitingForPortReason: the claim's floating IP is bound to the port that the message names, or port forwardings use it.
	WaitingForPortReason = "WaitingForPort"
	// WaitingForCloudReason: the cloud cannot be asked, or refuses, to release the claim's floating IP; or it does not have the pool's network.
	WaitingForCloudReason = "WaitingForCloud"
	// WaitingForPoolReason: the pool, or its Cluster, is paused or moves, so nothing of the pool's is released in the cloud.
	WaitingForPoolReason = "WaitingForPool"
	// WaitingForSecretReason: the Secret with the credentials for the cloud does not exist.
	WaitingForSecretReason = "WaitingForSecret"
	// WaitingForAPIServerReason: the API server refuses a write by which what the claim has is released; the message has its words. It is
	// tried again.
	WaitingForAPIServerReason = "WaitingForAPIServer"
)

// AddressesOutdatedReason of the NetworkCurrent condition: the message counts the IPAddresses. They are gone when their machines have
// been replaced.
const AddressesOutdatedReason = "AddressesOutdated"

// AddressesOffLinkReason of the GatewayReachable condition: the message names the entries of the pool, and what of them it is.
const AddressesOffLinkReason = "AddressesOffLink"

// AddressesUnclaimedReason of the AddressesByHand condition: the message counts the IPAddresses. Each is a claim's when one of its name comes.
const AddressesUnclaimedReason = "Unclaimed"

// OutsidePolicyReason of the WithinPool condition: exclusions, bounds or what is kept for others are overridden; the message says which.
const OutsidePolicyReason = "OutsidePolicy"

// Reasons of the Delegated condition.
const (
	// DelegatedServingReason: the member serves the pool.
	DelegatedServingReason = "Serving"
	// DelegatedNotServingReason: the member has the pool and does not serve it; the message is that of
	// its Ready condition there.
	DelegatedNotServingReason = "NotServing"
	// DelegatedRefusedReason: the member has refused the pool as the hub has it; the message has its words.
	DelegatedRefusedReason = "Refused"
	// DelegatedNotReportedReason: nothing is known of the member's copy; the message says why.
	DelegatedNotReportedReason = "NotReported"
)

// Reasons of the Expanded condition.
const (
	// ExpandedSufficientReason: enough is available.
	ExpandedSufficientReason = "Sufficient"
	// ExpandedSiblingPendingReason: a further pool was created, and its member has not reported it yet.
	ExpandedSiblingPendingReason = "SiblingPending"
	// ExpandedNotReportedReason: the member has not reported how much of the pool is available.
	ExpandedNotReportedReason = "NotReported"
	// ExpandedNotServingReason: the pool's mode is not Serving, so it is not expanded.
	ExpandedNotServingReason = "NotServing"
	// ExpandedMaxPoolsReason: there are as many further pools as there may be.
	ExpandedMaxPoolsReason = "MaxPoolsReached"
	// ExpandedRefusedReason: the further pool is refused, for instance because its parent is full; the
	// message has the words.
	ExpandedRefusedReason = "Refused"
)

// SiblingCreatedReason of an event: a further pool was created beside a delegated one that runs low.
const SiblingCreatedReason = "SiblingCreated"

// FloatingIPMissingReason of an event on a claim: its floating IP does not exist any more, or is another's in the cloud.
const FloatingIPMissingReason = "FloatingIPMissing"

// FloatingIPReleasedReason of an event on a claim that lives: a second floating IP, which the claim was not told, was released:
// deleted, freed for the pool's other claims, or returned as Weir found it.
const FloatingIPReleasedReason = "FloatingIPReleased"

// FloatingIPsLeftReason of an event: a pool of floating IPs has gone, and the named ones stay in its cloud.
const FloatingIPsLeftReason = "FloatingIPsLeft"

// Reasons of a pool's FloatingIPs condition.
const (
	// FloatingIPsAsRecordedReason: they agree with the records.
	FloatingIPsAsRecordedReason = "AsRecorded"
	// FloatingIPsMissingReason: those of some claims do not exist, or are others'.
	FloatingIPsMissingReason = "Missing"
	// FloatingIPsLeftOverReason: some name claims that are not here.
	FloatingIPsLeftOverReason = "LeftOver"
	// FloatingIPsSurplusReason: some are of claims that have another one, and cannot be released now.
	FloatingIPsSurplusReason = "Surplus"
)

// Reasons of a pool's Exhausted condition.
const (
	// PoolExhaustedNoneAvailableReason: no address is available.
	PoolExhaustedNoneAvailableReason = "NoneAvailable"
	// PoolExhaustedQuotaUsedUpReason, of a pool of floating IPs: the project's quota ended the last creation.
	PoolExhaustedQuotaUsedUpReason = "QuotaUsedUp"
	// PoolExhaustedNetworkFullReason, of a pool of floating IPs: the network had no free address for the last creation.
	PoolExhaustedNetworkFullReason = "NetworkFull"
	// PoolExhaustedSomeAvailableReason: addresses are available.
	PoolExhaustedSomeAvailableReason = "SomeAvailable"
)

// Reasons of a pool's Movable condition.
const (
	// PoolMovableAllMovesReason: all claims and child pools move together with the pool, if their namespace is moved; those of a
	// GlobalIPPool do with their own namespaces.
	PoolMovableAllMovesReason = "AllMoves"
	// PoolMovableDependentsNotMovedReason: some would stay; the message names some of them and says why. On an IPPool, clusterctl waits until
	// that is mended, or the pool has the annotation ipam.weir.dev/leave-behind.
	PoolMovableDependentsNotMovedReason = "DependentsNotMoved"
)

// Reasons of a pool's Ready condition.
const (
	// PoolReadyAvailableReason: the pool hands out addresses, as long as it has any.
	PoolReadyAvailableReason = "Available"
	// PoolReadyOverlapReason: a block of the pool overlaps another root pool of its address space; the pool serves nothing.
	PoolReadyOverlapReason = "Overlap"
	// PoolReadyInvalidSpecReason: the spec got past admission although it cannot be served; the message names the field.
	PoolReadyInvalidSpecReason = "InvalidSpec"
	// PoolReadyReservingReason: the pool's blocks are not recorded in the ledger yet.
	PoolReadyReservingReason = "Reserving"
	// PoolReadyParentNotReadyReason: the pool's block is not carved yet, because the parent does not hand out what is asked of it;
	// the message says why.
	PoolReadyParentNotReadyReason = "ParentNotReady"
	// PoolReadyRefusedByAPIServerReason: the API server does not store the record of one of the pool's blocks, because of a quota, a policy
	// or a missing right; the message has its words. It is tried again.
	PoolReadyRefusedByAPIServerReason = "RefusedByAPIServer"
	// PoolReadyDelegatedReason: the pool's block is recorded, and handed out in the member cluster that spec.delegateTo names.
	PoolReadyDelegatedReason = "Delegated"
	// PoolReadyDelegatedElsewhereReason: the pool is a copy that is not for this cluster, or this cluster is its hub and has its member's name. Nothing
	// of it is handed out here.
	PoolReadyDelegatedElsewhereReason = "DelegatedElsewhere"
	// PoolReadyDrainingReason: the pool hands out nothing more, as spec.mode says.
	PoolReadyDrainingReason = "Draining"
	// PoolReadyClosingReason: the pool hands out nothing more, as spec.mode says, and waits until what it has handed out is
	// released: then its block goes back to the hub.
	PoolReadyClosingReason = "Closing"
	// PoolReadyHandedBackReason: this cluster has handed the block back to the hub, and hands out nothing of it until the hub
	// delegates it here again.
	PoolReadyHandedBackReason = "HandedBack"
	// PoolReadyHomedElsewhereReason: the GlobalIPPool was created in another cluster, which goes on handing out its addresses; here
	// nothing new is handed out until somebody sets the annotation ipam.weir.dev/home to this cluster.
	PoolReadyHomedElsewhereReason = "HomedElsewhere"
	// PoolReadyPausedReason: the pool is paused and hands out nothing new; the condition Paused says why.
	PoolReadyPausedReason = "Paused"
	// PoolReadyClusterNotFoundReason: spec.clusterName names a Cluster that does not exist. The pool hands out nothing before it does.
	PoolReadyClusterNotFoundReason = "ClusterNotFound"
	// PoolReadyAuthenticationFailedReason: the credentials of a pool of floating IPs cannot be used: their Secret does not say them, the
	// cloud refuses them, or they are of another project than the pool's floating IPs.
	PoolReadyAuthenticationFailedReason = "AuthenticationFailed"
	// PoolReadyNetworkNotFoundReason: no external network, or more than one, is what spec.openStack.floatingNetwork says.
	PoolReadyNetworkNotFoundReason = "NetworkNotFound"
	// PoolReadyCloudUnavailableReason: the cloud of a pool of floating IPs does not answer as it should.
	PoolReadyCloudUnavailableReason = "CloudUnavailable"
	// PoolReadyDeletingReason: the pool is being deleted and waits for what is allocated from it, or for the member that may use its block.
	PoolReadyDeletingReason = "Deleting"
)

// PoolGoneReason is the reason of BlocksHeld: the message says what is held, for which member, and what to do.
const PoolGoneReason = "PoolGone"

// Reasons of the ForeignAddresses condition.
const (
	// ForeignExcludedReason: no claim of the pool has any of them.
	ForeignExcludedReason = "Excluded"
	// ForeignConflictReason: claims have some of them, which they got before the IPAddresses were seen, and keep them. It is the reason
	// of the event, too.
	ForeignConflictReason = "AddressConflict"
)

// BlockForceReleasedReason is the reason of the event for a delegated pool whose block was released because the annotation
// ipam.weir.dev/force-release says that its member uses it no more.
const BlockForceReleasedReason = "BlockForceReleased"

// Reasons of a claim's Ready condition. Those of the Cluster API contract (AllocationFailed, PoolNotReady, PoolExhausted) mean the
// same for Weir's own claims.
const (
	// ClaimReadyAllocationFailedReason: the claim cannot be answered as it stands; the message names the field.
	ClaimReadyAllocationFailedReason = "AllocationFailed"
	// ClaimReadyRefusedByAPIServerReason: the API server does not store the claim's record or answer, because of a quota, a policy, a missing
	// right or an invalid name; the message has its words. It is tried again.
	ClaimReadyRefusedByAPIServerReason = "RefusedByAPIServer"
	// ClaimReadyPoolNotReadyReason: the pool does not hand out anything now.
	ClaimReadyPoolNotReadyReason = "PoolNotReady"
	// ClaimReadyPoolExhaustedReason: the pool has nothing of the wanted length available.
	ClaimReadyPoolExhaustedReason = "PoolExhausted"
	// ClaimReadyAllocatedReason: the claim is answered.
	ClaimReadyAllocatedReason = "Allocated"
	// ClaimReadyWaitingForRestoreReason: the claim was created with Weir's finalizer, as a restore does, and waits for its IPAddress or its
	// record to arrive, too.
	ClaimReadyWaitingForRestoreReason = "WaitingForRestore"
	// ClaimReadyWaitingForHostReason: the claim is of a Metal3Data, its pool keeps addresses for hosts, and which host the claim is for
	// is not known yet; the message names the object that is missing or does not say. The claim gets no address before that.
	ClaimReadyWaitingForHostReason = "WaitingForHost"
	// ClaimReadyClusterNotFoundReason: the claim's Cluster does not exist. Nothing is done for the claim before it does.
	ClaimReadyClusterNotFoundReason = "ClusterNotFound"
	// ClaimReadyAddressConflictReason: the claim, or its IPAddress, carries what somebody else holds; neither side is renumbered.
	ClaimReadyAddressConflictReason = "AddressConflict"
)

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// All conditions, those of claims first.
var All = slices.Concat(claims, pools)

var pools = []Condition{
	{Pools, ipamv1.ReadyCondition, "Whether the pool hands out addresses, as long as it has any. A pool that is exhausted stays ready.", []Reason{
		{
			Name: ipamv1.PoolReadyAvailableReason, Status: metav1.ConditionTrue,
			Means: "The pool hands out addresses, as long as it has any.",
		},
		{
			Name: ipamv1.PoolReadyDelegatedReason, Status: metav1.ConditionTrue,
			Means: "The pool's block is recorded here and handed out in the member cluster that `spec.delegateTo` names. Claims are made there.",
		},
		{
			Name: ipamv1.PoolReadyReservingReason, Status: metav1.ConditionFalse,
			Means: "The pool's blocks are being recorded. A pool whose block record disappears says this, and records it again within seconds. " +
				"Its blocks are what `kubectl get ipallocations.ipam.weir.dev -A --field-selector spec.claimRef.name=POOL` shows.",
			Do: "Wait; if it stays, read the manager's log.",
		},
		{
			Name: ipamv1.PoolReadyOverlapReason, Status: metav1.ConditionFalse,
			Means: "Another pool of the address space, or a claim of one, holds part of a block. The message names it if it is of the same project; " +
				"`kubectl get ipallocations.ipam.weir.dev -A` shows it in any case. The pool serves nothing.",
			Do: "Change one of the pools, delete one, or use another `addressSpace`. Asked again every ten seconds.",
		},
		{
			Name: ipamv1.PoolReadyRefusedByAPIServerReason, Status: metav1.ConditionFalse,
			Means: "The API server does not store the record (`IPAllocation`) of one of the pool's blocks. The message has its words; those about a " +
				"`GlobalIPPool` are in the manager's log.",
			Do: "Correct what they name: a quota or an admission policy of the namespace, mostly. It is tried again by itself, as for claims.",
		},
		{
			Name: ipamv1.PoolReadyParentNotReadyReason, Status: metav1.ConditionFalse,
			Means: "The pool is carved from another one and came past the webhooks: the parent is missing, exhausted, draining, not visible, or does " +
				"not give this block. The message says which.",
			Do: "Correct what the message names. Asked again every ten seconds.",
		},
		{
			Name: ipamv1.PoolReadyInvalidSpecReason, Status: metav1.ConditionFalse,
			Means: "The spec got past the webhooks and cannot be served; the message names the field. Of a pool of floating IPs also: the feature " +
				"gate `OpenStack` is closed, or the annotation `ipam.weir.dev/openstack` was changed. Or an earlier pool of the name still has " +
				"addresses in another address space.",
			Do: "Correct the field, or do what the message says. Of floating IPs: install the set for OpenStack, or put the annotation back.",
		},
		{
			Name: ipamv1.PoolReadyDrainingReason, Status: metav1.ConditionFalse,
			Means: "`spec.mode` is `Draining`: the pool hands out nothing more.",
			Do:    "Set `Serving` to go on.",
		},
		{
			Name: ipamv1.PoolReadyPausedReason, Status: metav1.ConditionFalse,
			Means: "The pool, or its Cluster, is paused: it hands out nothing new. The message says which.",
			Do:    "Take the annotation `cluster.x-k8s.io/paused` off, or unpause the Cluster.",
		},
		{
			Name: ipamv1.PoolReadyClusterNotFoundReason, Status: metav1.ConditionFalse,
			Means: "`spec.clusterName` names a Cluster that does not exist in the pool's namespace.",
			Do:    "Make the Cluster, or take `spec.clusterName` out.",
		},
		{
			Name: ipamv1.PoolReadyHomedElsewhereReason, Status: metav1.ConditionFalse,
			Means: "The `GlobalIPPool` is at home in another cluster, which hands out its addresses: it has been moved or restored. What has arrived " +
				"is kept, and nothing new is handed out here.",
			Do:  "Nothing, or make this cluster its home. After a restore, read the guide \"Restore\" first.",
			See: "guides/move.md#global-pools",
		},
		{
			Name: ipamv1.PoolReadyDelegatedElsewhereReason, Status: metav1.ConditionFalse,
			Means: "The pool is a copy that is not for this cluster, or this cluster is its hub and has its member's name. The message says what " +
				"`--cluster-name` is here.",
			Do:  "Correct where it is copied to, or the flag.",
			See: "guides/federation.md#when-something-is-wrong",
		},
		{
			Name: ipamv1.PoolReadyClosingReason, Status: metav1.ConditionFalse,
			Means: "The hub takes the block of this copy back. The message counts what is in use, and names some of it.",
			Do:    "Delete those claims. An address that cools down goes by itself; of what is retained, delete the `IPAllocation`.",
			See:   "guides/federation.md#when-something-is-wrong",
		},
		{
			Name: ipamv1.PoolReadyHandedBackReason, Status: metav1.ConditionFalse,
			Means: "The block was handed back to the hub, and is not handed out here. The message names the `IPAllocation` that keeps it so.",
			Do: "Delegate the block here again. If the message says that the copy is of an earlier pool, apply the one that the hub has now. If the copy " +
				"does not name the pool at the hub, who has the verb `manage` may delete that record.",
			See: "guides/federation.md#when-something-is-wrong",
		},
		{
			Name: ipamv1.PoolReadyAuthenticationFailedReason, Status: metav1.ConditionFalse,
			Means: "Of a pool of floating IPs: its Secret is missing, cannot be read or cannot be used, the cloud refuses the log-in or what Weir asks, " +
				"or the credentials are of another project.",
			Do:  "Correct what the message names.",
			See: "guides/openstack.md#when-something-is-wrong",
		},
		{
			Name: ipamv1.PoolReadyNetworkNotFoundReason, Status: metav1.ConditionFalse,
			Means: "Of a pool of floating IPs: no external network is what `floatingNetwork` says, or several are; or no subnet is what `subnet` says.",
			Do:    "Let the project see the network, or the subnet that `subnet` names; or make the pool anew with the `id`.",
			See:   "guides/openstack.md#when-something-is-wrong",
		},
		{
			Name: ipamv1.PoolReadyCloudUnavailableReason, Status: metav1.ConditionFalse,
			Means: "Of a pool of floating IPs: the cloud does not answer as it should, or its endpoint is not allowed.",
			Do:    "Read the message.",
			See:   "guides/openstack.md#when-something-is-wrong",
		},
		{
			Name: ipamv1.PoolReadyDeletingReason, Status: metav1.ConditionFalse,
			Means: "The pool is being deleted. The message counts what keeps it, and on an `IPPool` names some of it, or names the finalizers of others. " +
				"A delegated pool waits for its member to hand the block back, and says what its report lacks. Where its namespace is being deleted, " +
				"too, Karmada's binding has gone first: the member's report does not arrive.",
			Do: "Delete those claims; take off finalizers of others when they have gone. Of a delegated pool: delete what uses it in the member. Where " +
				"the member cannot report: see that nothing there uses the block, nor will (delete the copy there, and see that no pool of that block " +
				"is left), then set the annotation `ipam.weir.dev/force-release` to the member's name.",
		},
	}},
	{Pools, ipamv1.ExhaustedCondition, "Whether nothing is available. An exhausted pool is healthy, and stays `Ready`.", []Reason{
		{
			Name: ipamv1.PoolExhaustedNoneAvailableReason, Status: metav1.ConditionTrue,
			Means: "No address is available; the message says where they have gone. Some may be kept for claims that do not exist (`preAllocations`). " +
				"Claims say `PoolExhausted`.",
			Do: "Grow `addresses`, or make another pool. Of a pool of floating IPs: raise `maxIPs`.",
		},
		{
			Name: ipamv1.PoolExhaustedQuotaUsedUpReason, Status: metav1.ConditionTrue,
			Means: "Of a pool of floating IPs: the cloud refused the last creation, because the project's quota is used up.",
			Do:    "Raise the quota, or delete floating IPs that are not needed. Claims that wait are tried again by themselves.",
			See:   "guides/openstack.md#how-many",
		},
		{
			Name: ipamv1.PoolExhaustedNetworkFullReason, Status: metav1.ConditionTrue,
			Means: "Of a pool of floating IPs: the cloud refused the last creation, because the network has no free address.",
			Do:    "Have the network enlarged, or delete floating IPs that are not needed. Claims that wait are tried again by themselves.",
			See:   "guides/openstack.md#how-many",
		},
		{
			Name: ipamv1.PoolExhaustedSomeAvailableReason, Status: metav1.ConditionFalse,
			Means: "Addresses are available.",
		},
	}},
	{
		Pools, clusterv1.PausedCondition, "Whether the pool is paused. The other conditions of a paused pool, but for `Ready`, are not brought up to date.", []Reason{
			{
				Name: clusterv1.PausedReason, Status: metav1.ConditionTrue,
				Means: "The pool or its Cluster has the annotation `cluster.x-k8s.io/paused`, or its Cluster has `spec.paused`.",
				Do:    "Unpause what the message names.",
			},
			{
				Name: clusterv1.NotPausedReason, Status: metav1.ConditionFalse,
				Means: "The pool is not paused.",
			},
		},
	},
	{Pools, ipamv1.NetworkCurrentCondition, "Whether all IPAddresses of the pool carry its present network settings. It is absent if so.", []Reason{
		{
			Name: ipamv1.AddressesOutdatedReason, Status: metav1.ConditionFalse,
			Means: "Some IPAddresses carry another prefix length, gateway or DNS servers than the pool has now, of itself or from a pool above. An " +
				"IPAddress never changes. The condition goes with the last of them.",
			Do:  "Replace the machines.",
			See: "guides/pools.md#what-comes-with-an-address",
		},
	}},
	{Pools, ipamv1.GatewayReachableCondition, "Whether all addresses of the pool reach their gateway. It is absent if so.", []Reason{
		{
			Name: ipamv1.AddressesOffLinkReason, Status: metav1.ConditionFalse,
			Means: "Some addresses do not reach the gateway that comes with them, of the pool itself or from a pool above. The message names the " +
				"entries. Claims do not get these addresses, so the pool may be exhausted earlier than its size says. What is in use stays; its " +
				"machines have a gateway that is not in their network.",
			Do:  "Correct `network.prefixLength` or `gateway`, or give these addresses a network in `subnets`; a carved pool, its own `network`.",
			See: "guides/pools.md#what-comes-with-an-address",
		},
	}},
	{Pools, ipamv1.ForeignAddressesCondition, "Whether IPAddresses of other IPAM providers name addresses of the pool. It is absent if not.", []Reason{
		{
			Name: ipamv1.ForeignExcludedReason, Status: metav1.ConditionTrue,
			Means: "Other providers have handed out addresses of the pool. No claim of the pool has any of them, nor will.",
			See:   "guides/pools.md#beside-other-providers",
		},
		{
			Name: ipamv1.ForeignConflictReason, Status: metav1.ConditionTrue,
			Means: "Claims of the pool have addresses that other providers have handed out, too. Two machines may use one address.",
			Do:    "Replace one machine of each pair.",
			See:   "guides/pools.md#beside-other-providers",
		},
	}},
	{Pools, ipamv1.AddressesByHandCondition, "Whether IPAddresses of the pool were made by hand and no claim has them. It is absent if not.", []Reason{
		{
			Name: ipamv1.AddressesUnclaimedReason, Status: metav1.ConditionTrue,
			Means: "The message counts these IPAddresses and names the first. What the pool would hand out of them goes to no other claim.",
			Do:    "Nothing, if they are meant. Else delete them, or create a claim of the same name, which gets the address.",
			See:   "guides/pools.md#ipaddresses-made-by-hand",
		},
	}},
	{Pools, ipamv1.MovableCondition, "Whether `clusterctl move` would take along all that is handed out of the pool. It says nothing of the pool's work.", []Reason{
		{
			Name: ipamv1.PoolMovableAllMovesReason, Status: metav1.ConditionTrue,
			Means: "All claims and carved pools would move with the pool, or, if it is a `GlobalIPPool`, with their own namespaces.",
		},
		{
			Name: ipamv1.PoolMovableDependentsNotMovedReason, Status: metav1.ConditionFalse,
			Means: "`clusterctl move` would leave something of the pool behind; the message names some of it. Meanwhile an `IPPool` has the annotation " +
				"`clusterctl.cluster.x-k8s.io/block-move`. It matters only if you want to move.",
			See: "guides/move.md#before-a-move",
		},
	}},
	{Pools, ipamv1.DelegatedCondition, "What the member of a delegated pool has reported last (`status.member`), at the hub. Capacity, utilisation, claims and " +
		"gauges of such a pool are the member's. Where a report stands that is not the latest, the message ends with \"this was reported last\".", []Reason{
		{
			Name: ipamv1.DelegatedServingReason, Status: metav1.ConditionTrue,
			Means: "The member serves the pool.",
		},
		{
			Name: ipamv1.DelegatedNotServingReason, Status: metav1.ConditionFalse,
			Means: "The member has the pool and does not serve it. The message has the reason and message of the copy's `Ready` condition.",
			Do:    "Look up that reason under `Ready`, for the member.",
		},
		{
			Name: ipamv1.DelegatedRefusedReason, Status: metav1.ConditionFalse,
			Means: "The member has refused the pool as the hub has it, in the words of the message. What it took earlier it goes on with.",
			Do:    "Correct what the message names, at the hub or at the member. It is sent again.",
		},
		{
			Name: ipamv1.DelegatedNotReportedReason, Status: metav1.ConditionUnknown,
			Means: "Nothing is known of the copy. The message says why.",
			Do:    "Look up the message.",
			See:   "guides/troubleshooting.md#members-that-do-not-report",
		},
	}},
	{Pools, ipamv1.ExpandedCondition, "Whether a delegated pool with `spec.expansion` has the further pools that it needs, at the hub. " +
		"A reason with False is also an event, with `Expansion` before it; the event `SiblingCreated` names a pool that was created.", []Reason{
		{
			Name: ipamv1.ExpandedSufficientReason, Status: metav1.ConditionTrue,
			Means: "Enough is available in the pool and its siblings, as the member has reported last.",
		},
		{
			Name: ipamv1.ExpandedSiblingPendingReason, Status: metav1.ConditionTrue,
			Means: "A sibling was created, which the message names, and the member has not reported it yet. There is no further one until it has.",
			Do:    "Where this lasts, see the condition `Delegated` of that pool.",
		},
		{
			Name: ipamv1.ExpandedNotReportedReason, Status: metav1.ConditionUnknown,
			Means: "The member has not reported how much of the pool is available, so all of it counts as available.",
			Do:    "See the condition `Delegated`.",
		},
		{
			Name: ipamv1.ExpandedNotServingReason, Status: metav1.ConditionFalse,
			Means: "The pool's `spec.mode` is not `Serving`: it is not expanded.",
		},
		{
			Name: ipamv1.ExpandedMaxPoolsReason, Status: metav1.ConditionFalse,
			Means: "More is needed, and there are as many siblings as `spec.expansion.maxPools` allows. Other pools that have names of siblings are named, and " +
				"count against it.",
			Do: "Raise `maxPools`, or delete what is not needed at the member.",
		},
		{
			Name: ipamv1.ExpandedRefusedReason, Status: metav1.ConditionFalse,
			Means: "More is needed, and the sibling is refused, in the words of the message: the parent is full, the manager lacks the right to create " +
				"pools, or the spec does not suit another block.",
			Do: "Correct what the message names. It is tried again each minute, and when something of the parent is freed. The right is in " +
				"`config/components/federation`.",
			See: "guides/federation.md#a-further-pool-before-the-first-is-full",
		},
	}},
	{Pools, ipamv1.FloatingIPsCondition, "Of a pool of floating IPs: whether they agree with the pool's records. Weir compares them every ten minutes.", []Reason{
		{
			Name: ipamv1.FloatingIPsAsRecordedReason, Status: metav1.ConditionTrue,
			Means: "They agree.",
		},
		{
			Name: ipamv1.FloatingIPsMissingReason, Status: metav1.ConditionFalse,
			Means: "The floating IPs of the named claims do not exist any more, or are others' in the cloud. CAPO deletes those of a bastion, and of a control " +
				"plane without managed load balancer. Nothing is renumbered.",
			Do:  "Delete those machines, and with them the claims: they get another address. Use such pools for workers only.",
			See: "guides/openstack.md#what-differs",
		},
		{
			Name: ipamv1.FloatingIPsLeftOverReason, Status: metav1.ConditionFalse,
			Means: "The named floating IPs are of claims that are not here. Weir keeps them: the claim may live in another cluster.",
			Do:    "Look for the claim in the clusters that the pool's objects were moved or copied to. If there is none, delete the floating IP.",
			See:   "guides/openstack.md#what-differs",
		},
		{
			Name: ipamv1.FloatingIPsSurplusReason, Status: metav1.ConditionFalse,
			Means: "The named floating IPs are of claims that live and have another one. Weir releases such a floating IP, unless it is in use or its " +
				"description was changed; and not while the claim waits for its address, is paused or moves, or came from elsewhere.",
			Do:  "Disassociate it, if the message names a port; delete its port forwardings, if it names a router. With a changed description, delete it if it is not needed.",
			See: "guides/openstack.md#what-differs",
		},
	}},
	{Pools, ipamv1.BlocksHeldCondition, "Whether members may use blocks of the pool whose own pools are gone. It is absent if not.", []Reason{
		{
			Name: ipamv1.PoolGoneReason, Status: metav1.ConditionTrue,
			Means: "Members may use blocks whose pools are gone: their finalizer was stripped, their namespace was finalised by force, or the API server " +
				"refused the create after Weir had answered (a quota). The message names up to five blocks, their members and, on an `IPPool`, the " +
				"`IPAllocation`s. No other pool or claim gets such a block. `kubectl get ipallocations.ipam.weir.dev -A --field-selector " +
				"spec.cidr=BLOCK` finds it.",
			Do: "To use a block again, create its pool again with the same `cidr` and `delegateTo`. To free it, delete that pool (see `Deleting`); or, " +
				"once the member uses it no more, delete the `IPAllocation`, which takes the verb `manage`. It goes if its pool is gone.",
			See: "guides/federation.md#when-something-is-wrong",
		},
	}},
	{Pools, ipamv1.WithinPoolCondition, "As on claims: whether the parent would give a carved pool its block today. It is absent if so.", []Reason{
		{
			Name: ipamv1.OutsidePolicyReason, Status: metav1.ConditionFalse,
			Means: "The pool came with its block from elsewhere or a backup, or its parent was changed since. The message says what is not applied.",
			Do:    "Decide whether the block should stay. To have another one, delete the pool and make it again.",
			See:   "guides/restore.md#what-happens",
		},
	}},
}

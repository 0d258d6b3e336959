// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var claims = []Condition{
	{Claims, ipamv1.ReadyCondition, "Whether the claim has an address or prefix. Its message names the field or the object that matters.", []Reason{
		{
			Name: ipamv1.ClaimReadyAllocatedReason, Status: metav1.ConditionTrue,
			Means: "The claim has its address or prefix.",
		},
		{
			Name: ipamv1.ClaimReadyPoolExhaustedReason, Status: metav1.ConditionFalse,
			Means: "The pool has nothing free of the length that the claim asks for. Weir made sure that its view was current before it said so. " +
				"Of a pool of floating IPs the message says whether `maxIPs`, the quota or the network ends it.",
			Do:  "Add addresses to the pool, or delete claims that are not needed. The claim is answered by itself as soon as there is room.",
			See: "guides/pools.md#growing",
		},
		{
			Name: ipamv1.ClaimReadyPoolNotReadyReason, Status: metav1.ConditionFalse,
			Means: "The pool does not exist (yet), or a `GlobalIPPool` is not visible to the claim's namespace. Or the pool drains, is being " +
				"deleted, is at home elsewhere, cannot be served, or its blocks are not recorded yet. A claim that is created together with its " +
				"pool may say this for a moment. An answered claim keeps its address and its condition while its pool is being deleted.",
			Do:  "Look at the pool's `Ready` condition. The claim is answered by itself when the pool serves, appears or becomes visible.",
			See: "guides/projects.md",
		},
		{
			Name: ipamv1.ClaimReadyAllocationFailedReason, Status: metav1.ConditionFalse,
			Means: "The claim asks for something that it cannot have: an unknown kind of pool, a version in `apiGroup`, or an address (annotation " +
				"`ipam.weir.dev/address`, or an `IPAddress` made by hand) that is not canonical, outside the pool, excluded, reserved, the " +
				"gateway, longer than `maxPrefixLength`, kept for another claim or taken. Or the pool keeps an address for it " +
				"(`preAllocations`) that another claim holds.",
			Do: "Correct what the message names. `poolRef` is immutable: delete the claim and make another. A taken address is tried again by " +
				"itself, after half a minute to a minute.",
			See: "guides/projects.md",
		},
		{
			Name: ipamv1.ClaimReadyRefusedByAPIServerReason, Status: metav1.ConditionFalse,
			Means: "The API server does not store the claim's record (`IPAllocation`) or its `IPAddress`: a quota, an admission policy, another " +
				"webhook, a right that the manager lacks, a name that is not valid, or the claim's namespace is being deleted. The message has the " +
				"API server's words, and names the address if that is recorded already: it stays the claim's meanwhile.",
			Do: "Correct what the message names. It is tried again by itself, at first within a second, in the end after half a minute to a minute.",
		},
		{
			Name: ipamv1.ClaimReadyClusterNotFoundReason, Status: metav1.ConditionFalse,
			Means: "The Cluster that the claim names does not exist. Nothing is done for the claim before it does; deleting the claim goes on. " +
				"An answered claim keeps its address and its condition when its Cluster goes.",
			Do: "Make the Cluster, or correct what the message names: `spec.clusterName`, else the label `cluster.x-k8s.io/cluster-name`, else an owner.",
		},
		{
			Name: ipamv1.ClaimReadyWaitingForHostReason, Status: metav1.ConditionFalse,
			Means: "The claim is CAPM3's, its pool keeps addresses for hosts, and which host the claim is for is not known yet.",
			Do:    "Look at the object that the message names. Weir looks again by itself.",
			See:   "guides/pools.md#hosts-of-metal3",
		},
		{
			Name: ipamv1.ClaimReadyWaitingForRestoreReason, Status: metav1.ConditionFalse,
			Means: "The claim was created with Weir's finalizer, as a restore does, and waits for its `IPAddress` or `IPAllocation`.",
			Do:    "Restore them, or wait for `--repair-grace`, or set the annotation `ipam.weir.dev/arrived` to the empty string.",
			See:   "guides/restore.md",
		},
		{
			Name: ipamv1.ClaimReadyAddressConflictReason, Status: metav1.ConditionFalse,
			Means: "The claim and another one have the same address: one of them came with it (restore, move). Both say so; neither is renumbered, " +
				"and no other claim gets the address.",
			Do:  "Decide which claim keeps it, and delete the other.",
			See: "guides/restore.md#address-conflict",
		},
	}},
	{
		Claims, clusterv1.PausedCondition, "Whether the claim is paused. Nothing but the status is touched then, and the other conditions stay as they were. " +
			"A claim that never was paused does not have it.", []Reason{
			{
				Name: clusterv1.PausedReason, Status: metav1.ConditionTrue,
				Means: "The claim is paused by its own annotation `cluster.x-k8s.io/paused` or by its Cluster (`spec.paused`, or that annotation); " +
					"or it has no answer, and waits for a pool that is paused. The message says which.",
				Do: "Unpause what the message names.",
			},
			{
				Name: clusterv1.NotPausedReason, Status: metav1.ConditionFalse,
				Means: "The claim was paused, and is not now.",
			},
		},
	},
	{Claims, ipamv1.WithinPoolCondition, "Whether the pool would hand out today what the claim, or carved pool, has. It is absent if so.", []Reason{
		{
			Name: ipamv1.OutsidePolicyReason, Status: metav1.ConditionFalse,
			Means: "The claim or pool came with what it has from elsewhere or a backup, or its pool was changed since. Not applied are exclusions, " +
				"bounds or what is kept for others; the message says which. Nothing is wrong with the address. After a change of the pool the " +
				"condition comes with the next look at the claim, `--sync-period` (ten minutes) later at most; the warning that answers the change " +
				"names the claims at once.",
			Do:  "Decide whether the address should stay. To have another one, delete the claim.",
			See: "guides/restore.md#what-happens",
		},
	}},
	{Claims, ipamv1.DeletingCondition, "What keeps a deleted claim, and so its address. Absent otherwise. Weir looks again after half a minute to a minute.", []Reason{
		{
			Name: ipamv1.WaitingForFinalizersReason, Status: metav1.ConditionTrue,
			Means: "Finalizers of others are on the claim. The message names them, and what is known of what takes them off. Until they are off the " +
				"claim keeps its address: it is in use, or the finalizer was forgotten.",
			Do: "Wait for their owners. Take one off by hand only when you know that its owner is done.",
		},
		{
			Name: ipamv1.WaitingForAPIServerReason, Status: metav1.ConditionTrue,
			Means: "The API server refuses a write by which Weir releases what the claim has. The message has its words, which name the webhook, the policy " +
				"or the right. The claim keeps its address until the write succeeds; Weir tries again after a minute at most.",
			Do: "Correct what the message names: the policy, the webhook or the manager's rights. Leave Weir's finalizer on the claim.",
		},
		{
			Name: ipamv1.WaitingForPortReason, Status: metav1.ConditionTrue,
			Means: "The claim's floating IP is bound to the port that the message names, or port forwardings of the named router use it.",
			Do:    "Nothing: it is released when the port or the port forwardings are gone, or the floating IP is disassociated.",
			See:   "guides/openstack.md#deleting",
		},
		{
			Name: ipamv1.WaitingForCloudReason, Status: metav1.ConditionTrue,
			Means: "The cloud does not answer, refuses to release the claim's floating IP, or does not have the pool's network; or the feature gate " +
				"`OpenStack` is closed.",
			Do: "Look at the pool and at the manager's log. If the message names a network, correct the cloud and the region that `identityRef` and " +
				"its Secret name; if the network was deleted, abandon the floating IPs.",
			See: "guides/openstack.md#without-the-cloud",
		},
		{
			Name: ipamv1.WaitingForSecretReason, Status: metav1.ConditionTrue,
			Means: "The Secret with the cloud's credentials does not exist, so the claim's floating IP cannot be released.",
			Do:    "Create the Secret again.",
			See:   "guides/openstack.md#without-the-cloud",
		},
		{
			Name: ipamv1.WaitingForPoolReason, Status: metav1.ConditionTrue,
			Means: "The pool, or its Cluster, is paused or is moving to another cluster, so the claim's floating IP is not released.",
			Do:    "Unpause it when you are done.",
			See:   "guides/openstack.md#deleting",
		},
	}},
}

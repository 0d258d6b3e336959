// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
)

// claimThat is a claim of pool p with these conditions.
func claimThat(shown ...metav1.Condition) *ipamv1.IPClaim {
	claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}}
	claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: "IPPool", Name: "p"}
	for _, c := range shown {
		conditions.Set(claim, c)
	}
	return claim
}

func notReady(reason string) metav1.Condition {
	return metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: reason}
}

func TestAClaimIsInExactlyOneState(t *testing.T) {
	t.Parallel()
	answered := metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: ipamv1.ClaimReadyAllocatedReason}
	paused := PausedCondition("the Cluster is paused")
	deleted := claimThat(answered)
	now := metav1.Now()
	deleted.DeletionTimestamp = &now
	for name, c := range map[string]struct {
		claim *ipamv1.IPClaim
		want  string
	}{
		"nobody has looked at it":       {claimThat(), "waiting"},
		"it has its prefix":             {claimThat(answered), "answered"},
		"it has its prefix, and pauses": {claimThat(answered, paused), "answered"},
		"it was paused, and is not now": {claimThat(answered, PausedCondition("")), "answered"},
		"it is deleted":                 {deleted, "deleting"},
		"it pauses":                     {claimThat(paused), "paused"},
		"it pauses, and was refused":    {claimThat(paused, notReady(ipamv1.ClaimReadyPoolExhaustedReason)), "paused"},
		"two have the same":             {claimThat(paused, notReady(ipamv1.ClaimReadyAddressConflictReason)), "conflict"},
		"its pool is full":              {claimThat(notReady(ipamv1.ClaimReadyPoolExhaustedReason)), "exhausted"},
		"its pool does not serve":       {claimThat(notReady(ipamv1.ClaimReadyPoolNotReadyReason)), "waiting"},
		"its Cluster is missing":        {claimThat(notReady(ipamv1.ClaimReadyClusterNotFoundReason)), "waiting"},
		"its host is not known":         {claimThat(notReady(ipamv1.ClaimReadyWaitingForHostReason)), "waiting"},
		"its answer is to be restored":  {claimThat(notReady(ipamv1.ClaimReadyWaitingForRestoreReason)), "waiting"},
		"it asks for what it cannot":    {claimThat(notReady(ipamv1.ClaimReadyAllocationFailedReason)), "refused"},
		"the API server refuses it":     {claimThat(notReady(ipamv1.ClaimReadyRefusedByAPIServerReason)), "refused"},
	} {
		if got := stateOf(c.claim).String(); got != c.want {
			t.Errorf("%s: it is %s, want %s", name, got, c.want)
		}
	}
}

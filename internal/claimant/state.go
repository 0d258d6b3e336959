// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
)

// state is how a claim of any form stands, by its object alone.
type state uint8

// States of claims. Every claim is in exactly one: the first of deleting, conflict, answered, paused and the rest that is true of it.
const (
	// answeredState: it has its address or prefix, and nothing is wrong with that.
	answeredState state = iota
	// exhaustedState: its pool has nothing of the length that it asks for.
	exhaustedState
	// waitingState: it has not been looked at yet, or something that it needs does not exist, or does not serve, now.
	waitingState
	// refusedState: it is not answered as it stands.
	refusedState
	// pausedState: it has no answer, and is paused.
	pausedState
	// conflictState: another claim has the same address, or what it asks for.
	conflictState
	// deletingState: it is being deleted.
	deletingState

	states int = iota
)

var stateNames = [states]string{"answered", "exhausted", "waiting", "refused", "paused", "conflict", "deleting"}

func (s state) String() string { return stateNames[s] }

// stateOf returns how a claim stands, as its status says.
func stateOf(claim Claimant) state {
	ready := conditions.Get(claim, ipamv1.ReadyCondition)
	switch {
	case !claim.GetDeletionTimestamp().IsZero():
		return deletingState
	case ready != nil && ready.Reason == ipamv1.ClaimReadyAddressConflictReason:
		return conflictState
	case ready != nil && ready.Status == metav1.ConditionTrue:
		return answeredState
	case conditions.IsTrue(claim, clusterv1.PausedCondition):
		return pausedState
	case ready == nil:
		return waitingState
	}
	switch ready.Reason {
	case ipamv1.ClaimReadyPoolExhaustedReason:
		return exhaustedState
	case ipamv1.ClaimReadyAllocationFailedReason, ipamv1.ClaimReadyRefusedByAPIServerReason:
		return refusedState
	}
	return waitingState
}

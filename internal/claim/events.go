// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
)

// Event reasons and actions; the reason of a refusal is that of Ready. An ordinary success is no event: it would be one more write for
// each claim.
const (
	addressAllocatedEvent = "AddressAllocated"
	addressKeptEvent      = "AddressKept"
	addressAbandonedEvent = "AddressAbandoned"

	allocateAction = "Allocate"
	keepAction     = "Keep"
	releaseAction  = "Release"
)

// settling is for how long after its creation a claim is refused without an event: one that was applied together with its pool is answered
// in a moment. PoolExhausted, AddressConflict and RefusedByAPIServer get their event at once.
const settling = 5 * time.Second

// passes says whether a refusal for this reason may end by itself in a moment.
func passes(reason string) bool {
	return reason != ipamv1.ClaimReadyPoolExhaustedReason && reason != ipamv1.ClaimReadyAddressConflictReason &&
		reason != ipamv1.ClaimReadyRefusedByAPIServerReason
}

// settles says whether the claim is so young that its refusal may end by itself.
func (r *reporter) settles(claim *door.Claim, ready *metav1.Condition) bool {
	return passes(ready.Reason) && r.Clock.Since(claim.GetCreationTimestamp().Time) < settling
}

// announce reports a refusal, in the audit trail, too, and the recovery from one. It returns whether it recorded the event of a refusal.
func (r *reporter) announce(claim *door.Claim, before *metav1.Condition, after metav1.Condition) (refused bool) {
	switch {
	case after.Status == metav1.ConditionFalse && (before == nil || before.Reason != after.Reason || before.Message != after.Message):
		if after.Reason == ipamv1.ClaimReadyPoolExhaustedReason {
			claimant.CountExhausted(r.observer.poolOf(claim))
		}
		audit.Refused(audit.Entry{
			Pool: r.observer.poolOf(claim), Claim: r.observer.reference(keyOf(claim), claim.GetUID()), Reason: after.Reason,
		}, after.Message)
		if r.settles(claim, &after) {
			return false
		}
		r.warn(claim, &after)
		return true
	case after.Status == metav1.ConditionTrue && before != nil && before.Status == metav1.ConditionFalse && !r.settles(claim, before):
		r.Recorder.Eventf(claim.Stored, nil, corev1.EventTypeNormal, addressAllocatedEvent, allocateAction, "The claim has an address now")
	}
	return false
}

// remind records the event of a refusal that has outlasted settling, and has the claim looked at again for that.
func (r *reporter) remind(s *scope, result ctrl.Result) ctrl.Result {
	age := r.Clock.Since(s.claim.GetCreationTimestamp().Time)
	ready := conditions.Get(s.claim.Stored, ipamv1.ReadyCondition) // as it was read
	switch {
	case s.answer != nil || age >= 2*settling:
	case age < settling:
		result.RequeueAfter = min(cmp.Or(result.RequeueAfter, settling), settling-age)
	case !s.announced && ready != nil && ready.Status == metav1.ConditionFalse && passes(ready.Reason) &&
		ready.LastTransitionTime.Sub(s.claim.GetCreationTimestamp().Time) < settling:
		r.warn(s.claim, ready)
	}
	return result
}

// warn records the event of a refusal, with the reason of Ready. The recorder merges events of one reason about one version of a claim,
// and keeps the first text only.
func (r *reporter) warn(claim *door.Claim, ready *metav1.Condition) {
	r.Recorder.Eventf(claim.Stored, nil, corev1.EventTypeWarning, ready.Reason, allocateAction, "%s", ready.Message)
}

// poolOf is the pool that the claim names.
func (r *observer) poolOf(claim *door.Claim) ipamv1.PoolReference {
	return r.Source.Reference(claim.Pool, claim.GetNamespace())
}

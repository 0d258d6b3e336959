// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// Event reasons and actions; the reason of a refusal is that of Ready. An ordinary success is no event: it would be one more write for
// each claim.
const (
	addressAllocatedEvent = "AddressAllocated"
	addressKeptEvent      = "AddressKept"

	allocateAction = "Allocate"
	keepAction     = "Keep"
)

// settling is for how long after its creation a claim is refused without an event: one that was applied together with its pool is answered
// in a moment. PoolExhausted and AddressConflict get their event at once.
const settling = 5 * time.Second

// passes says whether a refusal for this reason may end by itself in a moment.
func passes(reason string) bool {
	return reason != ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason && reason != ipamv1.ClaimReadyAddressConflictReason
}

// settles says whether the claim is so young that its refusal may end by itself.
func (r *Reconciler) settles(claim *ipamv1beta2.IPAddressClaim, ready *metav1.Condition) bool {
	return passes(ready.Reason) && r.Clock.Since(claim.CreationTimestamp.Time) < settling
}

// announce reports a refusal, in the audit trail, too, and the recovery from one. It returns whether it recorded the event of a refusal.
func (r *Reconciler) announce(claim *ipamv1beta2.IPAddressClaim, before *metav1.Condition, after metav1.Condition) (refused bool) {
	switch {
	case after.Status == metav1.ConditionFalse && (before == nil || before.Reason != after.Reason || before.Message != after.Message):
		if after.Reason == ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason {
			exhausted.Inc()
		}
		audit.Refused(audit.Entry{
			Pool: poolOf(claim), Claim: reference(client.ObjectKeyFromObject(claim), claim.UID), Reason: after.Reason,
		}, after.Message)
		if r.settles(claim, &after) {
			return false
		}
		r.warn(claim, &after)
		return true
	case after.Status == metav1.ConditionTrue && before != nil && before.Status == metav1.ConditionFalse && !r.settles(claim, before):
		r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, addressAllocatedEvent, allocateAction, "The claim has an address now")
	}
	return false
}

// remind records the event of a refusal that has outlasted settling, and has the claim looked at again for that.
func (r *Reconciler) remind(s *scope, result ctrl.Result) ctrl.Result {
	age := r.Clock.Since(s.claim.CreationTimestamp.Time)
	ready := conditions.Get(s.claim, ipamv1beta2.IPAddressClaimReadyCondition) // as it was read
	switch {
	case s.answer != nil || age >= 2*settling:
	case age < settling:
		result.RequeueAfter = min(cmp.Or(result.RequeueAfter, settling), settling-age)
	case !s.announced && ready != nil && ready.Status == metav1.ConditionFalse && passes(ready.Reason) &&
		ready.LastTransitionTime.Sub(s.claim.CreationTimestamp.Time) < settling:
		r.warn(s.claim, ready)
	}
	return result
}

// warn records the event of a refusal, with the reason of Ready. The recorder merges events of one reason about one version of a claim,
// and keeps the first text only.
func (r *Reconciler) warn(claim *ipamv1beta2.IPAddressClaim, ready *metav1.Condition) {
	r.Recorder.Eventf(claim, nil, corev1.EventTypeWarning, ready.Reason, allocateAction, "%s", ready.Message)
}

// poolOf is the pool that the claim names.
func poolOf(claim *ipamv1beta2.IPAddressClaim) ipamv1.PoolReference {
	kind, namespace := kinds.OfPool(claim.Spec.PoolRef), claim.Namespace
	if kind == kinds.GlobalIPPool {
		namespace = ""
	}
	return kinds.Pool(kind, namespace, claim.Spec.PoolRef.Name)
}

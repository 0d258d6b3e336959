// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
)

// Event reasons and actions. An ordinary success is no event: it would be one more write for each claim.
const (
	allocationRefusedEvent = "AllocationRefused"
	addressAllocatedEvent  = "AddressAllocated"
	addressKeptEvent       = "AddressKept"

	allocateAction = "Allocate"
	keepAction     = "Keep"
)

// announce tells of a refusal, and of the recovery from one.
func (r *Reconciler) announce(claim *ipamv1beta2.IPAddressClaim, before *metav1.Condition, after metav1.Condition) {
	switch {
	case after.Status == metav1.ConditionFalse && (before == nil || before.Reason != after.Reason || before.Message != after.Message):
		if after.Reason == ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason {
			exhausted.Inc()
		}
		r.Recorder.Eventf(claim, nil, corev1.EventTypeWarning, allocationRefusedEvent, allocateAction, "%s: %s", after.Reason, after.Message)
	case after.Status == metav1.ConditionTrue && before != nil && before.Status == metav1.ConditionFalse:
		r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, addressAllocatedEvent, allocateAction, "The claim has an address now")
	}
}

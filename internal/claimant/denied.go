// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// A write that the API server refused is tried again after these times. No watch reports that its cause has gone.
const (
	firstDenied = 500 * time.Millisecond
	lastDenied  = 30 * time.Second
)

// Denied adds to the error of a write that the API server refused the refusal that reports it in the Ready condition of a claim or pool.
// Any other error is returned as it is.
func Denied(err error, of conditions.Getter, now time.Time) error {
	var denied *ledger.DeniedError
	if !errors.As(err, &denied) {
		return err
	}
	return errors.Join(&Refusal{
		Reason: ipamv1.ClaimReadyRefusedByAPIServerReason, Message: denied.Error(),
		After: retryDenied(conditions.Get(of, ipamv1.ReadyCondition), metav1.ConditionFalse, now),
	}, err)
}

// WhyKept is why a claim that is being deleted keeps what it has, by what came of its release: what the outcome says, or a write that the
// API server refuses. It is nil for every other outcome.
func WhyKept(outcome error, of conditions.Getter, now time.Time) *KeptError {
	var kept *KeptError
	var denied *ledger.DeniedError
	switch {
	case outcome == nil, errors.As(outcome, &kept):
	case errors.As(ledger.WriteError("what the claim has could not be released", outcome), &denied):
		kept = &KeptError{
			Reason: ipamv1.WaitingForAPIServerReason, Message: denied.Error(),
			After: retryDenied(conditions.Get(of, ipamv1.DeletingCondition), metav1.ConditionTrue, now),
		}
	}
	return kept
}

// retryDenied is when the write is tried again: the longer the condition has said so, the later.
func retryDenied(told *metav1.Condition, status metav1.ConditionStatus, now time.Time) time.Duration {
	if told == nil || told.Status != status {
		return firstDenied
	}
	return min(max(now.Sub(told.LastTransitionTime.Time)/2, firstDenied), lastDenied)
}

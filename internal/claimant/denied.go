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
		Reason: ipamv1.ClaimReadyRefusedByAPIServerReason, Message: denied.Error(), After: retryDenied(of, now),
	}, err)
}

// retryDenied is when the write is tried again: the longer the object has not been ready, the later.
func retryDenied(of conditions.Getter, now time.Time) time.Duration {
	ready := conditions.Get(of, ipamv1.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return firstDenied
	}
	return min(max(now.Sub(ready.LastTransitionTime.Time)/2, firstDenied), lastDenied)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"errors"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// errorMessage returns what status.errorMessage is to say of a claim without an address: Metal3's own text where it has one, else the message
// of Ready; "" while the claim only waits.
func errorMessage(c *m3v1.IPClaim, ready metav1.Condition, outcome error) string {
	switch ready.Reason {
	case ipamv1.ClaimReadyAllocatedReason, ipamv1.ClaimReadyPoolNotReadyReason, ipamv1.ClaimReadyClusterNotFoundReason,
		ipamv1.ClaimReadyWaitingForRestoreReason:
		return ""
	}
	asked, asks := c.Annotations[m3v1.AddressAnnotation]
	if _, err := ParseAddress(m3v1.Address(asked)); asks && err != nil {
		return m3v1.InvalidAnnotationMessage + strconv.Quote(excerpt.Of(asked)) + ": not a valid IP address"
	}
	var refused *ledger.RefusedError
	var denied *ledger.DeniedError
	switch {
	case errors.As(outcome, &denied):
		return m3v1.CreateFailedMessage + ": " + denied.Words
	case errors.Is(outcome, ledger.ErrExhausted):
		return m3v1.ExhaustedMessage
	case errors.As(outcome, &refused):
		return refusedMessage(refused, asks)
	case errors.Is(outcome, ledger.ErrTaken) && asks:
		return m3v1.NotAvailableMessage
	}
	return ready.Message
}

// refusedMessage is why the pool does not hand out what is asked of it, or kept for the claim.
func refusedMessage(refused *ledger.RefusedError, asks bool) string {
	switch {
	case refused.Why == ledger.Denied:
		return m3v1.OutOfBoundsMessage
	case !asks:
		return refused.Error()
	case refused.Why == ledger.KeptElsewhere:
		return m3v1.ConflictingMessage
	case refused.Why == ledger.OutsidePool:
		return m3v1.ExhaustedMessage
	}
	return m3v1.NotAvailableMessage
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"cmp"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Refusal says why a claim, or a pool, does not get what it asks for as things stand. It is shown
// in the Ready condition. Nothing is tried again before something changes, or After is over.
type Refusal struct {
	// Reason of the Ready condition. Where there is none, nothing is told but Paused.
	Reason string
	// Field is the path of what is wrong; "" where the message names it.
	Field, Message string
	// Paused says why the claim, or its pool, is paused; "" if that is not what is the matter.
	Paused string
	// After is when to try again, if no watch tells of the change; 0 where one does.
	After time.Duration
	// Cause is for those who are told while they create.
	Cause Cause
}

// Cause is what kind of refusal it is.
type Cause uint8

const (
	// Invalid: it is not answered as it stands, or not by the pools as they stand.
	Invalid Cause = iota
	// Forbidden: it may not ask that.
	Forbidden
	// Missing: what it names does not exist, and may yet.
	Missing
	// NoMatch: nothing exists that it selects, and something may yet.
	NoMatch
)

func (e *Refusal) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Retries are when an object is looked at again for what no watch tells; what a watch tells is not tried again on a timer.
type Retries struct {
	// Busy: a race was lost, or another manager is at it.
	Busy time.Duration
	// Taken: others have what is asked for.
	Taken time.Duration
	// Refused: it does not get what it asks for, or its pool has nothing; 0 where a watch tells when that changes.
	Refused time.Duration
	// Ending: its namespace is being deleted, or it seems to be gone.
	Ending time.Duration
}

// Result turns an error into what controller-runtime is to do. Retries are spread, so that claims that lost together do not come back
// together.
func (r Retries) Result(err error) (ctrl.Result, error) {
	var refusal *Refusal
	var kept *KeptError
	var fault *external.FaultError
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case errors.Is(err, ledger.ErrBusy), apierrors.IsConflict(err):
		return After(r.Busy), nil
	case errors.Is(err, ledger.ErrTaken):
		return After(r.Taken), nil
	case errors.As(err, &kept):
		return After(kept.After), nil
	case errors.As(err, &fault):
		return After(fault.After), nil
	case errors.As(err, &refusal):
		return After(cmp.Or(refusal.After, r.Refused)), nil
	case errors.Is(err, ledger.ErrExhausted), errors.Is(err, ledger.ErrNotReady), errors.Is(err, ledger.ErrRefused):
		return After(r.Refused), nil
	case predicates.IsEnding(err):
		return After(r.Ending), nil
	default:
		return ctrl.Result{}, err
	}
}

// After has an object looked at again after this time, and a little more; not at all if it is 0.
func After(d time.Duration) ctrl.Result {
	return ctrl.Result{RequeueAfter: wait.Jitter(d, 1)}
}

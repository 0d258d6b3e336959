// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestDeniedIsTriedAgainEverLater: each pause is as long as half the time that the claim has not been ready, within bounds.
func TestDeniedIsTriedAgainEverLater(t *testing.T) {
	t.Parallel()
	now := time.Now()
	unready := func(since time.Duration) []metav1.Condition {
		return []metav1.Condition{{
			Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: "x", LastTransitionTime: metav1.NewTime(now.Add(-since)),
		}}
	}
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		want       time.Duration
	}{
		"nothing is known yet": {nil, firstDenied},
		"it is ready": {
			[]metav1.Condition{{Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}},
			firstDenied,
		},
		"just now":            {unready(time.Millisecond), firstDenied},
		"since eight seconds": {unready(8 * time.Second), 4 * time.Second},
		"since an hour":       {unready(time.Hour), lastDenied},
	} {
		claim := &ipamv1.IPClaim{Status: ipamv1.IPClaimStatus{Conditions: test.conditions}}
		err := Denied(fmt.Errorf("recording: %w", &ledger.DeniedError{What: "it could not be created", Words: "no"}), claim, now)
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := Refusal{Reason: ipamv1.ClaimReadyRefusedByAPIServerReason, Message: "it could not be created: no", After: test.want}
		if *refusal != want {
			t.Errorf("%s: %+v, want %+v", name, *refusal, want)
		}
	}
}

func TestWhatIsNotDeniedStays(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, ledger.ErrBusy} {
		if got := Denied(err, &ipamv1.IPClaim{}, time.Now()); !errors.Is(got, err) || got != err { //nolint:errorlint // the very same
			t.Errorf("%v became %v", err, got)
		}
	}
}

// TestAClaimSaysWhatKeepsIt: what the outcome says, or a write that the API server refuses; nothing else.
func TestAClaimSaysWhatKeepsIt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	told := &ipamv1.IPClaim{Status: ipamv1.IPClaimStatus{Conditions: []metav1.Condition{{
		Type: ipamv1.DeletingCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-8 * time.Second)),
	}}}}
	forbidden := apierrors.NewForbidden(ipamv1.GroupVersion.WithResource("ipallocations").GroupResource(), "a", errors.New("by policy"))
	port := &KeptError{Reason: ipamv1.WaitingForPortReason, Message: "port", After: time.Minute}
	for name, test := range map[string]struct {
		outcome error
		want    *KeptError
	}{
		"nothing":   {nil, nil},
		"a race":    {ledger.ErrBusy, nil},
		"not there": {apierrors.NewNotFound(ipamv1.GroupVersion.WithResource("ipallocations").GroupResource(), "a"), nil},
		"the cloud": {fmt.Errorf("giving back: %w", port), port},
		"by refusal": {fmt.Errorf("deleting record a: %w", forbidden), &KeptError{
			Reason: ipamv1.WaitingForAPIServerReason, Message: "what the claim has could not be released: " + forbidden.Error(), After: 4 * time.Second,
		}},
	} {
		if got := WhyKept(test.outcome, told, now); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
)

// TestWhatAClaimIsTold in conditions, beside what it was told before. A reader of a claim must not wait for what is over, nor lose why the
// claim is not deleted because something else is over.
func TestWhatAClaimIsTold(t *testing.T) {
	t.Parallel()
	waits := func(claim Claimant) { Hints{}.SetDeleting(claim, []string{"a/b"}) }
	isKept := func(claim Claimant) {
		SetKept(claim, &KeptError{Reason: ipamv1.WaitingForPortReason, Message: "a port has it"})
	}
	isPaused := func(claim Claimant) { SetPaused(claim, "Cluster c is paused") }
	isOutside := func(claim Claimant) { SetWithinPool(claim, "it is excluded") }
	for sentence, test := range map[string]struct {
		before, now func(Claimant)
		condition   string
		// told is the condition's status, and reason and message; "" for no condition.
		told metav1.ConditionStatus
		says string
	}{
		"it waits for finalizers": {
			now: waits, condition: ipamv1.DeletingCondition, told: metav1.ConditionTrue,
			says: "WaitingForFinalizers: waiting for finalizers: a/b; what the claim has is released when they are off",
		},
		"it waits for a finalizer that something is known of": {
			now:       func(claim Claimant) { Hints{"c/d": "restart c"}.SetDeleting(claim, []string{"c/d", "a/b", "c/d"}) },
			condition: ipamv1.DeletingCondition, told: metav1.ConditionTrue,
			says: "WaitingForFinalizers: waiting for finalizers: c/d, a/b, c/d; what the claim has is released when they are off; restart c",
		},
		"the finalizers are off": {before: waits, now: func(claim Claimant) { Hints{}.SetDeleting(claim, nil) }, condition: ipamv1.DeletingCondition},
		"no finalizer is on, and it is kept": {
			before: isKept, now: func(claim Claimant) { Hints{}.SetDeleting(claim, nil) },
			condition: ipamv1.DeletingCondition, told: metav1.ConditionTrue, says: "WaitingForPort: a port has it",
		},
		"it is kept no more": {before: isKept, now: func(claim Claimant) { SetKept(claim, nil) }, condition: ipamv1.DeletingCondition},
		"it is not kept, and waits for finalizers": {
			before: waits, now: func(claim Claimant) { SetKept(claim, nil) },
			condition: ipamv1.DeletingCondition, told: metav1.ConditionTrue,
			says: "WaitingForFinalizers: waiting for finalizers: a/b; what the claim has is released when they are off",
		},
		"it is paused":         {now: isPaused, condition: clusterv1.PausedCondition, told: metav1.ConditionTrue, says: "Paused: Cluster c is paused"},
		"it is paused no more": {before: isPaused, now: func(claim Claimant) { SetPaused(claim, "") }, condition: clusterv1.PausedCondition, told: metav1.ConditionFalse, says: "NotPaused: "},
		"it was never paused":  {now: func(claim Claimant) { SetPaused(claim, "") }, condition: clusterv1.PausedCondition},
		"its pool would not hand that out": {
			now: isOutside, condition: ipamv1.WithinPoolCondition, told: metav1.ConditionFalse,
			says: "OutsidePolicy: it is excluded; it is kept all the same",
		},
		"its pool would hand that out again": {before: isOutside, now: func(claim Claimant) { SetWithinPool(claim, "") }, condition: ipamv1.WithinPoolCondition},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			claim := claimThat()
			if test.before != nil {
				test.before(claim)
			}
			test.now(claim)
			got := conditions.Get(claim, test.condition)
			switch {
			case got == nil && test.told != "":
				t.Error("it is told nothing")
			case got != nil && (got.Status != test.told || got.Reason+": "+got.Message != test.says):
				t.Errorf("it is told %+v", got)
			}
		})
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
)

// shownFinalizers is how many finalizers the condition names.
const shownFinalizers = 10

// Hints are what is known of finalizers of others, by their name: who takes them off, and when.
type Hints map[string]string

// SetDeleting has a claim say which finalizers of others keep it; nothing of them if none do.
func (h Hints) SetDeleting(claim Claimant, finalizers []string) {
	if len(finalizers) == 0 {
		if conditions.GetReason(claim, ipamv1.DeletingCondition) == ipamv1.WaitingForFinalizersReason {
			conditions.Delete(claim, ipamv1.DeletingCondition)
		}
		return
	}
	shown := finalizers[:min(len(finalizers), shownFinalizers)]
	message := "waiting for finalizers: " + strings.Join(shown, ", ") + "; what the claim has is released when they are off"
	for _, finalizer := range slices.Compact(slices.Sorted(slices.Values(shown))) {
		if hint := h[finalizer]; hint != "" {
			message += "; " + hint
		}
	}
	conditions.Set(claim, metav1.Condition{
		Type: ipamv1.DeletingCondition, Status: metav1.ConditionTrue, Reason: ipamv1.WaitingForFinalizersReason, Message: message,
		ObservedGeneration: claim.GetGeneration(),
	})
}

// SetKept has a claim say why it keeps what it has; nothing of that for nil.
func SetKept(claim Claimant, kept *KeptError) {
	if kept == nil {
		if conditions.GetReason(claim, ipamv1.DeletingCondition) != ipamv1.WaitingForFinalizersReason {
			conditions.Delete(claim, ipamv1.DeletingCondition)
		}
		return
	}
	conditions.Set(claim, metav1.Condition{
		Type: ipamv1.DeletingCondition, Status: metav1.ConditionTrue, Reason: kept.Reason, Message: kept.Message,
		ObservedGeneration: claim.GetGeneration(),
	})
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
)

// Claimant is what has got something out of a pool: a claim, or a carved pool.
type Claimant interface {
	client.Object
	conditions.Getter
	conditions.Setter
}

// SetWithinPool has the holder say why its pool would not hand out to it what it keeps; nothing if refusal is empty.
func SetWithinPool(h Claimant, refusal string) {
	if refusal == "" {
		conditions.Delete(h, ipamv1.WithinPoolCondition)
		return
	}
	conditions.Set(h, metav1.Condition{
		Type:               ipamv1.WithinPoolCondition,
		Status:             metav1.ConditionFalse,
		Reason:             ipamv1.OutsidePolicyReason,
		Message:            refusal + "; it is kept all the same",
		ObservedGeneration: h.GetGeneration(),
	})
}

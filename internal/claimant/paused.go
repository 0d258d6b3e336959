// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// SetPaused has the claim say why it is paused. One that is not says so only if it has been: no claim costs a write for it.
func SetPaused(claim conditions.Setter, why string) {
	switch {
	case why != "":
		conditions.Set(claim, PausedCondition(why))
	case conditions.IsTrue(claim, clusterv1.PausedCondition):
		conditions.Set(claim, PausedCondition(""))
	}
}

// PausedCondition is Cluster API's condition Paused: True if something says why, else False.
func PausedCondition(why string) metav1.Condition {
	if why == "" {
		return metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason}
	}
	return metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionTrue, Reason: clusterv1.PausedReason, Message: excerpt.Message(why)}
}

// NoCluster says of which Cluster there is none.
func NoCluster(namespace, name string) string {
	return fmt.Sprintf("there is no Cluster %q in namespace %s; nothing is done before there is one", excerpt.Of(name), namespace)
}

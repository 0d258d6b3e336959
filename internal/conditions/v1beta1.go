// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// V1Beta1Setter is an object that has conditions in the form of v1beta1, too.
type V1Beta1Setter interface {
	GetV1Beta1Conditions() clusterv1.Conditions
	SetV1Beta1Conditions(clusterv1.Conditions)
}

// SetV1Beta1 sets a condition in the form of v1beta1. The time changes with anything that the
// condition says; Ready comes first.
func SetV1Beta1(on V1Beta1Setter, condition clusterv1.Condition) {
	all := on.GetV1Beta1Conditions()
	i := slices.IndexFunc(all, func(c clusterv1.Condition) bool { return c.Type == condition.Type })
	condition.LastTransitionTime = metav1.Now().Rfc3339Copy()
	switch {
	case i < 0:
		all = append(all, condition)
	case !isAlike(all[i], condition):
		all[i] = condition
	}
	slices.SortStableFunc(all, func(a, b clusterv1.Condition) int {
		if byRank := ranks[string(a.Type)] - ranks[string(b.Type)]; byRank != 0 {
			return byRank
		}
		return strings.Compare(string(a.Type), string(b.Type))
	})
	on.SetV1Beta1Conditions(all)
}

// isAlike reports whether two conditions say the same, whenever they were set.
func isAlike(a, b clusterv1.Condition) bool {
	a.LastTransitionTime = b.LastTransitionTime
	return a == b
}

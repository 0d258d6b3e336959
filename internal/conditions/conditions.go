// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Getter is an object with conditions.
type Getter interface {
	GetConditions() []metav1.Condition
}

// Setter is an object whose conditions can be changed.
type Setter interface {
	Getter
	SetConditions([]metav1.Condition)
}

// Get returns the condition of that type; nil if there is none.
func Get(of Getter, conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(of.GetConditions(), conditionType)
}

// Has reports whether there is a condition of that type.
func Has(of Getter, conditionType string) bool { return Get(of, conditionType) != nil }

// IsTrue reports whether there is a condition of that type, and it is True.
func IsTrue(of Getter, conditionType string) bool {
	return meta.IsStatusConditionTrue(of.GetConditions(), conditionType)
}

// GetReason returns the reason of the condition of that type; "" if there is none.
func GetReason(of Getter, conditionType string) string {
	if c := Get(of, conditionType); c != nil {
		return c.Reason
	}
	return ""
}

// GetMessage returns the message of the condition of that type; "" if there is none.
func GetMessage(of Getter, conditionType string) string {
	if c := Get(of, conditionType); c != nil {
		return c.Message
	}
	return ""
}

// Set sets a condition of an object, for its generation. The time changes with the status alone, and
// is what the API stores: whole seconds.
func Set(on Setter, condition metav1.Condition) {
	if o, ok := on.(metav1.Object); ok {
		condition.ObservedGeneration = o.GetGeneration()
	}
	if condition.LastTransitionTime.IsZero() {
		condition.LastTransitionTime = metav1.Now()
	}
	condition.LastTransitionTime.Time = condition.LastTransitionTime.Truncate(time.Second)
	all := on.GetConditions()
	if !meta.SetStatusCondition(&all, condition) {
		return
	}
	slices.SortStableFunc(all, compare)
	on.SetConditions(all)
}

// Delete takes the condition of that type away.
func Delete(on Setter, conditionType string) {
	others := slices.DeleteFunc(slices.Clone(on.GetConditions()), func(c metav1.Condition) bool { return c.Type == conditionType })
	on.SetConditions(others)
}

// ranks of the conditions that come first, as kubectl prints them, and last; all others are between.
var ranks = map[string]int{
	clusterv1.AvailableCondition: -2, clusterv1.ReadyCondition: -1, clusterv1.PausedCondition: 1, clusterv1.DeletingCondition: 2,
}

func compare(a, b metav1.Condition) int {
	if byRank := ranks[a.Type] - ranks[b.Type]; byRank != 0 {
		return byRank
	}
	return strings.Compare(a.Type, b.Type)
}

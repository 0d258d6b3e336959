// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Update returns a predicate for update events alone; creation and deletion are left to the others.
func Update(passes func(event.UpdateEvent) bool) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  passes,
	}
}

// Resync passes the periodic reminder of an object that has not changed.
func Resync() predicate.Predicate {
	return Update(func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
	})
}

// PausedChanged passes an object whose Paused condition was set for the first time or has changed.
func PausedChanged() predicate.Predicate {
	return Update(func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(conditions.Getter)
		after, ok2 := e.ObjectNew.(conditions.Getter)
		return ok && ok2 && (conditions.Has(before, clusterv1.PausedCondition) != conditions.Has(after, clusterv1.PausedCondition) ||
			conditions.IsTrue(before, clusterv1.PausedCondition) != conditions.IsTrue(after, clusterv1.PausedCondition))
	})
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
)

// IsWatched says whether an object is this manager's by the label cluster.x-k8s.io/watch-filter; an empty filter takes all.
// A predicate of that filter holds back events of the objects themselves, not what the ledger or another object brings up.
func IsWatched(obj metav1.Object, filter string) bool {
	return filter == "" || labels.HasWatchLabel(obj, filter)
}

// Watched passes objects that are this manager's by that label.
func Watched(filter string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool { return IsWatched(obj, filter) })
}

// IsServed says whether a namespace is this manager's, which serves a single one or, where that is empty, all. What has no
// namespace is everybody's.
func IsServed(namespace, single string) bool {
	return single == "" || namespace == "" || namespace == single
}

// IsEnding says whether a write was refused because its namespace is being deleted, or because what it is for is gone. What is there goes
// as well.
func IsEnding(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err)
}

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

// Reowned passes the update that changed an object's owners.
func Reowned() predicate.Predicate {
	return Update(func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
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

// PoolChanged passes changes of a pool that its claims may wait for: not its capacity, nor that clusterctl move is to leave it alone,
// which Weir writes when the pool has handed out its first address, in the middle of answering others.
func PoolChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, Update(func(e event.UpdateEvent) bool {
		return !maps.Equal(unblocked(e.ObjectOld), unblocked(e.ObjectNew))
	}))
}

// Labelled passes namespaces that appear, or whose labels change: their project, or what a selector looks at.
func Labelled() predicate.Predicate {
	return predicate.And(predicate.LabelChangedPredicate{}, predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	})
}

// unblocked are an object's annotations but for clusterctl's block-move.
func unblocked(obj metav1.Object) map[string]string {
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, clusterctlv1.BlockMoveAnnotation)
	return annotations
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// IsPaused says whether an object must not be touched: by the spec of its Cluster, or by the annotation
// cluster.x-k8s.io/paused on the Cluster or on itself. The Cluster may be nil.
func IsPaused(cluster *clusterv1.Cluster, obj metav1.Object) bool {
	if cluster == nil {
		return annotations.HasPaused(obj)
	}
	return annotations.IsPaused(cluster, obj) || annotations.HasPaused(cluster)
}

// WhyPaused says why an object of that kind is paused; nothing if it is not. The Cluster may be nil.
func WhyPaused(cluster *clusterv1.Cluster, kind string, obj metav1.Object) string {
	var why []string
	if cluster != nil && ptr.Deref(cluster.Spec.Paused, false) {
		why = append(why, fmt.Sprintf("Cluster %q has spec.paused", cluster.Name))
	}
	if cluster != nil && annotations.HasPaused(cluster) {
		why = append(why, fmt.Sprintf("Cluster %q has the annotation %s", cluster.Name, clusterv1.PausedAnnotation))
	}
	if annotations.HasPaused(obj) {
		why = append(why, fmt.Sprintf("the %s has the annotation %s", kind, clusterv1.PausedAnnotation))
	}
	return strings.Join(why, ", ")
}

// IsMoving says whether clusterctl move deletes the object here because it lives on elsewhere.
func IsMoving(obj metav1.Object) bool {
	_, moves := obj.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]
	return moves
}

// ClusterPause passes Clusters that appear or go, and those that are paused or unpaused.
func ClusterPause() predicate.Predicate {
	return predicate.Funcs{ // what has gone, or is not there yet, pauses nothing
		UpdateFunc: func(e event.UpdateEvent) bool {
			return isSpecPaused(e.ObjectOld) != isSpecPaused(e.ObjectNew) || annotations.HasPaused(e.ObjectOld) != annotations.HasPaused(e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// isSpecPaused says whether an object is a Cluster whose spec pauses it.
func isSpecPaused(obj any) bool {
	cluster, ok := obj.(*clusterv1.Cluster)
	return ok && ptr.Deref(cluster.Spec.Paused, false)
}

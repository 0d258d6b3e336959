// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// Expander sees at the hub to a further pool before a delegated one is full.
type Expander interface {
	// Expand creates a sibling of the pool if one is due, and returns the pool's condition Expanded. Its
	// type is "" where the pool is gone.
	Expand(ctx context.Context, first pools.Own) (metav1.Condition, error)
}

// expand has a delegated pool expanded that asks for it, once its own block is recorded.
func (r *Reconciler) expand(ctx context.Context, s *scope) error {
	own, isOwn := s.pool.(pools.Own)
	if !isOwn || r.Expander == nil || !isExpandable(s) {
		return nil
	}
	var err error
	s.expanded, err = r.Expander.Expand(ctx, own)
	return err
}

// isExpandable reports whether this cluster is the hub of a pool with spec.expansion.
func isExpandable(s *scope) bool {
	own, isOwn := s.pool.(pools.Own)
	return isOwn && s.says.Place == poolspec.Elsewhere && own.PoolSpec().Expansion != nil
}

// showExpanded sets the condition Expanded. Where nothing new is known it stays.
func showExpanded(s *scope) {
	switch {
	case !isExpandable(s):
		conditions.Delete(s.pool, ipamv1.ExpandedCondition)
	case s.expanded.Type != "":
		conditions.Set(s.pool, s.expanded)
	}
}

// announceExpanded tells of a pool that needs a sibling and cannot have one.
func (r *reporter) announceExpanded(before, after pools.Object) {
	is := conditions.Get(after, ipamv1.ExpandedCondition)
	if is == nil || is.Status != metav1.ConditionFalse || is.Reason == conditions.GetReason(before, ipamv1.ExpandedCondition) {
		return
	}
	r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, "Expansion"+is.Reason, "Expand", "%s", is.Message)
}

// firstOf has the pool looked at some time later that this one was created beside, if it was.
func firstOf(sibling client.Object, q queue) {
	if first := sibling.GetAnnotations()[ipamv1.SiblingOfAnnotation]; first != "" {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: sibling.GetNamespace(), Name: first}}, statusInterval)
	}
}

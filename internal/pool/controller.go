// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// statusInterval is the least time between two writes of a pool's capacity.
const statusInterval = 3 * time.Second

// SetupWithManager registers the controller for one kind of pool.
func (r *Reconciler) SetupWithManager(_ context.Context, mgr ctrl.Manager, name string) error {
	p, _ := New(r.Kind)
	log := mgr.GetLogger().WithName(name)
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(p, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter),
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}, writtenFirst()))).
		WatchesRawSource(source.Func(r.followLedger)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Complete(r)
}

// followLedger has a pool's capacity written some time after it changed: changes until then cost one write together.
func (r *Reconciler) followLedger(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	changed := r.Ledger.Changed()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case ref := <-changed:
				if ref.Kind == r.Kind {
					queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}, statusInterval)
				}
			}
		}
	}()
	return nil
}

// writtenFirst passes the updates that a reconciliation ended with, to be continued: it has added the pool's finalizer or
// changed its Paused condition.
func writtenFirst() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(Object)
		after, ok2 := e.ObjectNew.(Object)
		return ok && ok2 && (len(before.GetFinalizers()) != len(after.GetFinalizers()) ||
			conditions.IsTrue(before, ipamv1.PausedCondition) != conditions.IsTrue(after, ipamv1.PausedCondition) ||
			conditions.Has(before, ipamv1.PausedCondition) != conditions.Has(after, ipamv1.PausedCondition))
	}}
}

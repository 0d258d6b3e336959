// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// statusInterval is the least time between two writes of a pool's capacity.
const statusInterval = 3 * time.Second

// parentIndex finds the carved pools that have no block yet, or are refused a sibling, by their parent.
const parentIndex = "weir.parent"

// SetupWithManager registers the controller for one kind of pool.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, name string) error {
	p := r.Kind.New()
	if err := mgr.GetFieldIndexer().IndexField(ctx, p, parentIndex, r.waitsFor); err != nil {
		return fmt.Errorf("indexing %ss: %w", r.Kind.Kind, err)
	}
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(p, builder.WithPredicates(
			predicates.Watched(r.WatchFilter),
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{},
				finalized(), predicates.Reowned(), predicates.PausedChanged(), predicates.Resync()))).
		Watches(p, r.written()).
		WatchesRawSource(source.Func(r.followLedger)).
		WithOptions(claimant.ControllerOptions(r.Concurrency)).
		Build(r)
	return err
}

// written has a pool looked at again some time after the cache shows a new status. Until then a reconciliation compares with the one
// before, and leaves unwritten what is as it was then: nothing else may happen that would show it. Of a sibling the pool is looked at, too,
// that it was created beside.
func (r *Reconciler) written() handler.Funcs {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(pools.Object)
			after, ok2 := e.ObjectNew.(pools.Object)
			if ok && ok2 && !equality.Semantic.DeepEqual(r.Kind.Status(before), r.Kind.Status(after)) {
				q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(after)}, statusInterval)
				firstOf(after, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { firstOf(e.Object, q) },
	}
}

// WatchClusters has pools looked at when their Cluster is paused, unpaused or appears, and has them say what a move would leave
// behind. It is for when Cluster API's kinds are served, which may be later than Weir starts.
func (r *Reconciler) WatchClusters(mgr ctrl.Manager, doors ...pools.Door) error {
	r.doors = doors
	if err := r.controller.Watch(r.followRemains(mgr)); err != nil || r.Kind.ClusterScoped {
		return err
	}
	return r.controller.Watch(source.Kind[client.Object](mgr.GetCache(), &clusterv1.Cluster{},
		handler.EnqueueRequestsFromMapFunc(r.poolsOfCluster), predicates.ClusterPause()))
}

// poolsOfCluster names the pools of a Cluster's namespace: those that pause with it, and those where something waits for the end of
// the pause (block). They are few: a list of the namespace's does.
func (r *Reconciler) poolsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	list := r.Kind.NewList()
	if err := r.Client.List(ctx, list, client.InNamespace(cluster.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing pools", "kind", r.Kind.GroupKind)
		return nil
	}
	requests := make([]reconcile.Request, 0, meta.LenList(list))
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if p, ok := item.(pools.Object); ok {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		}
		return nil
	})
	return requests
}

// followLedger has a pool's capacity written some time after it changed: changes until then cost one write together. It
// holds the controller back until the ledger knows every record: a pool that seems unused before that may be in use.
func (r *Reconciler) followLedger(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	changed, freed := r.Ledger.Notices().Changed(ctx), r.Ledger.Notices().Freed(ctx)
	if err := r.Ledger.WaitForSync(ctx); err != nil {
		return err
	}
	later := func(ref ipamv1.PoolReference) {
		if ref.GroupKind() == r.Kind.GroupKind && predicates.IsServed(ref.Namespace, r.Namespace) {
			queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}, statusInterval)
		}
	}
	for _, h := range r.Ledger.All() { // a pool that is gone makes no event, and its blocks or what cools in it may still be there
		if h.Purpose == ledger.ForRoot || h.Purpose.IsHandBack() || !h.ReleasedAt.IsZero() {
			later(h.Pool)
		}
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case ref := <-changed:
				later(ref)
			case ref := <-freed:
				later(ref) // what the pools above say may have changed it
				for _, request := range r.waiting(ctx, ref) {
					queue.Add(request)
				}
			}
		}
	}()
	return nil
}

// waiting names the carved pools that have no block of this parent yet, or no sibling: it may serve, or have room, now.
func (r *Reconciler) waiting(ctx context.Context, parent ipamv1.PoolReference) []reconcile.Request {
	list := r.Kind.NewList()
	if err := r.Client.List(ctx, list, client.MatchingFields{parentIndex: keyOf(parent)}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing pools that wait for their parent")
		return nil
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(list, func(obj runtime.Object) error {
		if p, ok := obj.(pools.Object); ok && predicates.IsServed(p.GetNamespace(), r.Namespace) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		}
		return nil
	})
	return requests
}

// waitsFor names the parent of a pool that has no block yet, or not all of them, or whose sibling was refused.
func (r *Reconciler) waitsFor(obj client.Object) []string {
	p, ok := obj.(pools.Object)
	if !ok || hasBlocks(p) && conditions.GetReason(p, ipamv1.ExpandedCondition) != ipamv1.ExpandedRefusedReason {
		return nil
	}
	says := r.Registry.Says(p)
	if !says.IsCarved() {
		return nil
	}
	return []string{keyOf(says.Parent)}
}

// hasBlocks says whether a pool says in its status that it serves.
func hasBlocks(p pools.Object) bool {
	if own, ok := p.(pools.Own); ok {
		return own.PoolStatus().AllocatedCIDR != ""
	}
	return conditions.IsTrue(p, ipamv1.ReadyCondition)
}

func keyOf(ref ipamv1.PoolReference) string {
	return ref.GroupKind().String() + "/" + ref.Namespace + "/" + ref.Name
}

// finalized passes the update that added the pool's finalizer, or took somebody else's off.
func finalized() predicate.Predicate {
	return predicates.Update(func(e event.UpdateEvent) bool {
		return len(e.ObjectOld.GetFinalizers()) != len(e.ObjectNew.GetFinalizers())
	})
}

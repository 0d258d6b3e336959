// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipredicates "sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// waitingIndex finds the claims that have nothing yet, by kind and name of the pool; by anyPool those that have not chosen one; by
// "" all of them.
const (
	waitingIndex = "weir.waiting"
	anyPool      = "any"
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &ipamv1.IPClaim{}, waitingIndex, waitsFor); err != nil {
		return fmt.Errorf("indexing IPClaims: %w", err)
	}
	log := mgr.GetLogger().WithName("ipclaim")
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named("ipclaim").
		Watches(&ipamv1.IPClaim{}, gathered(&gathering{clock: clock.RealClock{}}), builder.WithPredicates(
			capipredicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter), changedByOthers())).
		Watches(&ipamv1.IPPool{}, handler.EnqueueRequestsFromMapFunc(r.waitingForPool), builder.WithPredicates(predicates.PoolChanged())).
		Watches(&ipamv1.GlobalIPPool{}, handler.EnqueueRequestsFromMapFunc(r.waitingForPool), builder.WithPredicates(predicates.PoolChanged())).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.waitingInNamespace),
			builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(source.Func(r.followLedger)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Build(r)
	return err
}

// WatchClusters has claims looked at when their Cluster is paused, unpaused or appears. It is for when Cluster API's kinds are
// served, which may be later than Weir starts.
func (r *Reconciler) WatchClusters(mgr ctrl.Manager) error {
	log := mgr.GetLogger().WithName("ipclaim")
	return r.controller.Watch(source.Kind[client.Object](mgr.GetCache(), &clusterv1.Cluster{},
		handler.EnqueueRequestsFromMapFunc(r.claimsOfCluster), predicates.ClusterPause(mgr.GetScheme(), log)))
}

func (r *Reconciler) claimsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(cluster.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.GetName()})
}

// waitsFor names the pool that a claim waits for.
func waitsFor(obj client.Object) []string {
	claim, ok := obj.(*ipamv1.IPClaim)
	switch {
	case !ok || claim.Status.AllocatedCIDR != "":
		return nil
	case claim.Spec.PoolRef == nil:
		return []string{anyPool, ""}
	}
	return []string{claim.Spec.PoolRef.Kind + "/" + claim.Spec.PoolRef.Name, ""}
}

// followLedger wakes the claims that wait for a pool as soon as it may have room. It holds the controller back until the ledger
// knows every record: a claim that seems unrecorded before that may have its record.
func (r *Reconciler) followLedger(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	freed, concerned := r.Ledger.Freed(ctx), r.Ledger.Concerned(ctx)
	if err := r.Ledger.WaitForSync(ctx); err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case pool := <-freed:
				for _, request := range r.waiting(ctx, pool) {
					queue.Add(request)
				}
			case claim := <-concerned:
				if claim.Kind == ipamv1.IPClaimKind && predicates.IsServed(claim.Namespace, r.Namespace) {
					queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}})
				}
			}
		}
	}()
	return nil
}

func (r *Reconciler) waitingForPool(ctx context.Context, obj client.Object) []reconcile.Request {
	pool, ok := obj.(interface{ PoolReference() ipamv1.PoolReference })
	if !ok {
		return nil
	}
	return r.waiting(ctx, pool.PoolReference())
}

func (r *Reconciler) waiting(ctx context.Context, pool ipamv1.PoolReference) []reconcile.Request {
	if !predicates.IsServed(pool.Namespace, r.Namespace) {
		return nil
	}
	namespace := client.InNamespace(pool.Namespace)
	return append(r.requests(ctx, namespace, client.MatchingFields{waitingIndex: pool.Kind + "/" + pool.Name}),
		r.requests(ctx, namespace, client.MatchingFields{waitingIndex: anyPool})...)
}

// waitingInNamespace names the claims that a pool may have become visible to.
func (r *Reconciler) waitingInNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	if !predicates.IsServed(namespace.GetName(), r.Namespace) {
		return nil
	}
	return r.requests(ctx, client.InNamespace(namespace.GetName()), client.MatchingFields{waitingIndex: ""})
}

func (r *Reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	claims := &ipamv1.IPClaimList{}
	if err := r.Client.List(ctx, claims, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing IPClaims")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(claims.Items))
	for i := range claims.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&claims.Items[i])})
	}
	return requests
}

// Living returns the UIDs of the claims that the cache shows, for repair.
func (r *Reconciler) Living(ctx context.Context) (map[types.NamespacedName]types.UID, error) {
	claims := &ipamv1.IPClaimList{}
	if err := r.Client.List(ctx, claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing IPClaims: %w", err)
	}
	living := make(map[types.NamespacedName]types.UID, len(claims.Items))
	for i := range claims.Items {
		living[client.ObjectKeyFromObject(&claims.Items[i])] = claims.Items[i].UID
	}
	return living, nil
}

// changedByOthers passes what Weir does not do itself: everything but a change of the status alone.
func changedByOthers() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		predicate.LabelChangedPredicate{},
		predicates.Resync(),
		predicates.Update(func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*ipamv1.IPClaim)
			after, ok2 := e.ObjectNew.(*ipamv1.IPClaim)
			return e.ObjectNew.GetDeletionTimestamp() != nil || len(e.ObjectOld.GetFinalizers()) > len(e.ObjectNew.GetFinalizers()) ||
				ok && ok2 && before.Status.AllocatedCIDR != "" && after.Status.AllocatedCIDR == ""
		}),
	)
}

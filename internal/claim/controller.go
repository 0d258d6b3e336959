// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
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

// waitingIndex finds the claims that have no address yet, by kind and name of their pool, and by its kind alone.
const waitingIndex = "weir.waiting"

// poolIndex finds the IPAddresses of a pool, by its kind and name.
const poolIndex = "weir.pool"

// clusterIndex finds the claims of a Cluster.
const clusterIndex = "weir.cluster"

// SetupWithManager registers the controller. Cluster API's kinds must be served.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := r.indexClaims(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	log := mgr.GetLogger().WithName("claim")
	return ctrl.NewControllerManagedBy(mgr).
		Named("ipaddressclaim").
		For(&ipamv1beta2.IPAddressClaim{}, builder.WithPredicates(
			capipredicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter), changedByOthers())).
		Watches(&ipamv1beta2.IPAddress{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(leaving())).
		Watches(&ipamv1.IPPool{}, handler.EnqueueRequestsFromMapFunc(r.waitingForPool), builder.WithPredicates(predicate.Or(predicates.PoolChanged(), predicates.PausedChanged()))).
		Watches(&ipamv1.GlobalIPPool{}, handler.EnqueueRequestsFromMapFunc(r.waitingForPool), builder.WithPredicates(predicate.Or(predicates.PoolChanged(), predicates.PausedChanged()))).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.waitingInNamespace), builder.WithPredicates(labelled())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.claimsOfCluster), builder.WithPredicates(
			predicates.ClusterPause(mgr.GetScheme(), log))).
		WatchesRawSource(source.Func(r.followLedger)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Complete(r)
}

func (r *Reconciler) indexClaims(ctx context.Context, indexer client.FieldIndexer) error {
	waiting := func(obj client.Object) []string {
		claim, ok := obj.(*ipamv1beta2.IPAddressClaim)
		if !ok || claim.Status.AddressRef.Name != "" || !r.Source.Serves(claim.Spec.PoolRef) {
			return nil
		}
		return []string{claim.Spec.PoolRef.Kind + "/" + claim.Spec.PoolRef.Name, claim.Spec.PoolRef.Kind}
	}
	if err := indexer.IndexField(ctx, &ipamv1beta2.IPAddressClaim{}, waitingIndex, waiting); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &ipamv1beta2.IPAddress{}, poolIndex, r.poolOf); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &ipamv1beta2.IPAddressClaim{}, clusterIndex, func(obj client.Object) []string {
		if claim, ok := obj.(*ipamv1beta2.IPAddressClaim); ok && clusterOf(claim) != "" {
			return []string{clusterOf(claim)}
		}
		return nil
	})
}

// poolOf is the pool of an IPAddress, if it is one of Weir's.
func (r *Reconciler) poolOf(obj client.Object) []string {
	answer, ok := obj.(*ipamv1beta2.IPAddress)
	if !ok || !r.Source.Serves(answer.Spec.PoolRef) {
		return nil
	}
	return []string{answer.Spec.PoolRef.Kind + "/" + answer.Spec.PoolRef.Name}
}

// followLedger wakes the claims that wait for a pool as soon as it may have room. It holds the controller back until the
// ledger knows every record: a claim that seems unanswered before that may have its record.
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
				if claim.Kind == addressClaimKind && predicates.IsServed(claim.Namespace, r.Namespace) {
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
	return r.requests(ctx, client.InNamespace(pool.Namespace), client.MatchingFields{waitingIndex: pool.Kind + "/" + pool.Name})
}

// waitingInNamespace names the claims that a GlobalIPPool may have become visible to.
func (r *Reconciler) waitingInNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	if !predicates.IsServed(namespace.GetName(), r.Namespace) {
		return nil
	}
	return r.requests(ctx, client.InNamespace(namespace.GetName()), client.MatchingFields{waitingIndex: ipamv1.GlobalIPPoolKind})
}

func (r *Reconciler) claimsOfCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{clusterIndex: obj.GetName()})
}

func (r *Reconciler) requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	claims := &ipamv1beta2.IPAddressClaimList{}
	if err := r.Client.List(ctx, claims, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing IPAddressClaims")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(claims.Items))
	for i := range claims.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&claims.Items[i])})
	}
	return requests
}

// changedByOthers passes what Weir does not do itself: everything but a change of the status alone.
func changedByOthers() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		predicate.LabelChangedPredicate{},
		predicates.Resync(),
		predicates.Update(func(e event.UpdateEvent) bool {
			return e.ObjectNew.GetDeletionTimestamp() != nil ||
				len(e.ObjectOld.GetFinalizers()) > len(e.ObjectNew.GetFinalizers()) ||
				lostAddressRef(e)
		}),
	)
}

// lostAddressRef says whether somebody has taken the answer out of the claim's status.
func lostAddressRef(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*ipamv1beta2.IPAddressClaim)
	after, ok2 := e.ObjectNew.(*ipamv1beta2.IPAddressClaim)
	return ok && ok2 && before.Status.AddressRef != after.Status.AddressRef && after.Status.AddressRef.Name == ""
}

// leaving passes IPAddresses that are being deleted or have lost an owner, and those that arrive.
func leaving() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return hasArrived(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectNew.GetDeletionTimestamp() != nil || !ownedAlike(e.ObjectOld, e.ObjectNew)
		},
	}
}

// labelled passes namespaces that appear, or whose labels change: their project, or what a selector looks at.
func labelled() predicate.Predicate {
	return predicate.And(predicate.LabelChangedPredicate{}, predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	})
}

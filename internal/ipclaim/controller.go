// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &ipamv1.IPClaim{}, claimant.WaitingIndex, waitsFor); err != nil {
		return fmt.Errorf("indexing IPClaims: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &ipamv1.IPClaim{}, claimant.ClusterIndex, ofCluster); err != nil {
		return fmt.Errorf("indexing IPClaims: %w", err)
	}
	r.gathering = newGathering(r.Concurrency)
	var err error
	r.controller, err = r.claims().Wake(ctrl.NewControllerManagedBy(mgr).
		Named("ipclaim").
		Watches(&ipamv1.IPClaim{}, gathered(r.gathering), builder.WithPredicates(
			predicates.Watched(r.WatchFilter), changedByOthers())).
		Watches(&ipamv1.IPClaim{}, claimant.Counted(r.counts))).
		WithOptions(claimant.ControllerOptions(r.Concurrency)).
		Build(r)
	return err
}

// counts returns the pool that a claim names, or one without a name of the kind that it selects from; false if the claim is not this
// manager's.
func (r *Reconciler) counts(obj client.Object) (ipamv1.PoolReference, bool) {
	claim, ok := obj.(*ipamv1.IPClaim)
	if !ok || !predicates.IsWatched(claim, r.WatchFilter) {
		return ipamv1.PoolReference{}, false
	}
	return chosenPool(claim), true
}

// WatchClusters has claims looked at when their Cluster is paused, unpaused or appears. It is for when Cluster API's kinds are
// served, which may be later than Weir starts.
func (r *Reconciler) WatchClusters(mgr ctrl.Manager, _ ...pools.Door) error {
	return r.controller.Watch(source.Kind[client.Object](mgr.GetCache(), &clusterv1.Cluster{},
		handler.EnqueueRequestsFromMapFunc(r.claimsOfCluster), predicates.ClusterPause()))
}

func (r *Reconciler) claimsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.claims().OfCluster(ctx, cluster)
}

func ofCluster(obj client.Object) []string {
	if name := claimant.ClusterName(obj); name != "" {
		return []string{name}
	}
	return nil
}

// waitsFor names the pool that a claim waits for.
func waitsFor(obj client.Object) []string {
	claim, ok := obj.(*ipamv1.IPClaim)
	switch {
	case !ok || isBound(claim):
		return nil
	case claim.Spec.PoolRef == nil:
		return claimant.Keys(ipamv1.PoolReference{})
	}
	return claimant.Keys(entitlement.PoolOf(claim, claim.Spec.PoolRef.Kind, claim.Spec.PoolRef.Name))
}

// isBound says whether the claim's status tells of a prefix, and that nothing is wrong with it.
func isBound(claim *ipamv1.IPClaim) bool {
	return claim.Status.AllocatedCIDR != "" && meta.IsStatusConditionTrue(claim.Status.Conditions, ipamv1.ReadyCondition)
}

func (r *Reconciler) claims() claimant.Claims {
	return claimant.Claims{
		Client: r.Client, Ledger: r.Ledger, GroupKind: kinds.IPClaim, List: &ipamv1.IPClaimList{}, Namespace: r.Namespace,
		Pools: []client.Object{&ipamv1.IPPool{}, &ipamv1.GlobalIPPool{}},
		PoolsOf: func(ctx context.Context, cluster client.Object) ([]ipamv1.PoolReference, error) {
			return r.Entitled.Registry.OfCluster(ctx, cluster, pools.IPPools)
		},
	}
}

// Living returns the UIDs of the claims that the cache shows, for repair.
func (r *Reconciler) Living(ctx context.Context) (map[types.NamespacedName]types.UID, error) {
	return r.claims().Living(ctx)
}

// changedByOthers passes what Weir does not do itself: everything but a change of the status alone.
func changedByOthers() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		predicate.LabelChangedPredicate{},
		predicates.Reowned(), // its Cluster may be an owner
		predicates.Resync(),
		predicates.Update(func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*ipamv1.IPClaim)
			after, ok2 := e.ObjectNew.(*ipamv1.IPClaim)
			return e.ObjectNew.GetDeletionTimestamp() != nil || len(e.ObjectOld.GetFinalizers()) > len(e.ObjectNew.GetFinalizers()) ||
				ok && ok2 && before.Status.AllocatedCIDR != "" && after.Status.AllocatedCIDR == ""
		}),
	)
}

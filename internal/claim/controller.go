// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	capipredicates "sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// SetupWithManager registers the controller. Cluster API's kinds must be served.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := r.indexClaims(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	log := mgr.GetLogger().WithName("claim")
	return r.claims().Wake(ctrl.NewControllerManagedBy(mgr).
		Named("ipaddressclaim").
		For(&ipamv1beta2.IPAddressClaim{}, builder.WithPredicates(
			capipredicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter), changedByOthers())).
		Watches(&ipamv1beta2.IPAddress{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(leaving())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.claimsOfCluster), builder.WithPredicates(
			predicates.ClusterPause(mgr.GetScheme(), log)))).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Concurrency}).
		Complete(r)
}

func (r *Reconciler) indexClaims(ctx context.Context, indexer client.FieldIndexer) error {
	waiting := func(obj client.Object) []string {
		claim, ok := obj.(*ipamv1beta2.IPAddressClaim)
		if !ok || hasAnswer(claim) || !r.Source.Serves(claim.Spec.PoolRef) {
			return nil
		}
		return claimant.Keys(poolOf(claim))
	}
	if err := indexer.IndexField(ctx, &ipamv1beta2.IPAddressClaim{}, claimant.WaitingIndex, waiting); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &ipamv1beta2.IPAddress{}, claimant.PoolIndex, r.poolOf); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &ipamv1beta2.IPAddressClaim{}, claimant.ClusterIndex, func(obj client.Object) []string {
		if claim, ok := obj.(*ipamv1beta2.IPAddressClaim); ok && clusterOf(claim) != "" {
			return []string{clusterOf(claim)}
		}
		return nil
	})
}

// hasAnswer says whether the claim's status tells of an address, and that nothing is wrong with it.
func hasAnswer(claim *ipamv1beta2.IPAddressClaim) bool {
	return claim.Status.AddressRef.Name != "" && conditions.IsTrue(claim, ipamv1beta2.IPAddressClaimReadyCondition)
}

// poolOf is the pool of an IPAddress, if it is one of Weir's.
func (r *Reconciler) poolOf(obj client.Object) []string {
	answer, ok := obj.(*ipamv1beta2.IPAddress)
	if !ok || !r.Source.Serves(answer.Spec.PoolRef) {
		return nil
	}
	return []string{claimant.PoolKey(kinds.Pool(kinds.OfPool(answer.Spec.PoolRef), "", answer.Spec.PoolRef.Name))}
}

func (r *Reconciler) claimsOfCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.claims().OfCluster(ctx, obj)
}

func (r *Reconciler) claims() claimant.Claims {
	return claimant.Claims{
		Client: r.Client, Ledger: r.Ledger, GroupKind: kinds.IPAddressClaim, List: &ipamv1beta2.IPAddressClaimList{}, Namespace: r.Namespace,
		Waits: r.waits,
	}
}

// waits says what a claim waits for, by what it was told last.
func (r *Reconciler) waits(obj client.Object) claimant.Waits {
	claim, ok := obj.(*ipamv1beta2.IPAddressClaim)
	if !ok {
		return claimant.ForAnything
	}
	switch conditions.GetReason(claim, ipamv1beta2.IPAddressClaimReadyCondition) {
	case ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason:
		return claimant.ForRoom
	case ipamv1beta2.IPAddressClaimReadyAllocationFailedReason:
		if r.isAskedTaken(claim) {
			return claimant.ForOthers
		}
	}
	return claimant.ForAnything
}

// isAskedTaken says whether somebody else has the address that the claim asks for, as far as this process knows.
func (r *Reconciler) isAskedTaken(claim *ipamv1beta2.IPAddressClaim) bool {
	asked, err := netip.ParseAddr(claim.Annotations[ipamv1.AddressAnnotation])
	if err != nil {
		return false
	}
	_, err = r.Ledger.Preview(ledger.Claim{
		Ref: newScope(claim).ref, Pool: poolOf(claim), Bits: asked.BitLen(), Want: netip.PrefixFrom(asked, asked.BitLen()), Purpose: ipamv1.ClaimPurpose,
	})
	return errors.Is(err, ledger.ErrTaken)
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

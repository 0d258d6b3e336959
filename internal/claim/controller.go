// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// SetupWithManager registers the controller under a name. The form's kinds must be served, and Cluster API's.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, name string) error {
	if err := r.indexClaims(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	var err error
	r.controller, err = r.claims().Wake(ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(r.Form.Kinds().NewClaim(), builder.WithPredicates(
			predicates.Watched(r.watchFilter), r.changedByOthers())).
		Watches(r.Form.Kinds().NewClaim(), claimant.Counted(r.counts)).
		Watches(r.Form.Kinds().NewClaim(), r.noting()).
		Watches(r.Form.Kinds().NewAnswer(), handler.EnqueueRequestsFromMapFunc(r.claimOf), builder.WithPredicates(r.leaving())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.claimsOfCluster), builder.WithPredicates(
			predicates.ClusterPause()))).
		WithOptions(claimant.ControllerOptions(r.concurrency)).
		Build(r)
	return err
}

// WatchPools has claims woken by pools of kinds that appeared after the claims'.
func (r *Reconciler) WatchPools(mgr ctrl.Manager, pools ...client.Object) error {
	for _, pool := range pools {
		if err := r.claims().WatchPool(r.controller, mgr.GetCache(), pool); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) indexClaims(ctx context.Context, indexer client.FieldIndexer) error {
	waiting := func(obj client.Object) []string {
		claim, ok := r.isClaim(obj)
		if !ok || hasAnswer(claim) || !r.Source.Serves(claim.Pool) {
			return nil
		}
		return claimant.Keys(r.observer.poolOf(claim))
	}
	kinds := r.Form.Kinds()
	if err := indexer.IndexField(ctx, kinds.NewClaim(), claimant.WaitingIndex, waiting); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, kinds.NewAnswer(), claimant.PoolIndex, r.observer.poolKeys); err != nil {
		return err
	}
	if field := kinds.ClaimField; field != "" {
		named := func(obj client.Object) []string { return []string{r.Form.ClaimOf(obj).Name} }
		if err := indexer.IndexField(ctx, kinds.NewAnswer(), field, named); err != nil {
			return err
		}
	}
	return indexer.IndexField(ctx, kinds.NewClaim(), claimant.ClusterIndex, func(obj client.Object) []string {
		if claim, ok := r.isClaim(obj); ok && clusterOf(claim) != "" {
			return []string{clusterOf(claim)}
		}
		return nil
	})
}

// hasAnswer says whether the claim's status tells of an address, and that nothing is wrong with it.
func hasAnswer(claim *door.Claim) bool {
	return claim.AnswerName != "" && conditions.IsTrue(claim.Stored, ipamv1.ReadyCondition)
}

// isClaim reads what an index or a watch shows.
func (r *Reconciler) isClaim(obj client.Object) (*door.Claim, bool) {
	stored, ok := obj.(claimant.Claimant)
	if !ok {
		return nil, false
	}
	return r.observer.claim(stored), true
}

// counts returns the pool that a claim names; false if the claim is not this manager's.
func (r *Reconciler) counts(obj client.Object) (ipamv1.PoolReference, bool) {
	claim, ok := r.isClaim(obj)
	if !ok || !r.Source.Serves(claim.Pool) || !predicates.IsWatched(claim, r.watchFilter) {
		return ipamv1.PoolReference{}, false
	}
	return r.observer.poolOf(claim), true
}

// claimOf names the claim that an answer is for.
func (r *Reconciler) claimOf(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: r.Form.ClaimOf(obj)}}
}

// poolKeys is where the pool of an answer finds it, if it is one of Weir's, and once more if it was made by hand.
func (r *observer) poolKeys(obj client.Object) []string {
	answer := r.answerIn(obj)
	if !r.Source.Serves(answer.Pool) {
		return nil
	}
	pool := r.Source.Reference(answer.Pool, answer.GetNamespace())
	if r.isByHand(answer) {
		return []string{claimant.PoolKey(pool), claimant.ByHandKey(pool)}
	}
	return []string{claimant.PoolKey(pool)}
}

func (r *Reconciler) claimsOfCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.claims().OfCluster(ctx, obj)
}

func (r *Reconciler) claims() claimant.Claims {
	return claimant.Claims{
		Client: r.Client, Ledger: r.ledger, GroupKind: r.observer.kind(), List: r.Form.Kinds().NewClaimList(), Pools: r.Source.Pools(), PoolsOf: r.Source.PoolsOf, Namespace: r.namespace,
		Waits: r.waits,
	}
}

// waits says what a claim waits for, by what it was told last.
func (r *Reconciler) waits(obj client.Object) claimant.Waits {
	claim, ok := r.isClaim(obj)
	if !ok {
		return claimant.ForAnything
	}
	switch conditions.GetReason(claim.Stored, ipamv1.ReadyCondition) {
	case ipamv1.ClaimReadyPoolExhaustedReason:
		return claimant.ForRoom
	case ipamv1.ClaimReadyWaitingForHostReason:
		return claimant.ForOthers // room does not help it
	case ipamv1.ClaimReadyAllocationFailedReason:
		if r.isAskedTaken(claim) {
			return claimant.ForOthers
		}
	}
	return claimant.ForAnything
}

// isAskedTaken says whether somebody else has the address that the claim asks for, as far as this process knows.
func (r *Reconciler) isAskedTaken(claim *door.Claim) bool {
	if claim.Asked == nil {
		return false
	}
	asked, err := netip.ParseAddr(*claim.Asked)
	if err != nil {
		return false
	}
	_, err = r.ledger.Preview(ledger.Claim{
		Ref: r.observer.newScope(claim).ref, Pool: r.observer.poolOf(claim), Bits: asked.BitLen(), Want: netip.PrefixFrom(asked, asked.BitLen()), Purpose: ledger.ForClaim,
	})
	return errors.Is(err, ledger.ErrTaken)
}

// Living returns the UIDs of the claims that the cache shows, for repair.
func (r *Reconciler) Living(ctx context.Context) (map[types.NamespacedName]types.UID, error) {
	return r.claims().Living(ctx)
}

// changedByOthers passes what Weir does not do itself: everything but a change of the status alone.
func (r *Reconciler) changedByOthers() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		predicate.LabelChangedPredicate{},
		predicates.Reowned(), // its Cluster may be an owner
		predicates.Resync(),
		predicates.Update(func(e event.UpdateEvent) bool {
			return e.ObjectNew.GetDeletionTimestamp() != nil ||
				len(e.ObjectOld.GetFinalizers()) > len(e.ObjectNew.GetFinalizers()) ||
				r.lostAnswer(e)
		}),
	)
}

// lostAnswer reports whether the claim's status names another answer than Weir has written, or none any more. Where the status is the commit,
// the first name in it counts whoever wrote it.
func (r *Reconciler) lostAnswer(e event.UpdateEvent) bool {
	before, ok := r.isClaim(e.ObjectOld)
	after, ok2 := r.isClaim(e.ObjectNew)
	if !ok || !ok2 || before.AnswerName == after.AnswerName {
		return false
	}
	isCommit := r.Form.Kinds().Commit == door.ByStatus || after.AnswerName == after.GetName()
	return before.AnswerName != "" || !isCommit
}

// leaving passes answers that are being deleted or have lost an owner, and new ones that arrive, are made by hand, or may be a second one.
func (r *Reconciler) leaving() predicate.Predicate {
	isByHand := func(obj client.Object) bool {
		answer := r.observer.answerIn(obj)
		return r.Source.Serves(answer.Pool) && !r.observer.isMade(answer)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			isSecond := r.Form.Kinds().Commit == door.ByStatus && !r.observer.hasWonHere(r.observer.answerIn(e.Object))
			return isSecond || hasArrived(e.Object) || isByHand(e.Object)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectNew.GetDeletionTimestamp() != nil || !ownedAlike(e.ObjectOld, e.ObjectNew)
		},
	}
}

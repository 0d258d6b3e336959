// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// gone forgets a pool that does not exist, and gives up its blocks: those of a pool that died without Weir, and those that
// were recorded from a stale cache. The blocks are read first, then the pool, live: a block of a pool made after that is not
// touched. While something is handed out of it, a block stays; the ledger names the pool when that changes. What cools down in
// it need not any longer.
func (r *Reconciler) gone(ctx context.Context, ref ipamv1.PoolReference) (ctrl.Result, error) {
	r.Registry.Forget(ref)
	r.outdated.forget(ref)
	unobserve(ref)
	if len(r.Ledger.Of(ref).OtherBlocks("", nil)) == 0 && len(r.Ledger.Of(ref).Cooling()) == 0 {
		return ctrl.Result{}, nil
	}
	if exists, err := r.exists(ctx, ref); exists || err != nil {
		return ctrl.Result{}, err
	}
	if wake, err := r.thaw(ctx, ref, ofNoPool); wake != 0 || err != nil {
		return ctrl.Result{RequeueAfter: wake}, err
	}
	if cooling := r.Ledger.Of(ref).Cooling(); slices.ContainsFunc(cooling, func(h ledger.Holding) bool { return h.Arriving }) {
		return ctrl.Result{RequeueAfter: retryArriving}, nil
	}
	if holdings, err := r.holdings(ctx, ref); len(holdings) > 0 || err != nil {
		return r.result(err)
	}
	blocks := r.Ledger.Of(ref).OtherBlocks("", nil) // only now: the proof has changed one of them
	if exists, err := r.exists(ctx, ref); exists || err != nil {
		return ctrl.Result{}, err
	}
	for _, block := range blocks {
		if err := r.giveBackOfGone(ctx, block); err != nil {
			return r.result(err)
		}
	}
	return ctrl.Result{}, nil
}

// giveBackOfGone gives up a block of a pool that is gone, unless that lives on in another cluster.
func (r *Reconciler) giveBackOfGone(ctx context.Context, block ledger.Holding) error {
	record := &ipamv1.IPAllocation{}
	if err := r.Live.Get(ctx, block.Record, record); err != nil {
		return client.IgnoreNotFound(err)
	}
	if claimant.IsReservation(record) {
		return nil
	}
	if predicates.IsMoving(record) {
		if stays, err := r.hasLivingParent(ctx, record); stays || err != nil {
			return err
		}
	}
	if r.Ledger.About(block.Claim).IsUnstored(block) { // it need not cool
		return r.exit().ReleaseBlock(ctx, block, claimant.Untold)
	}
	return r.exit().ReleaseBlock(ctx, block, claimant.ClaimGone)
}

// hasLivingParent says whether the block of a carved pool lies in a pool that is there still: while that is, what moved out of it is
// not to be handed out here.
func (r *Reconciler) hasLivingParent(ctx context.Context, record *ipamv1.IPAllocation) (bool, error) {
	kind, known := r.Registry.kindOf(record.Spec.PoolRef.GroupKind())
	if record.Spec.IsRootBlock() || !known {
		return false, nil
	}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: record.Spec.PoolRef.Namespace, Name: record.Spec.PoolRef.Name}, kind.New())
	return err == nil, client.IgnoreNotFound(err)
}

// exists asks the API server whether there is a pool of that name.
func (r *Reconciler) exists(ctx context.Context, ref ipamv1.PoolReference) (bool, error) {
	live := r.Kind.New()
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, live)
	return err == nil, client.IgnoreNotFound(err)
}

// release lets a pool go once nothing is allocated from it and nobody else holds on to it. An allocation that is under way in another manager meanwhile
// leaves a record, which stays taken.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if predicates.IsMoving(s.pool) {
		return nil
	}
	ref := s.says.Ref
	err := r.shedStrays(ctx, s.pool)
	if err != nil {
		return err
	}
	if s.users = finalizer.Foreign(s.pool, r.Kind.Finalizer); len(s.users) > 0 {
		s.holdings = r.Ledger.Of(ref).Holdings()
		return nil
	}
	if s.holdings, err = r.holdings(ctx, ref); len(s.holdings) > 0 || err != nil {
		return err
	}
	blocks := r.Ledger.Of(ref).OtherBlocks(s.pool.GetUID(), nil)
	live, err := r.live(ctx, s.pool)
	if live == nil || live.GetDeletionTimestamp().IsZero() || r.isKept(live) {
		return err
	}
	if err = r.drop(ctx, live, blocks, claimant.ClaimDeleted); err != nil {
		return err
	}
	err = finalizer.Remove(ctx, r.Client, live, r.Kind.Finalizer)
	s.released = err == nil
	return err
}

// isKept says whether a pool that is being deleted stays as it is for now, as a live read shows it: the cache may be of a time before
// somebody paused or moved it.
func (r *Reconciler) isKept(live Object) bool {
	return predicates.IsMoving(live) || predicates.IsPaused(nil, live) || len(finalizer.Foreign(live, r.Kind.Finalizer)) > 0
}

// shedStrays gives up what is recorded for other pools of the name: they were never stored, or are gone, while this one exists. It
// may wait long for what is handed out of it, and they have no part in that.
func (r *Reconciler) shedStrays(ctx context.Context, p Object) error {
	strays := slices.DeleteFunc(r.Ledger.Of(r.Kind.Reference(p)).OtherBlocks(p.GetUID(), nil), func(h ledger.Holding) bool {
		return h.Claim.UID == string(p.GetUID())
	})
	if len(strays) == 0 {
		return nil
	}
	live, err := r.live(ctx, p)
	if live == nil {
		return err
	}
	return r.drop(ctx, p, strays, claimant.ClaimDeleted)
}

// holdings returns what is handed out of a pool; that it is nothing is proved.
func (r *Reconciler) holdings(ctx context.Context, ref ipamv1.PoolReference) ([]ledger.Holding, error) {
	if known := r.Ledger.Of(ref).Holdings(); len(known) > 0 {
		return known, nil
	}
	if err := r.Ledger.Of(ref).Prove(ctx); err != nil {
		return nil, err
	}
	return r.Ledger.Of(ref).Holdings(), nil
}

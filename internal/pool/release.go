// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// gone forgets a pool that does not exist, and releases its blocks: those of a pool that died
// without Weir, and those that were recorded from a stale cache. The blocks are read first, then
// the pool, live: a block of a pool made after that is not touched. While something is handed out
// of it, a block stays; the ledger names the pool when that changes. What cools down in it need not
// any longer.
func (r *Reconciler) gone(ctx context.Context, ref ipamv1.PoolReference) (ctrl.Result, error) {
	r.Registry.Forget(ref)
	r.outdated.forget(ref)
	r.looks.forget(ref)
	r.surveys.forget(ref)
	r.wakeOverlapping(ref, nil)
	forget(ref)
	blocks, err := r.keepDelegated(ctx, ref, r.Ledger.Of(ref).OtherBlocks("", nil))
	err = errors.Join(err, r.leaveHandedBack(ctx, ref))
	if err != nil || len(blocks) == 0 && len(r.Ledger.Of(ref).Cooling()) == 0 {
		return r.result(err)
	}
	if exists, err := r.exists(ctx, r.Live, ref); exists || err != nil {
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
	blocks = slices.DeleteFunc(r.Ledger.Of(ref).OtherBlocks("", nil), ledger.Holding.IsWithMember) // only now: the proof has changed one of them
	seen := r.exit().Observe(blocks)
	if exists, err := r.exists(ctx, seen, ref); exists || err != nil {
		return ctrl.Result{}, err
	}
	for _, block := range blocks {
		if _, err := r.exit().Release(ctx, block, claimant.PoolGone(seen.Gone(block.Claim))); err != nil {
			return r.result(err)
		}
	}
	return ctrl.Result{}, nil
}

// exists asks the API server whether there is a pool of that name.
func (r *Reconciler) exists(ctx context.Context, c client.Reader, ref ipamv1.PoolReference) (bool, error) {
	live := r.Kind.New()
	err := c.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, live)
	return err == nil, client.IgnoreNotFound(err)
}

// release lets a pool go once nothing is allocated from it and nobody else holds on to it. An allocation that is under way in another manager meanwhile
// leaves a record, which stays taken.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if predicates.IsMoving(s.pool) {
		return nil
	}
	s.tidying = r.orderBack(ctx, s)
	if err := r.shedStrays(ctx, s.pool); err != nil {
		return err
	}
	if isUsed, err := r.isUsed(ctx, s); isUsed || err != nil {
		return err
	}
	blocks := r.Ledger.Of(s.says.Ref).OtherBlocks(s.pool.GetUID(), nil)
	seen := r.exit().Observe(blocks)
	live, err := r.live(ctx, seen, s.pool)
	if live == nil {
		return err
	}
	deleted, _, err := seen.Deleted(ctx, r.claimOf(s.pool), r.Kind.Finalizer, "") // the cache has shown whether its Cluster is paused
	if !deleted.IsProved() {
		return err
	}
	left, err := r.closeOutside(ctx, s, deleted)
	if err != nil {
		return err
	}
	why, member := claimant.ClaimDeleted(deleted.WithNothingOutside()), memberOf(s.pool, blocks)
	var back claimant.HandedBack
	if member != "" {
		var waitsFor string
		if back, waitsFor = deleted.HandedBack(member); !back.IsProved() {
			s.awaits = awaitsMessage(live, member, waitsFor)
			return nil
		}
		why = claimant.BlockHandedBack(back)
	}
	if err = r.releaseBlocks(ctx, live, blocks, seen, why); err != nil {
		return err
	}
	if back.IsForced() {
		r.announceForced(s.pool, member, blocks)
	}
	err = finalizer.Remove(ctx, r.Client, live, r.Kind.Finalizer)
	s.released = err == nil
	r.announceLeft(s, left)
	return err
}

// isUsed says whether others hold on to a pool that is being deleted, or something is allocated from it; that it is nothing is proved.
func (r *Reconciler) isUsed(ctx context.Context, s *scope) (bool, error) {
	if s.users = finalizer.Foreign(s.pool, r.Kind.Finalizer); len(s.users) > 0 {
		s.holdings = r.Ledger.Of(s.says.Ref).Holdings()
		return true, nil
	}
	var err error
	if s.holdings, err = r.holdings(ctx, s.says.Ref); len(s.holdings) > 0 || err != nil {
		return true, err
	}
	err = errors.Join(r.letGo(ctx, s), r.reportFirst(s))
	return len(s.holdings) > 0, err
}

// shedStrays releases what is recorded for other pools of the name: they were never stored, or are
// gone, while this one exists. It may wait long for what is handed out of it, and they have no part
// in that.
func (r *Reconciler) shedStrays(ctx context.Context, p pools.Object) error {
	strays := slices.DeleteFunc(r.Ledger.Of(r.Kind.Reference(p)).OtherBlocks(p.GetUID(), nil), func(h ledger.Holding) bool {
		return h.Claim.UID == string(p.GetUID())
	})
	if len(strays) == 0 {
		return nil
	}
	seen := r.exit().Observe(strays)
	if live, err := r.live(ctx, seen, p); live == nil {
		return err
	}
	return r.releaseBlocks(ctx, p, strays, seen, claimant.Reason{}) // none is its own
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

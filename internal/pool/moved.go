// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// leave sees to the pool's records that are marked for deletion: what clusterctl has moved out of a pool that stays here is held,
// what cools down in a namespace that ends cools on beside the manager, and a hold that a user has deleted is released. So is one
// that is not needed any more.
func (r *Reconciler) leave(ctx context.Context, pool ipamv1.PoolReference) error {
	leaving, returned := r.Ledger.Of(pool).Leaving(), r.Ledger.Of(pool).Returned()
	errs := make([]error, 0, 1+len(leaving)+len(returned))
	errs = append(errs, r.leaveHandedBack(ctx, pool))
	for _, h := range leaving {
		errs = append(errs, r.leaveOne(ctx, h))
	}
	for _, back := range returned {
		errs = append(errs, r.dropReturned(ctx, back))
	}
	return errors.Join(errs...)
}

// dropReturned drops a hold of what is back. When the hold was made is read live: the ledger does not keep that.
func (r *Reconciler) dropReturned(ctx context.Context, back ledger.Return) error {
	seen := r.exit().Observe(nil)
	if err := seen.Get(ctx, back.Hold.Record, &ipamv1.IPAllocation{}); err != nil {
		return client.IgnoreNotFound(err)
	}
	returned := seen.Returned(back)
	if !returned.IsProved() {
		return nil
	}
	_, err := r.exit().Release(ctx, back.Hold, claimant.HoldEnded(returned))
	return err
}

func (r *Reconciler) leaveOne(ctx context.Context, h ledger.Holding) error {
	seen := r.exit().Observe(nil)
	err := seen.Get(ctx, h.Record, &ipamv1.IPAllocation{})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if leaving := seen.Leaving(h); leaving.IsProved() {
		_, err = r.exit().Release(ctx, h, claimant.RecordLeaves(leaving, r.Registry.Namespace))
	} else if evicted := seen.Evicted(h); evicted.IsProved() && h.Record.Namespace != r.Registry.Namespace {
		_, err = r.exit().Release(ctx, h, claimant.RecordEvicted(evicted, r.Registry.Namespace))
	} else if deleted := seen.Unwanted(h); deleted.IsProved() {
		_, err = r.exit().Release(ctx, h, claimant.HoldDeleted(deleted))
	}
	return err
}

// dropHeld drops what was held for this pool while it was in another cluster, now that its block is recorded anew.
func (r *Reconciler) dropHeld(ctx context.Context, s *scope) error {
	if !s.registered.IsCarved() {
		return nil
	}
	var errs []error
	for _, block := range s.registered.Shape.Blocks() {
		claim := ledger.CarveClaim(s.registered, block.Bits()).Ref
		for _, h := range r.Ledger.About(claim).Moved(s.registered.Parent, block) {
			_, err := r.exit().Release(ctx, h, claimant.HoldEnded(r.exit().Returned(claim, s.registered.Space, h)))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// leave sees to the pool's records that are marked for deletion: what clusterctl has moved out of a pool that stays here is held,
// and a hold that somebody has deleted is released. So is one that is not needed any more.
func (r *Reconciler) leave(ctx context.Context, pool ipamv1.PoolReference) error {
	leaving, returned := r.Ledger.Of(pool).Leaving(), r.Ledger.Of(pool).Returned()
	errs := make([]error, 0, len(leaving)+len(returned))
	for _, h := range leaving {
		errs = append(errs, r.leaveOne(ctx, h))
	}
	for _, back := range returned {
		errs = append(errs, r.dropReturned(ctx, back))
	}
	return errors.Join(errs...)
}

// movedAlone says whether the record is of a claim that has moved to another cluster without its pool.
func movedAlone(record *ipamv1.IPAllocation) bool {
	_, ok := record.Annotations[ipamv1.MovedAnnotation]
	return ok
}

// dropReturned drops a hold of what is back. When the hold was made is read live: the ledger does not keep that.
func (r *Reconciler) dropReturned(ctx context.Context, back ledger.Return) error {
	hold := &ipamv1.IPAllocation{}
	if err := r.Live.Get(ctx, back.Hold.Record, hold); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !back.EndsHold(hold.CreationTimestamp.Time) {
		return nil
	}
	return r.exit().ReleaseReserved(ctx, back.Hold)
}

func (r *Reconciler) leaveOne(ctx context.Context, h ledger.Holding) error {
	record := &ipamv1.IPAllocation{}
	if err := r.Live.Get(ctx, h.Record, record); err != nil {
		return client.IgnoreNotFound(err)
	}
	switch {
	case record.DeletionTimestamp.IsZero() || !slices.Contains(record.Finalizers, ipamv1.AllocationFinalizer):
		return nil
	case predicates.IsMoving(record) && record.Spec.PoolRef.Namespace == record.Namespace && !movedAlone(record):
		return nil // its pool moves, too: a move that is cut short has left it like this
	case predicates.IsMoving(record) && record.Spec.State != ipamv1.MovedState:
		return r.exit().Hold(ctx, h, r.Registry.Namespace)
	case record.Spec.State != ipamv1.MovedState || !record.Spec.ReleasedAt.IsZero():
		return nil
	}
	return r.exit().ReleaseUnwanted(ctx, h)
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
			errs = append(errs, r.exit().ReleaseReserved(ctx, h))
		}
	}
	return errors.Join(errs...)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// rest is all that is done for a pool that must not be touched: its blocks are recorded if it was restored with them. It returns when to look at
// the pool again, given what came of its status. What keeps a block from being recorded is reported once the pool is not halted any more.
func (r *Reconciler) rest(ctx context.Context, p *pools.Known, status ctrl.Result, failed error) (ctrl.Result, error) {
	result, err := r.result(r.recordRestored(ctx, p))
	result.RequeueAfter = sooner(result.RequeueAfter, status.RequeueAfter)
	return result, errors.Join(err, failed)
}

// recordRestored records the blocks of a restored pool: what was handed out of them may be in use, and can only be recorded once they are. That
// touches neither the pool nor what is handed out of it.
func (r *Reconciler) recordRestored(ctx context.Context, p *pools.Known) error {
	isEnding := !p.GetDeletionTimestamp().IsZero() || predicates.IsMoving(p)
	if !r.isRestored(p) || isEnding || p.Says.Place == poolspec.Stray || len(p.Invalid) > 0 || r.Registry.IsHandedBack(p) {
		return nil
	}
	if p.IsUnknown() { // before its parent is
		return ledger.ErrNotReady
	}
	s := &scope{pool: p.Object, before: p.Object, says: p.Says, registered: p.Registered}
	if err := r.checkSpace(s); err != nil {
		return err
	}
	return r.recordBlocks(ctx, s, p.Registered.Shape.Blocks())
}

// isRestored reports whether a halted pool had its blocks before it was created here. A root is not marked, but has Weir's finalizer: one that is
// halted from its creation on gets that only later.
func (r *Reconciler) isRestored(p *pools.Known) bool {
	return p.Says.Arrived || !p.Says.IsCarved() && slices.Contains(p.GetFinalizers(), r.Kind.Finalizer)
}

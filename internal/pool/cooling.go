// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
)

const (
	// thawBatch is how many records one reconciliation looks at, so that a pool's status does not wait for thousands.
	thawBatch = 64
	// retryKept is when records are looked at again that have cooled down, but must stay.
	retryKept = 10 * time.Second
	// retryArriving is when the records of a pool that is not here are looked at again, which may arrive after them.
	retryArriving = time.Minute
	// ofNoPool is the cooldown of a pool that is gone. What has just arrived waits for its pool, which may not be here yet.
	ofNoPool = -1
)

// thaw deletes the records of what has cooled down in the pool, and returns when to come back for
// the rest; 0 if there is none. The time of release is another machine's clock: a cooldown is as
// exact as the clocks agree. No address is handed out twice for it.
//
// Which of those that have cooled down come first is left to chance: some may have to stay for
// long.
func (r *Reconciler) thaw(ctx context.Context, pool ipamv1.PoolReference, cooldown time.Duration) (time.Duration, error) {
	var overdue []claimant.Expired
	var next time.Duration
	now := r.Clock.Now()
	for _, h := range r.Ledger.Of(pool).Cooling() {
		if cooldown == ofNoPool && h.Arriving {
			continue
		}
		expired, left := r.exit().Expired(h, cooldown, now)
		switch {
		case expired.IsProved():
			overdue = append(overdue, expired)
		case left > 0 && (next == 0 || left < next):
			next = left
		}
	}
	rand.Shuffle(len(overdue), func(i, j int) { overdue[i], overdue[j] = overdue[j], overdue[i] }) //nolint:gosec // not a secret
	gone, err := r.deleteAll(ctx, overdue[:min(len(overdue), thawBatch)])
	switch {
	case gone == len(overdue):
		return next, err
	case gone > 0:
		return retryBusy, err
	default:
		return retryKept, err
	}
}

// deleteAll returns how many of the records are gone now.
func (r *Reconciler) deleteAll(ctx context.Context, overdue []claimant.Expired) (gone int, err error) {
	errs := make([]error, 0, len(overdue))
	for _, expired := range overdue {
		hasGone, err := r.exit().Release(ctx, expired.Record(), claimant.CooledDown(expired))
		if hasGone && err == nil {
			gone++
		}
		errs = append(errs, err)
	}
	return gone, errors.Join(errs...)
}

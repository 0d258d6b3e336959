// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

const (
	// thawBatch is how many records one reconciliation gives up, so that a pool's status does not wait for thousands.
	thawBatch = 64
	// retryKept is when a record is looked at again that has cooled down, but must stay.
	retryKept = 10 * time.Second
)

// thaw gives up what has cooled down in the pool, and returns when to come back for the rest; 0 if there is none. The time
// of release is another machine's clock: a cooldown is as exact as the clocks agree. No address is handed out twice for it.
func (r *Reconciler) thaw(ctx context.Context, pool ipamv1.PoolReference, cooldown time.Duration) (time.Duration, error) {
	var errs []error
	cooling := r.Ledger.Cooling(pool)
	later := make([]time.Duration, 0, len(cooling))
	now, batch := r.Clock.Now(), thawBatch
	for _, h := range cooling {
		left := h.ReleasedAt.Add(cooldown).Sub(now)
		if left <= 0 && batch > 0 {
			batch--
			kept, err := r.giveUp(ctx, h)
			errs, left = append(errs, err), kept
		}
		later = append(later, left)
	}
	return soonest(later), errors.Join(errs...)
}

// soonest returns the shortest of the times that lie ahead. What is overdue comes next, but not at once.
func soonest(later []time.Duration) time.Duration {
	ahead := slices.DeleteFunc(later, func(d time.Duration) bool { return d == 0 })
	if len(ahead) == 0 {
		return 0
	}
	return max(slices.Min(ahead), retryBusy)
}

// giveUp drops what has cooled down, and returns 0. While it moves to another cluster or its Cluster is paused it stays, and
// is looked at again after the time returned.
func (r *Reconciler) giveUp(ctx context.Context, h ledger.Holding) (time.Duration, error) {
	record := &ipamv1.IPAllocation{}
	if err := r.Live.Get(ctx, h.Record, record); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	kept, err := r.isKept(ctx, record)
	if err != nil || kept {
		return retryKept, err
	}
	return 0, r.Ledger.Drop(ctx, h)
}

// isKept says whether a record must stay: clusterctl moves it, or its Cluster is paused.
func (r *Reconciler) isKept(ctx context.Context, record *ipamv1.IPAllocation) (bool, error) {
	if isMoving(record) {
		return true, nil
	}
	cluster, _, err := clusterNamed(ctx, r.Client, record.Namespace, record.Labels[clusterv1.ClusterNameLabel])
	return cluster != nil && predicates.IsPaused(cluster, record), err
}

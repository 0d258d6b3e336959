// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// overlaps remembers what pools shared with others when they were looked at last, so that the others are looked at when that changes. The zero
// value is empty.
type overlaps struct {
	mu sync.Mutex
	of map[ipamv1.PoolReference]map[ipamv1.PoolReference]*netipx.IPSet
}

// note remembers what a pool shares now, and returns the pools with which it shares something else than before.
func (o *overlaps) note(ref ipamv1.PoolReference, found []pools.Overlap) (changed []ipamv1.PoolReference) {
	now := make(map[ipamv1.PoolReference]*netipx.IPSet, len(found))
	for _, f := range found {
		now[f.Other] = f.Shared
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.of[ref]
	for other := range maps.Keys(before) {
		if _, still := now[other]; !still {
			changed = append(changed, other)
		}
	}
	for other, shared := range now {
		if was, known := before[other]; !known || !was.Equal(shared) {
			changed = append(changed, other)
		}
	}
	if o.of == nil {
		o.of = map[ipamv1.PoolReference]map[ipamv1.PoolReference]*netipx.IPSet{}
	}
	if o.of[ref] = now; len(now) == 0 {
		delete(o.of, ref)
	}
	return changed
}

// findOverlaps finds out with which pools a pool shares addresses, and has these looked at if that has changed.
func (r *reporter) findOverlaps(ctx context.Context, s *scope) {
	if !r.Kind.ReportsOverlaps {
		return
	}
	s.overlaps = r.Registry.Overlaps(ctx, s.pool)
	r.wakeOverlapping(s.says.Ref, s.overlaps)
}

// wakeOverlapping has pools looked at with which a pool shares something else than before.
func (r *reporter) wakeOverlapping(ref ipamv1.PoolReference, found []pools.Overlap) {
	for _, other := range r.overlaps.note(ref, found) {
		r.Ledger.Notices().PoolChanged(other)
	}
}

// overlapDoubt says what a pool shares with older ones, whose claims it does not know; nothing if it shares nothing. The names are of pools of
// its own project.
func (r *reporter) overlapDoubt(ctx context.Context, s *scope) []string {
	older := slices.DeleteFunc(slices.Clone(s.overlaps), func(o pools.Overlap) bool { return !o.IsOlder })
	if len(older) == 0 {
		return nil
	}
	return []string{r.Registry.OverlapText(s.pool, older, func(other ipamv1.PoolReference) bool {
		return r.Registry.Rules.MayName(ctx, s.pool.GetNamespace(), ledger.ClaimOf(other, ""))
	})}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

const (
	// unsettled is for how long IPAddresses with the settings of before may still be made after a change.
	unsettled = time.Minute
	// recount is after what time the IPAddresses of a pool are counted again although nothing seems to have changed.
	recount = 10 * time.Minute
)

// outdated is what the last counts have found. The zero value is empty.
type outdated struct {
	mu     sync.Mutex
	counts map[ipamv1.PoolReference]outdatedCount
}

type outdatedCount struct {
	shape  *pooltree.Pool
	number int
	// since is when the shape was seen first, and at when its addresses were counted.
	since, at time.Time
}

// due says whether the addresses of a pool have to be counted: the pool, or what it inherits, is new or has just changed, or some
// addresses were outdated, or it is long ago. Otherwise new ones have what the pool says. The cache is asked for all of them.
func (o *outdated) due(ref ipamv1.PoolReference, shape *pooltree.Pool, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.counts[ref]
	return !ok || c.shape != shape || c.number > 0 || now.Sub(c.since) < unsettled || now.Sub(c.at) > recount
}

func (o *outdated) counted(ref ipamv1.PoolReference, shape *pooltree.Pool, number int, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[ipamv1.PoolReference]outdatedCount{}
	}
	c := outdatedCount{shape: shape, number: number, since: now, at: now}
	if before, ok := o.counts[ref]; ok && before.shape == shape {
		c.since = before.since
	}
	o.counts[ref] = c
}

func (o *outdated) forget(ref ipamv1.PoolReference) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.counts, ref)
}

// setNetworkCurrent says how many IPAddresses carry other network settings than the pool has now. It is left as it is where that is
// not known: Cluster API is not installed, nor everything seen yet, this manager sees one namespace, and the pool is for all, or the
// pool serves nothing.
func (r *reporter) setNetworkCurrent(ctx context.Context, s *scope) error {
	ref, shape, now := s.says.Ref, s.registered.Shape, r.Clock.Now()
	if !r.remains.IsComplete() || shape == nil || ref.Namespace == "" && r.Namespace != "" || !r.outdated.due(ref, shape, now) {
		return nil
	}
	number := 0
	for _, door := range r.doors {
		n, err := door.Outdated(ctx, ref, shape)
		if err != nil {
			return err
		}
		number += n
	}
	r.outdated.counted(ref, shape, number, now)
	if number == 0 {
		conditions.Delete(s.pool, ipamv1.NetworkCurrentCondition)
		return nil
	}
	conditions.Set(s.pool, metav1.Condition{
		Type: ipamv1.NetworkCurrentCondition, Status: metav1.ConditionFalse, Reason: ipamv1.AddressesOutdatedReason,
		Message:            fmt.Sprintf("%d IPAddresses keep another prefix length, gateway or DNS servers than the pool has now; replace their machines", number),
		ObservedGeneration: s.pool.GetGeneration(),
	})
	return nil
}

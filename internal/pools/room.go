// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"fmt"
	"maps"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// underway are claims for which this manager is getting an address outside, by pool. The zero value
// is empty.
type underway struct {
	mu sync.Mutex
	of map[ipamv1.PoolReference]map[ipamv1.ClaimReference]bool
	// closed are the pools that end, by their UIDs.
	closed map[ipamv1.PoolReference]types.UID
}

// begin adds a claim and returns the others of the pool. It errs with ErrBusy if the pool ends.
func (u *underway) begin(pool ipamv1.PoolReference, uid types.UID, claim ipamv1.ClaimReference) (others []ipamv1.ClaimReference, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if sealed, isSealed := u.closed[pool]; isSealed && sealed == uid {
		return nil, fmt.Errorf("%s %q is being deleted: %w", pool.Kind, pool.Name, ledger.ErrBusy)
	}
	if u.of == nil {
		u.of = map[ipamv1.PoolReference]map[ipamv1.ClaimReference]bool{}
	}
	if u.of[pool] == nil {
		u.of[pool] = map[ipamv1.ClaimReference]bool{}
	}
	for other := range maps.Keys(u.of[pool]) {
		if other != claim {
			others = append(others, other)
		}
	}
	u.of[pool][claim] = true
	return others, nil
}

// seal has no claim of a pool begin any more. It reports whether none is under way.
func (u *underway) seal(pool ipamv1.PoolReference, uid types.UID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed == nil {
		u.closed = map[ipamv1.PoolReference]types.UID{}
	}
	u.closed[pool] = uid
	return len(u.of[pool]) == 0
}

// forget drops what is known of a pool that has gone.
func (u *underway) forget(pool ipamv1.PoolReference) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.closed, pool)
}

func (u *underway) end(pool ipamv1.PoolReference, claim ipamv1.ClaimReference) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if delete(u.of[pool], claim); len(u.of[pool]) == 0 {
		delete(u.of, pool)
	}
}

// begin is Backing.Begin. What a pool with a limit has handed out are its records. A claim under way
// that has no record yet may be about to get one. Those of other managers are not known: several of
// them may exceed the limit by what they have under way.
func (r *Registry) begin(pool ipamv1.PoolReference, uid types.UID, claim ipamv1.ClaimReference, isLimited bool) (room int, done func(), err error) {
	others, err := r.underway.begin(pool, uid, claim)
	if err != nil {
		return 0, func() {}, err
	}
	done = func() { r.underway.end(pool, claim) }
	if !isLimited {
		return external.Unlimited, done, nil
	}
	unrecorded := 0
	for _, other := range others {
		if len(r.Ledger.RecordsOf(other)) == 0 {
			unrecorded++
		}
	}
	// The records are counted after those claims: one that gets its record in between counts twice,
	// and never not at all.
	capacity, _ := r.Ledger.Of(pool).Capacity()
	room = capacity.Available.Fit(0, math.MaxInt32)
	if room > 0 && room <= unrecorded {
		done()
		return 0, func() {}, fmt.Errorf("other claims may take what %s %q has left: %w", pool.Kind, pool.Name, ledger.ErrBusy)
	}
	return room, done, nil
}

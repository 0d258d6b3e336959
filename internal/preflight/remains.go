// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"sync"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Remains are the objects that would stay, by pool. It grows with those alone. The zero value is empty and not complete. All
// methods are safe for use by any number of goroutines.
type Remains struct {
	mu       sync.Mutex
	pools    map[ipamv1.PoolReference]map[Object]string
	complete bool
}

// Change is a pool for which a change of an object makes a difference.
type Change struct {
	Pool ipamv1.PoolReference
	// First: before, nothing of the pool would have stayed.
	First bool
}

// Replace takes what an object was out and what it is in; either may be the zero value. It returns the pools for which that
// makes a difference.
func (r *Remains) Replace(was, is Remain) []Change {
	if was == is {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var changed []Change
	if was.Why != "" {
		delete(r.pools[was.Pool], was.Object)
		if len(r.pools[was.Pool]) == 0 {
			delete(r.pools, was.Pool)
		}
		if was.Pool != is.Pool {
			changed = append(changed, Change{Pool: was.Pool})
		}
	}
	if is.Why != "" {
		r.add(is)
		changed = append(changed, Change{Pool: is.Pool, First: was.Pool != is.Pool && len(r.pools[is.Pool]) == 1})
	}
	return changed
}

func (r *Remains) add(is Remain) {
	if r.pools == nil {
		r.pools = map[ipamv1.PoolReference]map[Object]string{}
	}
	if r.pools[is.Pool] == nil {
		r.pools[is.Pool] = map[Object]string{}
	}
	r.pools[is.Pool][is.Object] = is.Why
}

// Complete states that every object that there is has been seen.
func (r *Remains) Complete() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = true
}

// IsComplete says whether Complete was called. Before, a pool of which nothing is known may have something that stays.
func (r *Remains) IsComplete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.complete
}

// Of returns how many objects would stay that have something of the pool; of those of its own namespace the first n, in order,
// and after them all others. Of a pool without namespace it returns the number only. The cost grows with the number.
func (r *Remains) Of(pool ipamv1.PoolReference, n int) (total int, some []Remain) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.pools[pool]
	if pool.Namespace == "" {
		return len(found), nil
	}
	var others []Remain
	for object, why := range found {
		remain := Remain{Pool: pool, Object: object, Why: why}
		if object.Namespace == pool.Namespace {
			some = insert(some, remain, n)
		} else {
			others = append(others, remain)
		}
	}
	slices.SortFunc(others, byObject)
	return len(found), append(some, others...)
}

// insert keeps the first n in order.
func insert(some []Remain, r Remain, n int) []Remain {
	at, _ := slices.BinarySearchFunc(some, r, byObject)
	if at == n {
		return some
	}
	some = slices.Insert(some, at, r)
	return some[:min(len(some), n)]
}

func byObject(a, b Remain) int { return a.Object.compare(b.Object) }

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// tally counts claims by the pool that they name and by state. It adds what an informer shows and subtracts what that has shown before, so
// it keeps nothing of single claims. It knows the pools that claims name, and no others. All methods are safe for use by any number of
// goroutines.
type tally struct {
	mu     sync.Mutex
	counts map[ipamv1.PoolReference]*[states]int
}

// add changes the count of one state of a pool. A pool of which all counts are zero is forgotten.
func (t *tally) add(pool ipamv1.PoolReference, in state, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts, ok := t.counts[pool]
	if !ok {
		counts = &[states]int{}
		t.counts[pool] = counts
	}
	counts[in] += n
	if *counts == [states]int{} {
		delete(t.counts, pool)
	}
}

// each calls do with a copy of the counts of every pool, in no order.
func (t *tally) each(do func(pool ipamv1.PoolReference, counts [states]int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for pool, counts := range t.counts {
		do(pool, *counts)
	}
}

// claims counts those of all forms: claims of several forms may name one pool.
var claims = &tally{counts: map[ipamv1.PoolReference]*[states]int{}}

// Counted returns a handler that counts claims in weir_pool_claims and enqueues nothing. PoolOf returns the pool that a claim names, and
// false for a claim that does not count; the same object must always give the same. No predicate may keep events from the handler.
func Counted(poolOf func(client.Object) (ipamv1.PoolReference, bool)) handler.EventHandler {
	count := func(obj client.Object, n int) {
		claim, ok := obj.(Claimant)
		if !ok {
			return
		}
		if pool, counts := poolOf(obj); counts {
			claims.add(pool, stateOf(claim), n)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { count(e.Object, 1) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) {
			count(e.ObjectNew, 1) // first: a pool that keeps a claim is not forgotten in between
			count(e.ObjectOld, -1)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { count(e.Object, -1) },
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Notices name pools and claims to subscribers. They are the book's listener.
type Notices struct {
	freed, changed fanout[ipamv1.PoolReference]
	concerned      fanout[ipamv1.ClaimReference]
}

// PoolFreed implements book.Listener.
func (n *Notices) PoolFreed(ref ipamv1.PoolReference) { n.freed.add(ref) }

// PoolChanged implements book.Listener.
func (n *Notices) PoolChanged(ref ipamv1.PoolReference) { n.changed.add(ref) }

// ClaimConcerned implements book.Listener.
func (n *Notices) ClaimConcerned(ref ipamv1.ClaimReference) { n.concerned.add(ref) }

// Notices are what the ledger has to report.
func (l *Ledger) Notices() *Notices { return l.notify }

// Freed returns a channel on which every pool is named that may have room again, or may serve now.
// Names are not repeated while they wait to be read. Each caller has a channel of its own, on which
// nothing comes any more once ctx has ended.
func (n *Notices) Freed(ctx context.Context) <-chan ipamv1.PoolReference {
	return n.freed.subscribe(ctx)
}

// Changed returns a channel, as Freed does, on which every pool is named whose sums have changed.
func (n *Notices) Changed(ctx context.Context) <-chan ipamv1.PoolReference {
	return n.changed.subscribe(ctx)
}

// Concerned returns a channel, as Freed does, on which claims are named that should be looked at: a
// restored record has come under the claim's name, it holds what a restored claim has come with, or
// Concern names it.
func (n *Notices) Concerned(ctx context.Context) <-chan ipamv1.ClaimReference {
	return n.concerned.subscribe(ctx)
}

// Concern names a claim on Concerned.
func (n *Notices) Concern(claim ipamv1.ClaimReference) { n.concerned.add(claim) }

// fanout passes what happened on to every subscriber, without ever blocking the watch. Its zero
// value is ready for use.
type fanout[T comparable] struct {
	mu          sync.Mutex
	subscribers []workqueue.TypedInterface[T]
}

func (f *fanout[T]) add(item T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.subscribers {
		q.Add(item)
	}
}

func (f *fanout[T]) subscribe(ctx context.Context) <-chan T {
	q, out := workqueue.NewTyped[T](), make(chan T)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, q)
	context.AfterFunc(ctx, func() { f.unsubscribe(q) })
	go deliver(ctx, q, out)
	return out
}

func (f *fanout[T]) unsubscribe(q workqueue.TypedInterface[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = slices.DeleteFunc(f.subscribers, func(other workqueue.TypedInterface[T]) bool { return other == q })
	q.ShutDown()
}

// deliver hands over what is in the queue, as fast as the subscriber reads, until ctx ends.
func deliver[T comparable](ctx context.Context, q workqueue.TypedInterface[T], out chan<- T) {
	for {
		item, isOver := q.Get()
		if isOver {
			return
		}
		select {
		case <-ctx.Done():
			return
		case out <- item:
			q.Done(item)
		}
	}
}

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

// notifier names pools and claims to subscribers. It is the book's listener.
type notifier struct {
	freed, changed fanout[ipamv1.PoolReference]
	concerned      fanout[ipamv1.ClaimReference]
}

// PoolFreed implements book.Listener.
func (n *notifier) PoolFreed(ref ipamv1.PoolReference) { n.freed.add(ref) }

// PoolChanged implements book.Listener.
func (n *notifier) PoolChanged(ref ipamv1.PoolReference) { n.changed.add(ref) }

// ClaimConcerned implements book.Listener.
func (n *notifier) ClaimConcerned(ref ipamv1.ClaimReference) { n.concerned.add(ref) }

// Freed returns a channel on which every pool is named that may have room again, or may serve now.
// Names are not repeated while they wait to be read. Each caller has a channel of its own, on which
// nothing comes any more once ctx has ended.
func (l *Ledger) Freed(ctx context.Context) <-chan ipamv1.PoolReference {
	return l.notify.freed.subscribe(ctx)
}

// Changed returns a channel, as Freed does, on which every pool is named whose sums have changed.
func (l *Ledger) Changed(ctx context.Context) <-chan ipamv1.PoolReference {
	return l.notify.changed.subscribe(ctx)
}

// Concerned returns a channel, as Freed does, on which claims are named that should be looked at: a
// restored record has come under the claim's name, it holds what a restored claim has come with, or
// Concern names it.
func (l *Ledger) Concerned(ctx context.Context) <-chan ipamv1.ClaimReference {
	return l.notify.concerned.subscribe(ctx)
}

// Concern names a claim on Concerned.
func (l *Ledger) Concern(claim ipamv1.ClaimReference) { l.notify.concerned.add(claim) }

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

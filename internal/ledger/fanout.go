// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"sync"
)

// fanout tells every subscriber of pools, or of claims, that something happened to, without ever blocking the watch.
type fanout[T comparable] struct {
	mu          sync.Mutex
	subscribers []*subscriber[T]
}

type subscriber[T comparable] struct {
	pending map[T]bool
	wake    chan struct{}
}

func newFanout[T comparable]() *fanout[T] { return &fanout[T]{} }

func (f *fanout[T]) add(ref T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subscribers {
		s.pending[ref] = true
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

func (f *fanout[T]) subscribe(ctx context.Context) <-chan T {
	s := &subscriber[T]{pending: map[T]bool{}, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.subscribers = append(f.subscribers, s)
	f.mu.Unlock()
	out := make(chan T)
	go f.deliver(ctx, s, out)
	return out
}

// deliver hands a subscriber what has come together, as fast as it reads, until ctx ends.
func (f *fanout[T]) deliver(ctx context.Context, s *subscriber[T], out chan<- T) {
	defer f.unsubscribe(s)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		for _, ref := range f.take(s) {
			select {
			case <-ctx.Done():
				return
			case out <- ref:
			}
		}
	}
}

func (f *fanout[T]) unsubscribe(s *subscriber[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = slices.DeleteFunc(f.subscribers, func(t *subscriber[T]) bool { return s == t })
}

func (f *fanout[T]) take(s *subscriber[T]) []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	refs := make([]T, 0, len(s.pending))
	for ref := range s.pending {
		refs = append(refs, ref)
	}
	clear(s.pending)
	return refs
}

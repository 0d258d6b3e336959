// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"sync"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// fanout tells every subscriber of pools that something happened to, without ever blocking the watch.
type fanout struct {
	mu          sync.Mutex
	subscribers []*subscriber
}

type subscriber struct {
	pending map[ipamv1.PoolReference]bool
	wake    chan struct{}
}

func newFanout() *fanout { return &fanout{} }

func (f *fanout) add(ref ipamv1.PoolReference) {
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

func (f *fanout) subscribe(ctx context.Context) <-chan ipamv1.PoolReference {
	s := &subscriber{pending: map[ipamv1.PoolReference]bool{}, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.subscribers = append(f.subscribers, s)
	f.mu.Unlock()
	out := make(chan ipamv1.PoolReference)
	go f.deliver(ctx, s, out)
	return out
}

// deliver hands a subscriber what has come together, as fast as it reads, until ctx ends.
func (f *fanout) deliver(ctx context.Context, s *subscriber, out chan<- ipamv1.PoolReference) {
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

func (f *fanout) unsubscribe(s *subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = slices.DeleteFunc(f.subscribers, func(t *subscriber) bool { return s == t })
}

func (f *fanout) take(s *subscriber) []ipamv1.PoolReference {
	f.mu.Lock()
	defer f.mu.Unlock()
	refs := make([]ipamv1.PoolReference, 0, len(s.pending))
	for ref := range s.pending {
		refs = append(refs, ref)
	}
	clear(s.pending)
	return refs
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// feed is the book behind its lock, and the store of the reflector that follows IPAllocations: its
// callbacks run one at a time, in revision order, and judge inside.
//
// A callback that fails breaks the feed for good: nothing is judged any more and the process ends,
// because a reflector only logs such an error and would go on with a gap.
type feed struct {
	// failed gets the error that broke the feed.
	failed chan error
	synced chan struct{}

	mu      sync.Mutex
	book    *book.Book
	waiters map[types.NamespacedName][]*waiter
	broken  error
}

func newFeed(b *book.Book) *feed {
	return &feed{
		failed:  make(chan error, 1),
		synced:  make(chan struct{}),
		book:    b,
		waiters: map[types.NamespacedName][]*waiter{},
	}
}

// lock locks the book, and returns what unlocks it.
func (f *feed) lock() (unlock func()) {
	f.mu.Lock()
	return f.mu.Unlock
}

// ask asks the book one question, under its lock.
func ask[A, R any](f *feed, question func(*book.Book, A) R, about A) R {
	defer f.lock()()
	return question(f.book, about)
}

// ask2 does so where there are two answers.
func ask2[A, R, S any](f *feed, question func(*book.Book, A) (R, S), about A) (R, S) {
	defer f.lock()()
	return question(f.book, about)
}

// Add implements cache.ReflectorStore.
func (f *feed) Add(obj any) error { return f.apply(obj, f.upsert) }

// Update implements cache.ReflectorStore.
func (f *feed) Update(obj any) error { return f.apply(obj, f.upsert) }

// Delete implements cache.ReflectorStore.
func (f *feed) Delete(obj any) error { return f.apply(obj, f.forget) }

// Resync implements cache.ReflectorStore; there is nothing to resync.
func (f *feed) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (f *feed) Bookmark(version string) error {
	defer f.lock()()
	f.guard(f.book.Advance(version))
	return nil
}

// Replace implements cache.ReflectorStore: one swap, after which every waiter can be told what
// became of its record.
func (f *feed) Replace(objs []any, version string) error {
	defer f.lock()()
	if f.broken != nil {
		return nil
	}
	err := f.book.Replace(objs, version)
	if err == nil {
		f.settle(version)
	}
	f.guard(err)
	return nil
}

func (f *feed) apply(obj any, change func(*ipamv1.IPAllocation) error) error {
	defer f.lock()()
	if f.broken != nil {
		return nil
	}
	allocation, ok := obj.(*ipamv1.IPAllocation)
	if !ok {
		f.guard(fmt.Errorf("watching IPAllocations: got a %T", obj))
		return nil
	}
	err := f.book.Advance(allocation.ResourceVersion)
	if err == nil {
		err = change(allocation)
	}
	f.guard(err)
	return nil
}

// guard breaks the feed on the first error. The callbacks return none: a reflector would only log
// it.
func (f *feed) guard(err error) {
	if err == nil || f.broken != nil {
		return
	}
	f.broken = err
	for _, waiters := range f.waiters {
		for _, w := range waiters {
			w.signal()
		}
	}
	f.failed <- err
}

func (f *feed) upsert(a *ipamv1.IPAllocation) error {
	r, err := f.book.Upsert(a)
	if err == nil {
		f.judgeFor(r)
	}
	return err
}

func (f *feed) forget(a *ipamv1.IPAllocation) error {
	f.book.Forget(a)
	f.missed(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, a.ResourceVersion)
	return nil
}

// settle notifies every waiter of what a list, which the book shows now, says of its record.
func (f *feed) settle(version string) {
	for key := range f.waiters {
		if r := f.book.Named(key); r != nil {
			f.judgeFor(r)
		} else {
			f.missed(key, version)
		}
	}
	if f.isSynced() {
		relists.Inc()
	} else {
		close(f.synced)
	}
}

// isSynced says whether there has been a list.
func (f *feed) isSynced() bool {
	select {
	case <-f.synced:
		return true
	default:
		return false
	}
}

// failure returns what broke the feed, if anything has: then nothing in the book may be told to a
// claim.
func (f *feed) failure() error {
	defer f.lock()()
	return f.broken
}

func (f *feed) revision() string {
	defer f.lock()()
	return f.book.Revision()
}

// notBefore breaks the feed when a write was answered with a revision older than what the watch had
// shown before it.
func (f *feed) notBefore(before, reply string) error {
	if before == "" {
		return nil
	}
	order, err := resourceversion.CompareResourceVersion(reply, before)
	if err == nil && order > 0 {
		return nil
	}
	defer f.lock()()
	f.guard(fmt.Errorf("a write was answered with revision %s after the watch had shown %s: the API server's storage was restored", reply, before))
	return f.broken
}

// recordOf is RecordOf of the book.
func (f *feed) recordOf(c book.Claim, stuck types.UID) (*records.Record, *book.Holding) {
	defer f.lock()()
	return f.book.RecordOf(c, stuck)
}

// leftBehind is LeftBehind of the book.
func (f *feed) leftBehind(c book.Claim, r *records.Record) (book.Holding, bool) {
	defer f.lock()()
	return f.book.LeftBehind(c, r)
}

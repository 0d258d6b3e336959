// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// errDied is what a write of a dead manager comes to.
var errDied = errors.New("the manager has died")

// failure is what becomes of a write.
type failure int

const (
	// neverSent: the manager dies just before the write.
	neverSent failure = iota
	// replyLost: the write goes through, and the manager dies before it hears of it.
	replyLost
	// hanging: the write goes through, and no answer ever comes.
	hanging
)

func (f failure) String() string {
	return [...]string{"dies before it", "dies after it", "never hears of it"}[f]
}

// faults is what goes wrong between a ledger and the API server.
type faults struct {
	mu   sync.Mutex
	dead bool
	// writes counts those that were begun; the one of number at fails, and with it all later ones.
	writes, at int
	how        failure
	// before is called before each write, with its number and object.
	before func(n int, obj client.Object)
	// gate is closed while events pass.
	gate    chan struct{}
	watches []*heldWatch
	expired int
}

func newFaults() *faults {
	f := &faults{gate: make(chan struct{})}
	close(f.gate)
	return f
}

func (f *faults) wrap(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return f.write(ctx, obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return f.write(ctx, obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return f.write(ctx, obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return f.write(ctx, obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			if f.isExpired() {
				return nil, apierrors.NewResourceExpired("the history was compacted")
			}
			w, err := c.Watch(ctx, list, opts...)
			if err != nil {
				return nil, err
			}
			return f.hold(w), nil
		},
	})
}

// failAt lets the n-th write from now on fail, and all after it.
func (f *faults) failAt(n int, how failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes, f.at, f.how = 0, n, how
}

// die lets no write through any more.
func (f *faults) die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

// begun returns how many writes were begun.
func (f *faults) begun() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// onWrite has a function called before each write.
func (f *faults) onWrite(before func(n int, obj client.Object)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes, f.before = 0, before
}

func (f *faults) write(ctx context.Context, obj client.Object, send func() error) error {
	f.mu.Lock()
	f.writes++
	n, before := f.writes, f.before
	dead, fails, how := f.dead, n == f.at, f.how
	f.dead = f.dead || fails
	f.mu.Unlock()
	if dead {
		return errDied
	}
	if before != nil {
		before(n, obj)
	}
	if !fails {
		return send()
	}
	switch how {
	case replyLost:
		return errors.Join(send(), errDied)
	case hanging:
		err := send()
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	default:
		return errDied
	}
}

// fallBehind holds the watch's events back until catchUp.
func (f *faults) fallBehind() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate = make(chan struct{})
}

// catchUp lets them pass, if they do not yet.
func (f *faults) catchUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.gate:
	default:
		close(f.gate)
	}
}

func (f *faults) opened() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gate
}

// cut ends all watches. If the history is gone meanwhile, they cannot go on from where they were.
func (f *faults) cut(historyGone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if historyGone {
		f.expired++
	}
	for _, w := range f.watches {
		w.Stop()
	}
	f.watches = nil
}

func (f *faults) isExpired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.expired == 0 {
		return false
	}
	f.expired--
	return true
}

// heldWatch passes events on while the gate is open.
type heldWatch struct {
	watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func (w *heldWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *heldWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

func (f *faults) hold(inner watch.Interface) watch.Interface {
	w := &heldWatch{Interface: inner, events: make(chan watch.Event), stopped: make(chan struct{})}
	f.mu.Lock()
	f.watches = append(f.watches, w)
	f.mu.Unlock()
	go func() {
		defer close(w.events)
		for event := range inner.ResultChan() {
			select {
			case <-f.opened():
			case <-w.stopped:
				return
			}
			select {
			case w.events <- event:
			case <-w.stopped:
				return
			}
		}
	}()
	return w
}

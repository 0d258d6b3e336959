// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

const (
	// pace is how often a pool's line moves.
	pace = 100 * time.Millisecond
	// longestBatch is how many of a line are woken at once.
	longestBatch = 512
	// patience is for how many paces a line waits for the queue to empty.
	patience = 10
)

// Waits says what a claim that has nothing yet waits for.
type Waits int

const (
	// ForAnything: whatever happens to the pool, the claim is looked at.
	ForAnything Waits = iota
	// ForRoom: it was told that the pool is exhausted, and asks for nothing in particular. Such claims stand in line.
	ForRoom
	// ForOthers: somebody has what it asks for.
	ForOthers
)

// queue is the controller's.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// line is who waits for room in one pool, whose turn is next first: the oldest, and at the end those who have been woken and could not be
// served: paused, or not allowed to have it. What is freed wakes as many as it can serve. If there is room still when they have had their
// chance, the next ones are woken, twice as many each time, until there is none or all have been woken. So nobody is forgotten:
//
//	there is room and nobody takes it      all are woken, in a time that grows with the logarithm of their number at first
//	it is being handed out                 the line waits: that may come to nothing
//	there is none                          whatever ends that frees the pool again
type line struct {
	waiting []reconcile.Request
	// left is how many have not been woken since the pool was freed.
	left int
	// batch is how many are woken next, and waited for how many paces that has been put off.
	batch, waited int
	// freed: the pool has been freed and nobody has looked yet who waits.
	freed bool
}

// join takes who waits now, the oldest first, into the line, and has it move. Who stands in it keeps his place. If somebody has left it, those
// who are next can be served, and no more are woken than there is room for.
func (l *line) join(now []reconcile.Request) {
	waits := make(map[reconcile.Request]bool, len(now))
	for _, request := range now {
		waits[request] = true
	}
	stood := len(l.waiting)
	l.waiting = slices.DeleteFunc(l.waiting, func(r reconcile.Request) bool {
		stays := waits[r]
		delete(waits, r)
		return !stays
	})
	if len(l.waiting) < stood {
		l.batch = 0
	}
	for _, request := range now {
		if waits[request] {
			l.waiting = append(l.waiting, request)
		}
	}
	l.left, l.freed = len(l.waiting), false
}

// next returns who is woken now. It takes for how many the pool has room, or why it has none, and how many the controller has still to
// look at.
func (l *line) next(room int, none error, queued int) []reconcile.Request {
	switch {
	case errors.Is(none, ledger.ErrBusy):
		return nil
	case none != nil:
		l.left, l.batch, l.waited = 0, 0, 0
		return nil
	case queued > 0 && l.waited < patience:
		l.waited++
		return nil
	}
	n := min(max(room, l.batch), longestBatch, l.left)
	woken := slices.Clone(l.waiting[:n])
	l.waiting = append(l.waiting[n:], woken...)
	l.left, l.batch, l.waited = l.left-n, 2*n, 0
	if l.left == 0 {
		l.batch = 0
	}
	return woken
}

// lines are those of the pools that somebody waits for.
type lines struct {
	Claims

	queue queue
	of    map[ipamv1.PoolReference]*line
}

// follow wakes whom the ledger has news for, until ctx ends.
func (l *lines) follow(ctx context.Context, freed <-chan ipamv1.PoolReference, concerned <-chan ipamv1.ClaimReference) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case pool := <-freed:
			l.free(ctx, pool)
		case claim := <-concerned:
			if claim.Kind == l.Kind && predicates.IsServed(claim.Namespace, l.Namespace) {
				l.queue.Add(requestFor(claim.Namespace, claim.Name))
			}
		case <-ticker.C:
			for pool := range l.of {
				l.move(ctx, pool)
			}
		}
	}
}

// free notes that a pool was freed. Where nobody stood in line, who waits is looked up at once.
func (l *lines) free(ctx context.Context, pool ipamv1.PoolReference) {
	if of, ok := l.of[pool]; ok {
		of.freed = true
		return
	}
	l.of[pool] = &line{freed: true}
	l.move(ctx, pool)
}

// move wakes who is next in a pool's line.
func (l *lines) move(ctx context.Context, pool ipamv1.PoolReference) {
	of := l.of[pool]
	if of.freed {
		of.join(l.lookUp(ctx, pool))
	} else if len(of.waiting) == 0 {
		delete(l.of, pool)
	}
	if of.left == 0 {
		return
	}
	room, none := l.Ledger.Room(pool, longestBatch)
	for _, request := range of.next(room, none, l.queue.Len()) {
		l.queue.Add(request)
	}
}

// lookUp wakes who waits for the pool and does not stand in line, and returns who does, the oldest first.
func (l *lines) lookUp(ctx context.Context, pool ipamv1.PoolReference) []reconcile.Request {
	type standing struct {
		request reconcile.Request
		since   metav1.Time
	}
	var found []standing
	err := l.eachWaiting(ctx, pool, func(claim client.Object) {
		request := requestFor(claim.GetNamespace(), claim.GetName())
		switch l.waitsFor(claim) {
		case ForAnything:
			l.queue.Add(request)
		case ForRoom:
			found = append(found, standing{request, claim.GetCreationTimestamp()})
		case ForOthers:
		}
	})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Finding claims that wait", "kind", l.Kind)
	}
	slices.SortFunc(found, func(a, b standing) int {
		return cmp.Or(a.since.Compare(b.since.Time), strings.Compare(a.request.String(), b.request.String()))
	})
	requests := make([]reconcile.Request, 0, len(found))
	for _, f := range found {
		requests = append(requests, f.request)
	}
	return requests
}

func (c Claims) waitsFor(claim client.Object) Waits {
	if c.Waits == nil {
		return ForAnything
	}
	return c.Waits(claim)
}

// eachWaiting does something with the claims that wait for a pool, which must not be changed.
func (c Claims) eachWaiting(ctx context.Context, pool ipamv1.PoolReference, do func(client.Object)) error {
	if !predicates.IsServed(pool.Namespace, c.Namespace) {
		return nil
	}
	var errs []error
	for _, key := range []string{keyOf(pool.Kind, pool.Name), anyPool} {
		errs = append(errs, c.each(ctx, func(claim metav1.Object) {
			if obj, ok := claim.(client.Object); ok {
				do(obj)
			}
		}, client.InNamespace(pool.Namespace), client.MatchingFields{WaitingIndex: key}))
	}
	return errors.Join(errs...)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

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
	// pace is how often a pool's waitlist moves.
	pace = 100 * time.Millisecond
	// longestBatch is how many claims of a waitlist are woken at once.
	longestBatch = 512
	// patience is for how many paces a waitlist waits until the queue is empty.
	patience = 10
)

// Waits says what a claim that has nothing yet waits for.
type Waits int

const (
	// ForAnything: whatever happens to the pool, the claim is looked at.
	ForAnything Waits = iota
	// ForRoom: its Ready says that the pool is exhausted, and it asks for no certain prefix. Such claims are on the waitlist.
	ForRoom
	// ForOthers: another claim has what it asks for, or what it waits for is no room.
	ForOthers
)

// queue is the controller's.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// waitlist is the claims that wait for room in one pool, in the order in which they are woken: the oldest first, at the end those that
// were woken and could not be served (paused, or not entitled). A prefix that is freed wakes as many claims as it can serve. If there is
// still room when they were reconciled, the next claims are woken, twice as many each time, until there is no room or all were woken. So
// no claim is forgotten:
//
//	there is room and no claim takes it    all are woken, in a time that grows with the logarithm of their number at first
//	the room is being handed out           the waitlist waits: that may fail
//	there is no room                       whatever ends that frees the pool again
type waitlist struct {
	waiting []reconcile.Request
	// left is how many have not been woken since the pool was freed.
	left int
	// batch is how many claims are woken next, and waited for how many paces that was postponed.
	batch, waited int
	// freed: the pool was freed, and the claims that wait were not listed yet.
	freed bool
}

// join sets the waitlist to the claims that wait now, the oldest first, and starts waking them. A claim that is on it keeps its place. If
// a claim has left it, the next claims can be served, and no more are woken than there is room for.
func (l *waitlist) join(now []reconcile.Request) {
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

// next returns the claims that are woken now. It takes the number that the pool has room for, or why it has none, and how many claims the
// controller has queued.
func (l *waitlist) next(room int, none error, queued int) []reconcile.Request {
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

// waitlists are those of the pools that claims wait for.
type waitlists struct {
	Claims

	queue queue
	of    map[ipamv1.PoolReference]*waitlist
}

// follow wakes the claims that the ledger's notifications are about, until ctx ends.
func (l *waitlists) follow(ctx context.Context, freed <-chan ipamv1.PoolReference, concerned <-chan ipamv1.ClaimReference) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case pool := <-freed:
			l.free(ctx, pool)
		case claim := <-concerned:
			if claim.GroupKind() == l.GroupKind && predicates.IsServed(claim.Namespace, l.Namespace) {
				l.queue.Add(requestFor(claim.Namespace, claim.Name))
			}
		case <-ticker.C:
			for pool := range l.of {
				l.move(ctx, pool)
			}
		}
	}
}

// free notes that a pool was freed. If its waitlist is empty, the claims that wait are listed at once.
func (l *waitlists) free(ctx context.Context, pool ipamv1.PoolReference) {
	if of, ok := l.of[pool]; ok {
		of.freed = true
		return
	}
	l.of[pool] = &waitlist{freed: true}
	l.move(ctx, pool)
}

// move wakes the next claims on a pool's waitlist.
func (l *waitlists) move(ctx context.Context, pool ipamv1.PoolReference) {
	of := l.of[pool]
	if of.freed {
		of.join(l.lookUp(ctx, pool))
	} else if len(of.waiting) == 0 {
		delete(l.of, pool)
	}
	if of.left == 0 {
		return
	}
	room, none := l.Ledger.Of(pool).Room(longestBatch)
	for _, request := range of.next(room, none, l.queue.Len()) {
		l.queue.Add(request)
	}
}

// lookUp wakes the claims that wait for the pool and are not on its waitlist, and returns those that are, the oldest first.
func (l *waitlists) lookUp(ctx context.Context, pool ipamv1.PoolReference) []reconcile.Request {
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
		ctrl.LoggerFrom(ctx).Error(err, "Finding claims that wait", "kind", l.GroupKind.String())
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
	for _, key := range []string{PoolKey(pool), anyPool} {
		errs = append(errs, c.each(ctx, func(claim metav1.Object) {
			if obj, ok := claim.(client.Object); ok {
				do(obj)
			}
		}, client.InNamespace(pool.Namespace), client.MatchingFields{WaitingIndex: key}))
	}
	return errors.Join(errs...)
}

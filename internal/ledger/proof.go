// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// roundInterval is the least time between two proofs of currency.
const roundInterval = 250 * time.Millisecond

// proofTimeout bounds one proof of currency.
const proofTimeout = 10 * time.Second

// provePage is how many records are listed at once where a proof needs a list.
const provePage = 500

// prover proves that the book is current.
type prover struct {
	writer
	notify *Notices
	rounds rounds
}

// rounds shares one proof of currency among all requests that asked before it began.
type rounds struct {
	mu      sync.Mutex
	next    *round
	running bool
}

// round is one proof for the pools of all who asked. The other fields may be read once done is
// closed.
type round struct {
	pools map[ipamv1.PoolReference]bool
	done  chan struct{}
	// revision is one that the book has reached, and that is later than every request of the round.
	revision string
	err      error
}

// wait returns the revision that was proved.
func (r *round) wait(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-r.done:
		return r.revision, r.err
	}
}

// join returns the round that begins next. When it ends, the book holds every record that was
// created before the call: a block of a pool is changed in an annotation, and the watch shows that.
// A consistent read would tell the API server's revision, but a book cannot tell that it has
// reached a revision at which nothing happened to its own type (docs/adr/0002).
func (l *prover) join(ctx context.Context, pool ipamv1.PoolReference) *round {
	l.rounds.mu.Lock()
	defer l.rounds.mu.Unlock()
	if l.rounds.next == nil {
		l.rounds.next = &round{pools: map[ipamv1.PoolReference]bool{}, done: make(chan struct{})}
	}
	l.rounds.next.pools[pool] = true
	if !l.rounds.running {
		l.rounds.running = true
		go l.runRounds(context.WithoutCancel(ctx))
	}
	return l.rounds.next
}

// runRounds runs rounds until nobody waits for one. Who asked and did not wait is told by Freed.
func (l *prover) runRounds(ctx context.Context) {
	for r := l.begin(); r != nil; r = l.begin() {
		rest := time.After(roundInterval)
		r.revision, r.err = l.proveOnce(ctx, r.pools)
		close(r.done)
		switch {
		case r.err == nil:
			for pool := range r.pools {
				l.notify.freed.add(pool)
			}
		case !errors.Is(r.err, ErrNotReady): // without a block there is a list (proveByList)
			klog.FromContext(ctx).Error(r.err, "Proving that the ledger's index is current")
		}
		<-rest
	}
}

// begin takes the next round out of reach of later requests. Nil ends the run.
func (l *prover) begin() *round {
	l.rounds.mu.Lock()
	defer l.rounds.mu.Unlock()
	r := l.rounds.next
	l.rounds.next = nil
	l.rounds.running = r != nil
	return r
}

// proveOnce returns a revision made after the call, once the book has reached it.
func (l *prover) proveOnce(ctx context.Context, pools map[ipamv1.PoolReference]bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	proofs.Inc()
	err := fmt.Errorf("no pool has a confirmed block: %w", ErrNotReady)
	for _, block := range ask(l.feed, (*book.Book).Witnesses, pools) {
		var revision string
		if revision, err = l.touchAndSee(ctx, block.Identity); err == nil {
			return revision, nil
		}
	}
	return "", err
}

// proveByList does what a proof does where no pool serves as far as the book knows, so that there
// is nothing to change: it errs with ErrBusy while there are records that the book lacks.
func (l *prover) proveByList(ctx context.Context) error {
	next := ""
	for {
		page := &ipamv1.IPAllocationList{}
		if err := l.client.List(ctx, page, client.Limit(provePage), client.Continue(next)); err != nil {
			return fmt.Errorf("listing IPAllocations: %w", err)
		}
		for i := range page.Items {
			if !ask(l.feed, (*book.Book).HasSeen, &page.Items[i]) {
				return fmt.Errorf("record %s/%s has not been seen yet: %w", page.Items[i].Namespace, page.Items[i].Name, ErrBusy)
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// touchAndSee changes a record and returns the revision that this made, once the book shows it.
func (l *prover) touchAndSee(ctx context.Context, block records.Identity) (string, error) {
	w := l.feed.lookFor(block.Key)
	defer l.feed.dismiss(w)
	id, err := l.touch(ctx, block)
	if err != nil {
		return "", err
	}
	_, err = l.feed.await(ctx, w, id)
	return id.Version, err
}

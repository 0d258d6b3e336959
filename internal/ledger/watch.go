// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// roundInterval is the least time between two proofs of currency.
const roundInterval = 250 * time.Millisecond

// watchRetry and watchRetryMax are how soon a broken watch is begun anew. Nothing is judged meanwhile, so that the reflector's
// own half minute would be too long.
const (
	watchRetry    = 50 * time.Millisecond
	watchRetryMax = 2 * time.Second
)

// proofTimeout bounds one proof of currency.
const proofTimeout = 10 * time.Second

// rounds shares one proof of currency among all requests that asked before it began.
type rounds struct {
	mu      sync.Mutex
	next    *round
	running bool
}

type round struct {
	pool ipamv1.PoolReference
	done chan struct{}
	err  error
}

// prove returns once the index holds every record that was created before the call. It changes a block of the pool in an
// annotation and waits for the watch to show that: a consistent read would tell the API server's revision, but an index
// cannot tell that it has reached a revision at which nothing happened to its own type (docs/adr/0002).
func (l *Ledger) prove(ctx context.Context, pool ipamv1.PoolReference) error {
	r := l.join(ctx, pool)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.done:
		return r.err
	}
}

// join returns the round that begins next.
func (l *Ledger) join(ctx context.Context, pool ipamv1.PoolReference) *round {
	l.rounds.mu.Lock()
	defer l.rounds.mu.Unlock()
	if l.rounds.next == nil {
		l.rounds.next = &round{pool: pool, done: make(chan struct{})}
	}
	if !l.rounds.running {
		l.rounds.running = true
		go l.runRounds(context.WithoutCancel(ctx))
	}
	return l.rounds.next
}

// runRounds runs rounds until nobody waits for one.
func (l *Ledger) runRounds(ctx context.Context) {
	for r := l.begin(); r != nil; r = l.begin() {
		rest := time.After(roundInterval)
		r.err = l.proveOnce(ctx, r.pool)
		close(r.done)
		<-rest
	}
}

// begin takes the next round out of reach of later requests. Nil ends the run.
func (l *Ledger) begin() *round {
	l.rounds.mu.Lock()
	defer l.rounds.mu.Unlock()
	r := l.rounds.next
	l.rounds.next = nil
	l.rounds.running = r != nil
	return r
}

func (l *Ledger) proveOnce(ctx context.Context, pool ipamv1.PoolReference) error {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	proofs.Inc()
	for _, block := range l.index.blocksOf(pool) {
		if !block.confirmed || block.terminating {
			continue
		}
		w := l.index.expect(block.key)
		defer l.index.dismiss(w)
		id, err := l.touch(ctx, block)
		if err != nil {
			return err
		}
		_, err = l.index.await(ctx, w, id)
		return err
	}
	return fmt.Errorf("no block of the pool is confirmed: %w", ErrNotReady)
}

// Start follows IPAllocations until ctx ends, and returns an error as soon as the index cannot be trusted any more: the
// process must end then.
func (l *Ledger) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reflector := cache.NewReflectorWithOptions(l.listWatch(), &ipamv1.IPAllocation{}, l.index, cache.ReflectorOptions{
		Name:    "ledger",
		Backoff: &wait.Backoff{Duration: watchRetry, Factor: 2, Jitter: 0.5, Steps: 10, Cap: watchRetryMax},
	})
	go reflector.RunWithContext(ctx)
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return fmt.Errorf("following IPAllocations: %w", err)
	}
}

// NeedLeaderElection is false: the index of a replica that does not lead must be current too.
func (l *Ledger) NeedLeaderElection() bool { return false }

// WaitForSync returns once the index holds every record, or ctx ends.
func (l *Ledger) WaitForSync(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.index.synced:
		return nil
	}
}

// errNotSynced is what the readiness check says until then.
var errNotSynced = errors.New("the ledger has not read all IPAllocations yet")

// Synced errs until the index holds every record, and again when it is broken.
func (l *Ledger) Synced() error {
	select {
	case <-l.index.synced:
	default:
		return errNotSynced
	}
	return l.index.failure()
}

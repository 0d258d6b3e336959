// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// provePage is how many records are listed at once where a proof needs a list.
const provePage = 500

// rounds shares one proof of currency among all requests that asked before it began.
type rounds struct {
	mu      sync.Mutex
	next    *round
	running bool
}

// round is one proof for the pools of all who asked. The other fields may be read once done is closed.
type round struct {
	pools map[ipamv1.PoolReference]bool
	done  chan struct{}
	// revision is one that the index has reached, and that is later than every request of the round.
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

// join returns the round that begins next. When it ends, the index holds every record that was created before the call: a
// block of a pool is changed in an annotation, and the watch shows that. A consistent read would tell the API server's
// revision, but an index cannot tell that it has reached a revision at which nothing happened to its own type
// (docs/adr/0002).
func (l *Ledger) join(ctx context.Context, pool ipamv1.PoolReference) *round {
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
func (l *Ledger) runRounds(ctx context.Context) {
	for r := l.begin(); r != nil; r = l.begin() {
		rest := time.After(roundInterval)
		r.revision, r.err = l.proveOnce(ctx, r.pools)
		close(r.done)
		if r.err != nil {
			klog.FromContext(ctx).Error(r.err, "Proving that the ledger's index is current")
		} else {
			for pool := range r.pools {
				l.freed.add(pool)
			}
		}
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

// proveOnce returns a revision made after the call, once the index has reached it.
func (l *Ledger) proveOnce(ctx context.Context, pools map[ipamv1.PoolReference]bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	proofs.Inc()
	err := fmt.Errorf("no pool has a confirmed block: %w", ErrNotReady)
	for _, block := range l.index.witnesses(pools) {
		var revision string
		if revision, err = l.touchAndSee(ctx, block.Identity); err == nil {
			return revision, nil
		}
	}
	return "", err
}

// witnesses returns what a proof may change: the confirmed blocks of the pools, or of another one where they have none that is known
// here. Nobody else changes those.
func (x *index) witnesses(pools map[ipamv1.PoolReference]bool) []*records.Record {
	found := make([]*records.Record, 0, len(pools))
	for pool := range pools {
		found = append(found, x.confirmedOf(pool)...)
	}
	if len(found) > 0 {
		return found
	}
	return x.confirmedOf(x.anyServing())
}

func (x *index) confirmedOf(pool ipamv1.PoolReference) []*records.Record {
	return slices.DeleteFunc(x.blocksOf(pool), func(r *records.Record) bool { return !r.Confirmed })
}

// anyServing returns a pool that hands out prefixes; the zero value if none does.
func (x *index) anyServing() ipamv1.PoolReference {
	x.mu.Lock()
	defer x.mu.Unlock()
	for ref, e := range x.pools {
		if len(e.serving) > 0 {
			return ref
		}
	}
	return ipamv1.PoolReference{}
}

// proveByList does what a proof does where no pool serves as far as the index knows, so that there is nothing to change: it errs with
// ErrBusy while there are records that the index lacks.
func (l *Ledger) proveByList(ctx context.Context) error {
	next := ""
	for {
		page := &ipamv1.IPAllocationList{}
		if err := l.client.List(ctx, page, client.Limit(provePage), client.Continue(next)); err != nil {
			return fmt.Errorf("listing IPAllocations: %w", err)
		}
		for i := range page.Items {
			if !l.index.hasSeen(&page.Items[i]) {
				return fmt.Errorf("record %s/%s has not been seen yet: %w", page.Items[i].Namespace, page.Items[i].Name, ErrBusy)
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// hasSeen says whether the watch has shown the record, which may have gone since.
func (x *index) hasSeen(a *ipamv1.IPAllocation) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.records.At(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}); r != nil && r.UID == a.UID {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(x.version, a.ResourceVersion)
	return err == nil && order >= 0
}

// touchAndSee changes a record and returns the revision that this made, once the index shows it.
func (l *Ledger) touchAndSee(ctx context.Context, block records.Identity) (string, error) {
	w := l.index.lookFor(block.Key)
	defer l.index.dismiss(w)
	id, err := l.touch(ctx, block)
	if err != nil {
		return "", err
	}
	_, err = l.index.await(ctx, w, id)
	return id.Version, err
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

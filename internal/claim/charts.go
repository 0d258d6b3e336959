// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// Charts say of which pools every answer is recorded, once in the life of this process for each spec of a pool: what the pool did not contain
// before could not be recorded. Claims of several forms may name one pool: the answers of all of them are.
type Charts struct {
	mu sync.Mutex
	// parts are of one form each.
	parts []part
	done  map[ipamv1.PoolReference]charted
	busy  map[ipamv1.PoolReference]bool
}

// part records the answers of one form: all that the cache shows, or all that the API server does.
type part struct{ known, stored recording }

type recording func(context.Context, ipamv1.PoolReference) error

// charted is the pool, and its spec, of which every answer is recorded.
type charted struct {
	uid        types.UID
	generation int64
}

// covers says whether it was of this very pool, and of no older spec.
func (c charted) covers(of charted) bool { return c.uid == of.uid && c.generation >= of.generation }

// add has the answers of a further form recorded, also of pools of which those of the others are.
func (c *Charts) add(p part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts = append(c.parts, p)
	c.done = nil
}

// begin returns what is left to do, nil if nothing is. If another goroutine is at it, it errs with ErrBusy.
func (c *Charts) begin(pool ipamv1.PoolReference, of charted) (parts []part, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.done[pool].covers(of):
		return nil, nil
	case c.busy[pool]:
		return nil, fmt.Errorf("recording the IPAddresses of %s %s: %w", pool.Kind, pool.Name, ledger.ErrBusy)
	case c.busy == nil:
		c.busy = map[ipamv1.PoolReference]bool{}
	}
	c.busy[pool] = true
	return slices.Clone(c.parts), nil
}

// end is for when so many parts are done.
func (c *Charts) end(pool ipamv1.PoolReference, of charted, parts int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, pool)
	if err == nil && parts == len(c.parts) {
		if c.done == nil {
			c.done = map[ipamv1.PoolReference]charted{}
		}
		c.done[pool] = of
	}
}

// chart sees to it that every answer of a pool is recorded before this process hands out the first address of the pool, as its spec is,
// afresh: they may have been restored while nobody looked. It reads the cache alone. One that cannot be recorded holds the pool back, and no other.
func (r *records) chart(ctx context.Context, s *scope) error {
	pool, of := s.offer.Pool, charted{s.offer.Owner.UID, s.offer.Generation}
	parts, err := r.Charts.begin(pool, of)
	if len(parts) == 0 || err != nil {
		return err
	}
	err = errors.New("it did not come to an end")
	defer func() { r.Charts.end(pool, of, len(parts), err) }()
	errs := make([]error, 0, len(parts))
	for _, part := range parts {
		errs = append(errs, part.known(ctx, pool))
	}
	err = errors.Join(errs...)
	return err
}

// Record has every answer of a pool recorded that is stored, whether or not that has been done before: its block is about to be handed back,
// for good, and the cache may be behind.
func (c *Charts) Record(ctx context.Context, pool ipamv1.PoolReference) error {
	c.mu.Lock()
	parts := slices.Clone(c.parts)
	c.mu.Unlock()
	errs := make([]error, 0, len(parts))
	for _, part := range parts {
		errs = append(errs, part.stored(ctx, pool))
	}
	return errors.Join(errs...)
}

func (r *records) secureKnown(ctx context.Context, pool ipamv1.PoolReference) error {
	if !r.Ledger.Of(pool).Serves() {
		return ledger.ErrNotReady
	}
	return r.eachAnswer(ctx, pool, r.secureFound, r.Client, client.MatchingFields{claimant.PoolIndex: claimant.PoolKey(pool)}, client.UnsafeDisableDeepCopy)
}

func (r *records) secureStored(ctx context.Context, pool ipamv1.PoolReference) error {
	return r.eachAnswer(ctx, pool, r.secureSurely, r.Live)
}

// eachAnswer does something with every answer of a pool that a reader lists, and errs with what became of the first few.
func (r *records) eachAnswer(
	ctx context.Context, pool ipamv1.PoolReference, do func(context.Context, *door.Answer) error, from client.Reader, options ...client.ListOption,
) error {
	answers := r.Form.Kinds().NewAnswerList()
	if err := from.List(ctx, answers, append(options, client.InNamespace(pool.Namespace))...); err != nil {
		return fmt.Errorf("listing %ss: %w", r.observer.answerKind(), err)
	}
	var errs []error
	err := meta.EachListItem(answers, func(item runtime.Object) error {
		answer, ok := item.(client.Object)
		if !ok || !slices.Contains(r.observer.poolKeys(answer), claimant.PoolKey(pool)) {
			return nil
		}
		if failed := do(ctx, r.observer.answerIn(answer)); failed != nil {
			errs = append(errs, fmt.Errorf("%s %s/%s is not recorded: %w", r.observer.answerKind(), answer.GetNamespace(), answer.GetName(), failed))
		}
		return nil
	})
	return errors.Join(append(errs[:min(len(errs), namedFailures)], err)...)
}

// secureFound secures an answer for its claim, if there is one.
func (r *records) secureFound(ctx context.Context, answer *door.Answer) error {
	_, err := r.secureLive(ctx, answer)
	return err
}

// secureSurely does so, and errs where the claim's pool cannot be asked, either.
func (r *records) secureSurely(ctx context.Context, answer *door.Answer) error {
	refused, err := r.secureLive(ctx, answer)
	if refused != nil {
		err = errors.Join(err, refused)
	}
	return err
}

// secureLive secures an answer. What is being deleted and has not just arrived is being released.
func (r *records) secureLive(ctx context.Context, answer *door.Answer) (*claimant.Refusal, error) {
	if !answer.GetDeletionTimestamp().IsZero() && !hasArrived(answer) {
		return nil, nil //nolint:nilnil // nothing was refused
	}
	claim, err := r.observer.getClaim(ctx, r.Client, r.Form.ClaimOf(answer.Stored))
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	return r.trySecure(ctx, answer, claim)
}

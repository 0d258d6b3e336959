// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// breaker keeps methods from a cloud that fails. It closes with an error of the cloud. Until its time everybody is told that error, and
// nothing is called. Then one is let through, the probe, which opens it or closes it for twice as long. The zero value is open. Its owner
// guards it.
type breaker struct {
	// failed is why it is closed; nil while it is open.
	failed *neutron.Error
	until  time.Time
	pauses wait.Backoff
	// isProbing: one was let through, and has not ended.
	isProbing bool
}

// The shortest and the longest time for which a breaker is closed, unless the cloud asks for longer.
const (
	shortestClosure         = 5 * time.Second
	shortestCreationClosure = retry
	longestClosure          = 5 * time.Minute
)

// pass is what a breaker has let through.
type pass struct{ isProbe bool }

// refusal returns why nothing is let through before the breaker's time; nil if there is no reason. Who is refused comes again as after any
// refusal: that costs the cloud nothing.
func (b *breaker) refusal(now time.Time) error {
	if b.failed == nil || !now.Before(b.until) {
		return nil
	}
	again := *b.failed
	again.RetryAfter = 0
	return &again
}

// enter lets one through, or errs. What was let through has to leave.
func (b *breaker) enter(now time.Time) (pass, error) {
	if err := b.refusal(now); err != nil {
		return pass{}, err
	}
	if b.isProbing {
		return pass{}, fmt.Errorf("another call finds out whether the cloud does better: %w", ledger.ErrBusy)
	}
	b.isProbing = b.failed != nil
	return pass{isProbe: b.isProbing}, nil
}

// leave takes over how that has ended: with a failure for which the breaker closes, for so long at least; with an answer of the cloud, or
// with none.
func (b *breaker) leave(p pass, failure *neutron.Error, isAnswered bool, shortest time.Duration, now time.Time) {
	if p.isProbe {
		b.isProbing = false
	}
	switch {
	case failure != nil && (b.failed == nil || p.isProbe):
		if b.failed == nil {
			b.pauses = wait.Backoff{Duration: shortest, Factor: 2, Steps: math.MaxInt, Cap: longestClosure} //nolint:mnd // it doubles
		}
		b.failed, b.until = failure, now.Add(max(b.pauses.Step(), failure.RetryAfter))
	case failure == nil && isAnswered && p.isProbe:
		b.failed = nil
	}
}

// closes returns an error for which no method of the account is run for a while: the cloud refuses the calls, or gives no answer of use. A
// log-in that failed has pauses of its own. What is forbidden counts if it is to read floating IPs: other pools may need nothing else.
func closes(err error) *neutron.Error {
	kind := neutron.KindOf(err)
	isRefused := kind == neutron.Forbidden && neutron.IsSearch(err)
	if neutron.IsLogIn(err) || !isRefused && !slices.Contains([]neutron.Kind{neutron.Unauthorized, neutron.Busy, neutron.Unavailable}, kind) {
		return nil
	}
	return faultOf(err)
}

// closesCreation returns an error for which nothing is created for a while for claims of the pool that have no record.
func closesCreation(err error) *neutron.Error {
	kind := neutron.KindOf(err)
	if isRefused := kind == neutron.Forbidden && neutron.IsChange(err); !isRefused && kind != neutron.Quota && kind != neutron.NoAddress {
		return nil
	}
	return faultOf(err)
}

// faultOf returns a failure of the cloud; nil for other errors, and if the caller's context had ended.
func faultOf(err error) *neutron.Error {
	if fault, isCloud := errors.AsType[*neutron.Error](err); isCloud && fault.Unwrap() == nil {
		return fault
	}
	return nil
}

// isAnswered reports whether the cloud has answered what it was asked last, be it with an error.
func isAnswered(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !neutron.IsLogIn(err) && neutron.KindOf(err) != neutron.Uncertain
}

// creation is what is known of creating floating IPs for the claims of a pool.
type creation struct {
	breaker breaker
	// without are the UIDs of claims that were searched for since it closed, and have nothing.
	without sets.Set[string]
}

// entry is what a claim was let through for.
type entry struct {
	pass pass
	// closed is why nothing is created, so that the claim only gets what is there; nil if something may be.
	closed error
}

// mayAcquire errs while nothing is created, if the claim is known to have nothing. Another one may have something of which no record tells: a
// manager has died, or the answer to its creation was lost. What it lets through has to leave by acquired.
func (c *cloud) mayAcquire(request external.Request, key string, now time.Time) (entry, error) {
	if request.IsRecorded || request.IsTold {
		return entry{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.creationOf(key)
	if closed := at.breaker.refusal(now); closed != nil && !at.without.Has(request.Claim.UID) {
		return entry{closed: closed}, nil
	}
	allowed, err := at.breaker.enter(now)
	return entry{pass: allowed}, err
}

// acquired takes over how that has ended for the claim of a UID.
func (c *cloud) acquired(e entry, key, uid string, err error, isAnswered bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.creationOf(key)
	if e.closed == nil {
		at.breaker.leave(e.pass, closesCreation(err), isAnswered && closes(err) == nil, shortestCreationClosure, now)
	}
	switch {
	case at.breaker.failed == nil:
		clear(at.without)
	case closesCreation(err) != nil:
		at.without.Insert(uid)
	case neutron.KindOf(err) == neutron.Uncertain:
		delete(at.without, uid)
	}
}

// freed forgets a claim that was given back. If that has freed anything, the claims of all pools of the account may acquire again.
func (c *cloud) freed(key, uid string, isAnything bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isAnything {
		clear(c.creations)
		return
	}
	delete(c.creationOf(key).without, uid)
}

// creationOf is for methods that hold the lock.
func (c *cloud) creationOf(key string) *creation {
	known := c.creations[key]
	if known == nil {
		known = &creation{without: sets.New[string]()}
		if c.creations == nil {
			c.creations = map[string]*creation{}
		}
		c.creations[key] = known
	}
	return known
}

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
// log-in that failed has pauses of its own. Nor does a change that is forbidden count here: others need not be.
func closes(err error) *neutron.Error {
	kind := neutron.KindOf(err)
	isRefused := kind == neutron.Forbidden && !neutron.IsChange(err)
	if neutron.IsLogIn(err) || !isRefused && !slices.Contains([]neutron.Kind{neutron.Unauthorized, neutron.Busy, neutron.Unavailable}, kind) {
		return nil
	}
	return faultOf(err)
}

// closesCreation returns an error for which nothing is acquired for a while by claims of the pool that have no record.
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

// mayAcquire errs while no claim of the pool gets anything that has nothing yet. What it lets through has to leave.
func (c *cloud) mayAcquire(request external.Request, key string, now time.Time) (pass, error) {
	if request.IsRecorded || request.IsTold {
		return pass{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.creationOf(key).enter(now)
}

// acquired takes over how that has ended.
func (c *cloud) acquired(p pass, key string, err error, isAnswered bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.creationOf(key).leave(p, closesCreation(err), isAnswered && closes(err) == nil, shortestCreationClosure, now)
}

// freed lets the claims of all pools of the account acquire again: something was given back.
func (c *cloud) freed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.creations)
}

// creationOf is for methods that hold the lock.
func (c *cloud) creationOf(key string) *breaker {
	known := c.creations[key]
	if known == nil {
		known = &breaker{}
		if c.creations == nil {
			c.creations = map[string]*breaker{}
		}
		c.creations[key] = known
	}
	return known
}

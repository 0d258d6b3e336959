// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// choose picks a prefix for the claim and marks it, so that no other goroutine of this process picks it too. The mark
// lasts until the waiter, registered for the record of that key, is dismissed.
func (x *index) choose(c Claim, key types.NamespacedName) (*waiter, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.redeem(c)
	e, cidr, err := x.find(c)
	if err != nil {
		return nil, err
	}
	return x.mark(e.pool.Space, e, cidr, c, key), nil
}

// find picks a prefix for the claim. What is asked for while an object is admitted comes before the API server has looked at the object's
// name: no row could hold one that is too long.
func (x *index) find(c Claim) (*poolEntry, netip.Prefix, error) {
	if (&records.Record{Claim: c.Ref}).IsTooLong() {
		return nil, netip.Prefix{}, fmt.Errorf("the claim's name has %d characters", len(c.Ref.Name))
	}
	e, ok := x.open(c)
	if !ok {
		return nil, netip.Prefix{}, ErrNotReady
	}
	cidr, err := x.pickKept(x.spaceOf(e.pool.Space), e, c)
	if errors.Is(err, allocator.ErrExhausted) {
		err = x.exhausted(e, c)
	}
	return e, cidr, err
}

// open returns the claim's pool, if it may be asked: it serves, or it is known and the claim has had already what it asks for. What
// arrives is recorded before its pool serves, so that nobody else gets it then; but not before it can be told whose blocks are around
// it. Blocks are what that is told by.
func (x *index) open(c Claim) (*poolEntry, bool) {
	e, ok := x.pools[c.Pool]
	if !ok || e.pool == nil || len(e.serving) > 0 {
		return e, ok && e.pool != nil
	}
	return e, c.hasArrived() && c.Want.IsValid() && (isBlock(c.Purpose) || x.isRooted(c.Pool, c.Want))
}

func (x *index) mark(s string, e *poolEntry, cidr netip.Prefix, c Claim, key types.NamespacedName) *waiter {
	mark := &records.Record{Role: tentative, CIDR: cidr, Space: s, Pool: e.ref, Claim: c.Ref, Purpose: c.Purpose}
	x.keepOut(mark)
	return x.expectLocked(key, mark)
}

func (x *index) pick(s *space, e *poolEntry, c Claim) (netip.Prefix, error) {
	r := request{
		Blocks:   e.serving,
		Own:      x.aboveAll(e),
		Bits:     c.Bits,
		Reserved: e.pool.Shape.Reserved,
	}
	if !c.Want.IsValid() {
		return x.fit(s, e, r)
	}
	if err := x.refuses(e, c); err != nil {
		return netip.Prefix{}, err
	}
	return c.Want, x.taken(s, e, c)
}

// fit finds a free prefix as the pool's strategy has it. Every strategy finds one if, and only if, first fit does.
func (x *index) fit(s *space, e *poolEntry, r request) (netip.Prefix, error) {
	switch e.pool.Shape.Strategy() {
	case pooltree.BestFit:
		return s.taken.BestFit(r)
	case pooltree.Random:
		return s.taken.RandomFit(r, x.random)
	case pooltree.LeastRecentlyUsed:
		return e.history.fit(&s.taken, r)
	default:
		return s.taken.FirstFit(r)
	}
}

// pickKept picks what the pool keeps for the claim, as if that had asked for it; what another request for its name has got; anything where
// there is neither.
func (x *index) pickKept(s *space, e *poolEntry, c Claim) (netip.Prefix, error) {
	own, ok := x.keptFor(e, c)
	if !ok || c.Want.IsValid() {
		if again, ok := x.firstTry(s, e, c); ok {
			return again, nil
		}
		return x.pick(s, e, c)
	}
	c.Want = own
	if _, err := x.pick(s, e, c); err != nil {
		return netip.Prefix{}, fmt.Errorf("the pool keeps %s for the claim: %w", own, err)
	}
	return own, nil
}

// keptFor returns what the pool keeps for the claim, or retains for it, if it hands that out still.
func (x *index) keptFor(e *poolEntry, c Claim) (netip.Prefix, bool) {
	if own, ok := e.pool.Shape.KeptFor(records.ClaimantOf(c.Ref)); ok {
		return own, true
	}
	retained, ok := x.retainedFor(e, c)
	c.Want = retained
	return retained, ok && x.refuses(e, c) == nil
}

// refuses says why the pool does not hand out to the claim what that asks for, even if nobody holds it. A claim that arrived
// with its answer overrides exclusions, bounds and what is kept for others: it has the address already, and what is not recorded
// would be handed out again.
func (x *index) refuses(e *poolEntry, c Claim) error {
	shape := e.pool.Shape
	if c.Purpose != ipamv1.AdoptedPurpose {
		for _, k := range shape.KeptIn(c.Want) {
			if k.For != records.ClaimantOf(c.Ref) {
				return &RefusedError{CIDR: c.Want, Reason: "is kept for another claim", Kept: k}
			}
		}
	}
	if reason, refused := refusal(shape, c); refused {
		return &RefusedError{CIDR: c.Want, Reason: reason}
	}
	if !c.overrides() && x.isWithheldAbove(e, c.Want) {
		return &RefusedError{CIDR: c.Want, Reason: "is kept back, or part of it, by a pool that this one was carved from"}
	}
	return nil
}

// overrides says whether the claim keeps what it came with although the pool does not hand it out any more.
func (c Claim) overrides() bool { return c.Purpose == ipamv1.AdoptedPurpose || c.Arrived }

// refusal says why the pool does not hand out to any claim, or not to this one, what nothing is kept in.
func refusal(shape *pooltree.Pool, c Claim) (reason string, refused bool) {
	if c.overrides() {
		return shape.RefusesAdopted(c.Want)
	}
	if reason, refused = shape.Refuses(c.Want); refused {
		return reason, true
	}
	own, isKept := shape.KeptFor(records.ClaimantOf(c.Ref))
	switch longest := shape.LongestBits(); {
	case isKept && c.Want != own:
		return fmt.Sprintf("the pool keeps %s for the claim, which gets nothing else", own), true
	case c.Want.Bits() > longest:
		return fmt.Sprintf("is longer than a /%d, the longest prefix that may be asked for", longest), true
	}
	return "", false
}

// taken says who holds an asked prefix, or that it may be free in a moment. What was handed out of a pool that arrives with its block, or
// whose record of it has gone, may have come before it.
func (x *index) taken(s *space, e *poolEntry, c Claim) error {
	asked := &records.Record{CIDR: c.Want, Pool: e.ref, Claim: c.Ref, Purpose: c.Purpose}
	isBack := c.Arrived || c.stored || x.hadBlock(asked)
	for _, h := range s.taken.Overlapping(c.Want) {
		r := x.records.Get(h)
		switch {
		case x.isAbove(r, e.ref, c.Want), r.Role == records.Stored && isBack && x.isAbove(asked, r.Pool, r.CIDR):
		case r.Role == records.Stored && isPredecessor(r, asked) && (!hasGone(r) || c.returnsTo(r)):
		case isOtherTry(r, asked):
		case r.Role == tentative, r.Role == promised:
			return ErrBusy
		case r.Role == records.Stored:
			return &TakenError{CIDR: c.Want, By: holdingOf(r)}
		}
	}
	return nil
}

// hadBlock says whether a carved pool of the name had the very same block before: what was handed out of it is in it still. It may have
// been restored past the webhooks, or be made again while claims keep its block.
func (x *index) hadBlock(asked *records.Record) bool {
	return asked.Purpose == ipamv1.ChildPoolPurpose && slices.ContainsFunc(x.records.Of(records.ClaimantOf(asked.Claim)), func(r *records.Record) bool {
		return !hasGone(r) && isPredecessor(r, asked)
	})
}

// errUnproved: nothing is free as far as the index knows, which may be older than the request.
var errUnproved = errors.New("not proved")

// exhausted says what it means that the pool has no room: nothing but what is certain may be called exhausted.
func (x *index) exhausted(e *poolEntry, c Claim) error {
	switch {
	case slices.ContainsFunc(x.records.Of(records.ClaimantOf(c.Ref)), func(r *records.Record) bool { return answers(r, c) }):
		return fmt.Errorf("the claim is recorded already: %w", ErrBusy)
	case x.contended(e):
		return fmt.Errorf("what is left is being handed out: %w", ErrBusy)
	case c.Revision == "":
		return errUnproved
	}
	order, err := resourceversion.CompareResourceVersion(x.version, c.Revision)
	if err == nil && order < 0 {
		return errUnproved
	}
	return cmp.Or(err, ErrExhausted)
}

// contended says whether something in the pool's blocks may yet come to nothing: a choice of another goroutine of this process, or
// what another manager has recorded lately.
func (x *index) contended(e *poolEntry) bool {
	if e.suspected != 0 && x.isRecent(e.suspected) {
		return true
	}
	for key, waiters := range x.waiters {
		isMarked := slices.ContainsFunc(waiters, func(w *waiter) bool { return w.mark != nil && x.isInTheWay(w.mark, e) })
		if isMarked && x.records.Find(key) == 0 {
			return true
		}
	}
	for promise := range x.promises {
		if x.isInTheWay(promise, e) {
			return true
		}
	}
	return false
}

// isInTheWay says whether the pool would have room where the mark is, if that came to nothing: it is the pool's own, or that of one that the
// pool was carved from meanwhile.
func (x *index) isInTheWay(mark *records.Record, e *poolEntry) bool {
	isAbove := e.pool.IsCarved() && x.poolOf(mark.Pool).children > 0
	return mark.Pool == e.ref || isAbove && slices.ContainsFunc(e.serving, func(block netip.Prefix) bool {
		return block.Overlaps(mark.CIDR) && x.isCarvedFrom(e.ref, mark.Pool, block)
	})
}

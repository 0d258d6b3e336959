// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
)

// What arrives with a prefix, moved or restored, may find that somebody else holds it. Neither is renumbered: both have a record, so
// that the prefix stays taken whichever of them goes first, and both are told. Such a pair is a dispute.

// IsArriving says whether a record has come here, from elsewhere or a backup, less than the grace ago, as far as this process knows:
// what it is held for may still be on its way.
func (l *Ledger) IsArriving(h Holding) bool { return h.arrived && l.index.isNew(h.seen) }

// Concerned returns a channel on which claims are named that should be looked at: a record has arrived under the claim's name, it
// holds what another one has arrived with, or Concern names it. Each caller has a channel of its own, on which nothing comes any more
// once ctx has ended.
func (l *Ledger) Concerned(ctx context.Context) <-chan ipamv1.ClaimReference {
	return l.concerned.subscribe(ctx)
}

// Concern names a claim on Concerned.
func (l *Ledger) Concern(claim ipamv1.ClaimReference) { l.concerned.add(claim) }

// Disputed returns an ErrTaken that says who else has, or arrived with, what the claim's record of this prefix holds; nil if nobody.
func (l *Ledger) Disputed(claim ipamv1.ClaimReference, first netip.Addr) error {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	for _, r := range l.index.records.Of(records.ClaimantOf(claim)) {
		if r.Claim.UID != claim.UID || r.CIDR.Addr() != first || r.Deleted || r.Released() || r.Purpose == ipamv1.MovedPurpose {
			continue
		}
		if by, ok := l.index.rivalTo(r); ok {
			return &TakenError{CIDR: r.CIDR, By: by}
		}
	}
	return nil
}

// OutsidePolicy returns a RefusedError that says why the pool would not hand out to the claim, or carved pool, what its record holds; nil if
// it would. What arrived with a prefix keeps it all the same, and so does what had it before the pool was changed.
func (l *Ledger) OutsidePolicy(claim ipamv1.ClaimReference) error {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	for _, r := range l.index.records.Of(records.ClaimantOf(claim)) {
		if r.Claim.UID != claim.UID || r.Deleted || r.Released() || r.Purpose == ipamv1.RootPurpose || r.Purpose == ipamv1.MovedPurpose {
			continue
		}
		e := l.index.poolOf(r.Pool)
		if e.pool == nil {
			continue
		}
		c := Claim{Ref: r.Claim, Pool: r.Pool, Want: r.CIDR, Purpose: r.Purpose}
		if c.Purpose == ipamv1.AdoptedPurpose {
			c.Purpose = ipamv1.ClaimPurpose
		}
		if err := l.index.refuses(e, c); err != nil {
			return err
		}
	}
	return nil
}

// dispute tells the claim that holds the prefix, and returns what the other one is told.
func (l *Ledger) dispute(claim ipamv1.ClaimReference, cidr netip.Prefix, by Holding) error {
	if by.Claim != claim {
		l.Concern(by.Claim)
	}
	return &TakenError{CIDR: cidr, By: by}
}

// holderOver returns a record that keeps this one from winning and is not just about to go.
func (x *index) holderOver(id records.Identity) (Holding, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.records.At(id.Key)
	if r == nil || r.UID != id.UID || r.Won {
		return Holding{}, false
	}
	v := x.judge(r)
	return v.by, v.outcome != won && !x.isRecent(v.by.seen)
}

// IsContested says whether somebody else has what the record holds, or part of it: an older record is there, so that this one has never
// won, or one of the two arrived. What a manager that died has recorded over it takes nothing from it.
func (l *Ledger) IsContested(h Holding) bool {
	x := l.index
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.records.At(h.version.Key)
	if r == nil || r.UID != h.version.UID {
		return false
	}
	_, hasRival := x.rivalTo(r)
	return hasRival || x.judge(r).outcome == lost
}

// rivalTo returns a record that overlaps r where one of the two arrived with its prefix: the claims of both stay as they are. Any
// other that overlaps is about to lose.
func (x *index) rivalTo(r *records.Record) (Holding, bool) {
	for _, other := range x.overlapping(r.Space, r.CIDR) {
		switch {
		case other.Handle == r.Handle || other.Deleted || other.Released() || x.encloses(other, r) || x.encloses(r, other):
		case other.Claim == r.Claim || isPredecessor(other, r) || isPredecessor(r, other):
		case r.Purpose == ipamv1.AdoptedPurpose && !x.isRecent(other.Seen), other.Purpose == ipamv1.AdoptedPurpose:
			return holdingOf(other), true
		}
	}
	return Holding{}, false
}

// hasArrived says whether the claim, or the carved pool, arrived with what it asks for.
func (c Claim) hasArrived() bool { return c.Purpose == ipamv1.AdoptedPurpose || c.Arrived }

// makeFor records what a stored object says that has no record.
func (l *Ledger) makeFor(ctx context.Context, c Claim) (Allocation, error) {
	c.stored = true
	a, err := l.Reserve(ctx, c)
	var taken *TakenError
	if !c.hasArrived() || !errors.As(err, &taken) {
		return a, err
	}
	if by := taken.By; by.Purpose == ipamv1.MovedPurpose && by.Claim.UID == c.Ref.UID {
		return a, err // it is just leaving
	}
	if taken.By.Claim != c.Ref {
		defer l.Concern(taken.By.Claim) // whatever becomes of the record
	}
	return l.insist(ctx, c)
}

// insist records what arrived although somebody else holds it. The record may even win: the other may have gone meanwhile.
func (l *Ledger) insist(ctx context.Context, c Claim) (Allocation, error) {
	key := types.NamespacedName{Namespace: cmp.Or(c.Namespace, c.Ref.Namespace), Name: records.NextName(c.Ref.Name, c.Ref.UID)}
	w, err := l.index.chooseTaken(c, key)
	if err != nil {
		return Allocation{}, err
	}
	defer l.index.dismiss(w)
	id, v, err := l.store(ctx, newRecord(l.instance, c, key, w.mark), w)
	switch {
	case err != nil:
		return Allocation{}, err
	case v.outcome == won:
		tellGiven(w.mark, id, c, audit.Arrived)
		return Allocation{CIDR: c.Want, record: id}, nil
	case v.outcome == superseded:
		return Allocation{}, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	default:
		tellGiven(w.mark, id, c, audit.Conflict)
		return Allocation{}, l.dispute(c.Ref, c.Want, v.by)
	}
}

// chooseTaken marks exactly what arrived, whoever holds it.
func (x *index) chooseTaken(c Claim, key types.NamespacedName) (*waiter, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.open(c)
	switch {
	case !ok:
		return nil, ErrNotReady
	case x.isMade(c):
		return nil, fmt.Errorf("the record of %s is on its way: %w", c.Want, ErrBusy)
	}
	return x.mark(e.pool.Space, e, c.Want, c, key), nil
}

// isMade says whether there is a record of just what the claim wants: one is enough.
func (x *index) isMade(c Claim) bool {
	return slices.ContainsFunc(x.records.Of(records.ClaimantOf(c.Ref)), func(r *records.Record) bool {
		return r.Claim.UID == c.Ref.UID && r.CIDR == c.Want && !r.Deleted && !r.Released()
	})
}

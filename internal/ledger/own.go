// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Weir's own kinds are their own answer. While one is admitted, the mutating webhook proposes a prefix, the validating webhook
// reserves just that for the object's UID, and the API server's storing the object is the commit:
//
//	Propose -> Reserve (spec.cidr as Want) -> stored -> Bind
//
// An object that is not stored after all leaves a record for a UID that never existed; repair drops it after a grace.

// Preview returns the prefix that the claim would get now, and changes nothing, so that ErrExhausted is only as far as this process
// knows. Otherwise it errs as Reserve does.
func (l *Ledger) Preview(c Claim) (netip.Prefix, error) {
	if err := l.index.failure(); err != nil {
		return netip.Prefix{}, err
	}
	cidr, err := l.index.preview(c)
	if errors.Is(err, errUnproved) {
		return netip.Prefix{}, ErrExhausted
	}
	return cidr, err
}

// Propose returns the prefix that the claim shall ask for, and keeps others in this process from choosing it for a moment. The
// claim needs neither UID nor name yet. Nothing is stored. It errs as Reserve does.
func (l *Ledger) Propose(ctx context.Context, c Claim) (netip.Prefix, error) {
	if err := l.index.failure(); err != nil {
		return netip.Prefix{}, err
	}
	cidr, err := l.index.promise(c)
	if !errors.Is(err, errUnproved) {
		explain(c.Ref, "Proposed", "prefix", cidr, "pool", c.Pool, "bits", c.Bits, "wanted", c.Want, "err", err)
		return cidr, err
	}
	if c.Revision, err = l.join(ctx, c.Pool).wait(ctx); err != nil {
		return netip.Prefix{}, err
	}
	return l.index.promise(c)
}

// WaitServing returns once the pool hands out prefixes, or ErrNotReady when ctx ends before. A pool that has just been created
// serves a moment later.
func (l *Ledger) WaitServing(ctx context.Context, pool ipamv1.PoolReference) error {
	select {
	case <-l.index.serves(pool):
		return nil
	case <-ctx.Done():
		return ErrNotReady
	}
}

// Serves says whether the pool hands out prefixes.
func (l *Ledger) Serves(pool ipamv1.PoolReference) bool {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	e, ok := l.index.pools[pool]
	return ok && len(e.serving) > 0
}

// serves returns a channel that is closed once the pool serves.
func (x *index) serves(ref ipamv1.PoolReference) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.poolOf(ref)
	if e.ready == nil {
		e.ready = make(chan struct{})
	}
	ready := e.ready
	if len(e.serving) > 0 {
		close(ready)
		e.ready = nil
	}
	return ready
}

// Bind makes the record of an object that is stored and says c.Want belong to that object, and returns it. It is made if there
// is none. Whoever reserved it, it is judged once more, unless this process has seen it win: the object may have come past the
// webhooks, or arrived. It errs with ErrTaken if somebody else holds the prefix; then both records stay. One that arrived gets a
// record in that case, too: nobody else is to have the prefix when the other has let go of it. A second record of the object goes.
func (l *Ledger) Bind(ctx context.Context, c Claim) (Allocation, error) {
	r, _ := l.index.recordOf(c, "")
	if r == nil {
		return l.makeFor(ctx, c)
	}
	if isOwned := r.Owned || len(c.Owners) == 0; isOwned && r.Won {
		return Allocation{CIDR: r.CIDR, record: r.Identity}, nil
	} else if by, isTaken := l.index.holderOver(r.Identity); isOwned && isTaken && !repeats(r, by) { // that it has not won needs no write to be seen
		return Allocation{}, &TakenError{CIDR: r.CIDR, By: by} // whose claim was told when this record came
	}
	w := l.index.expect(r.Key)
	defer l.index.dismiss(w)
	id, err := l.own(ctx, r.Identity, c)
	if err != nil {
		return Allocation{}, err
	}
	v, err := l.index.await(ctx, w, id)
	if err != nil {
		return Allocation{}, err
	}
	return l.bound(ctx, r, id, v)
}

// bound says what a judgement means for the record of an object that is stored.
func (l *Ledger) bound(ctx context.Context, r *records.Record, id records.Identity, v verdict) (Allocation, error) {
	switch {
	case v.outcome == won || r.Won:
		return Allocation{CIDR: r.CIDR, record: id}, nil
	case v.outcome == superseded:
		return Allocation{}, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	case v.outcome == lost && repeats(r, v.by):
		return Allocation{}, errors.Join(fmt.Errorf("record %s is a second one: %w", id.Key, ErrBusy), l.drop(ctx, id))
	case v.outcome == blocked && l.index.isRecent(v.by.seen): // it may be a loser that is about to go
		return Allocation{}, &blockedError{record: id.UID, cidr: r.CIDR, by: v.by}
	default:
		return Allocation{}, l.dispute(r.Claim, r.CIDR, v.by)
	}
}

// DropRepeats drops the claim's records beside which an older one of its own holds the same: two managers have begun at the claim, and one
// of them has died before it dropped its own. Each is taken over first, and goes if it has lost: the older one may be gone, and its creator
// may have seen it win. It says whether there were any. One that has been seen only just now is left to who made it, and so is one whose
// older one may be about to go.
func (l *Ledger) DropRepeats(ctx context.Context, claim ipamv1.ClaimReference) (bool, error) {
	repeats := l.index.repeats(claim)
	errs := make([]error, 0, len(repeats))
	for _, r := range repeats {
		_, _, err := l.takeOver(ctx, r)
		errs = append(errs, err)
	}
	return len(repeats) > 0, errors.Join(errs...)
}

func (x *index) repeats(claim ipamv1.ClaimReference) []*records.Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []*records.Record
	all := x.records.Of(records.ClaimantOf(claim))
	for _, r := range all {
		isSecond := func(first *records.Record) bool {
			return saysSame(r, first) && older(first, r) && !first.Deleted && !first.Terminating
		}
		if r.Claim.UID == claim.UID && !r.Deleted && !r.Confirmed && !x.isRecent(r.Seen) && slices.ContainsFunc(all, isSecond) {
			found = append(found, r)
		}
	}
	return found
}

// ownPatch takes a record over and gives it owners and labels.
type ownPatch struct {
	Metadata struct {
		patchMetadata   `json:",inline"`
		Labels          map[string]string       `json:"labels,omitempty"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Manager ipamv1.AllocationManager `json:"manager"`
	} `json:"spec"`
}

func (l *Ledger) own(ctx context.Context, r records.Identity, c Claim) (records.Identity, error) {
	finalizers, err := l.kept(ctx, r)
	if err != nil {
		return records.Identity{}, err
	}
	var p ownPatch
	p.Metadata.patchMetadata = patchMetadata{
		UID: r.UID, ResourceVersion: r.Version, Annotations: l.touched(), Finalizers: append(finalizers, ipamv1.AllocationFinalizer),
	}
	p.Metadata.Labels, p.Metadata.OwnerReferences = c.Labels, c.Owners
	p.Spec.Manager = ipamv1.AllocationManager{Instance: l.instance, CreatedRevision: r.Created}
	return l.patch(ctx, r, p)
}

// IsBound says whether the record of exactly what the claim says has owners, which it got when the claim was stored.
func (l *Ledger) IsBound(c Claim) bool {
	r, _ := l.index.recordOf(c, "")
	return r != nil && r.Owned
}

// Name returns the name of the record.
func (a Allocation) Name() string { return a.record.Key.Name }

// Orphans returns the records of claims of this kind, namespace and name that may be given up if no such claim is stored: not
// those whose claim may just be on its way, nor those that are released already.
func (l *Ledger) Orphans(claim ipamv1.ClaimReference) []Holding {
	var found []Holding
	for _, r := range l.index.recordsFor(claim) {
		if !r.Deleted && !r.Released() && !l.index.isPending(r) {
			found = append(found, holdingOf(r))
		}
	}
	return sortHoldings(found)
}

// Retained returns what is retained for claims of this kind, namespace and name.
func (l *Ledger) Retained(claim ipamv1.ClaimReference) []Holding {
	var retained []Holding
	for _, r := range l.index.recordsFor(claim) {
		if r.Retained && !r.Deleted {
			retained = append(retained, holdingOf(r))
		}
	}
	return sortHoldings(retained)
}

// retainedFor returns what the pool retains for the claim, if that is as long as the claim wants.
func (x *index) retainedFor(e *poolEntry, c Claim) (netip.Prefix, bool) {
	for _, r := range x.records.Of(records.ClaimantOf(c.Ref)) {
		if r.Retained && !r.Deleted && r.Pool == e.ref && r.CIDR.Bits() == c.Bits {
			return r.CIDR, true
		}
	}
	return netip.Prefix{}, false
}

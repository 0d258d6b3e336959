// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Weir's own kinds are their own answer. While one is admitted, the mutating webhook proposes a
// prefix, the validating webhook reserves just that for the object's UID, and the API server's
// storing the object is the commit:
//
//	Propose -> Reserve (spec.cidr as Want) -> stored -> Bind
//
// An object that is not stored after all leaves a record for a UID that never existed; repair drops
// it after a grace.

// Propose returns the prefix that the claim shall ask for, and keeps others in this process from
// choosing it for a moment. The claim needs neither UID nor name yet. Nothing is stored. It errs as
// Reserve does.
func (l *Ledger) Propose(ctx context.Context, c Claim) (netip.Prefix, error) {
	if err := l.feed.failure(); err != nil {
		return netip.Prefix{}, err
	}
	cidr, err := l.feed.promise(c)
	if !errors.Is(err, book.ErrUnproved) {
		explain(c.Ref, "Proposed", "prefix", cidr, "pool", c.Pool, "bits", c.Bits, "wanted", c.Want, "err", err)
		return cidr, err
	}
	if c.Revision, err = l.join(ctx, c.Pool).wait(ctx); err != nil {
		return netip.Prefix{}, err
	}
	return l.feed.promise(c)
}

// promise keeps a prefix for the claim for a moment.
func (f *feed) promise(c Claim) (netip.Prefix, error) {
	mark, err := ask2(f, (*book.Book).Promise, c)
	if err != nil {
		return netip.Prefix{}, err
	}
	time.AfterFunc(book.PromiseTime, func() {
		defer f.lock()()
		f.book.Expire(mark)
	})
	return mark.CIDR, nil
}

// Bind makes the record of an object that is stored and says c.Want belong to that object, and
// returns it. It is made if there is none. Whoever reserved it, it is judged once more, unless this
// process has seen it win: the object may have come past the webhooks, or arrived. It errs with
// ErrTaken if somebody else holds the prefix; then both records stay. One that arrived gets a
// record in that case, too: nobody else is to have the prefix when the other has let go of it. A
// second record of the object goes.
func (l *Ledger) Bind(ctx context.Context, c Claim) (Allocation, error) {
	r, _ := l.feed.recordOf(c, "")
	if r == nil {
		return l.makeFor(ctx, c)
	}
	if isOwned := (r.Owned || len(c.Owners) == 0) && (r.Backed || c.ExternalID == ""); isOwned && r.Won {
		return Allocation{CIDR: r.CIDR, record: r.Identity}, nil
	} else if by, isTaken := ask2(l.feed, (*book.Book).Obstacle, r.Identity); isOwned && isTaken && !book.Repeats(r, by) { // that it has not won needs no write to be seen
		return Allocation{}, &TakenError{CIDR: r.CIDR, By: by} // whose claim was told when this record came
	}
	w := l.feed.expect(r.Key)
	defer l.feed.dismiss(w)
	id, err := l.own(ctx, r.Identity, c)
	if err != nil {
		return Allocation{}, err
	}
	v, err := l.feed.await(ctx, w, id)
	if err != nil {
		return Allocation{}, err
	}
	return l.bound(ctx, r, id, v)
}

// bound says what a judgement means for the record of an object that is stored.
func (l *Ledger) bound(ctx context.Context, r *records.Record, id records.Identity, v book.Verdict) (Allocation, error) {
	switch {
	case v.Outcome == book.Won || r.Won:
		return Allocation{CIDR: r.CIDR, record: id}, nil
	case v.Outcome == book.Superseded:
		return Allocation{}, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	case v.Outcome == book.Lost && book.Repeats(r, v.By):
		return Allocation{}, errors.Join(fmt.Errorf("record %s is a second one: %w", id.Key, ErrBusy), l.delete(ctx, id))
	case v.Outcome == book.Blocked && l.feed.book.IsRecent(v.By.Seen): // it may be a loser that is about to go
		return Allocation{}, &blockedError{record: id.UID, cidr: r.CIDR, by: v.By}
	default:
		return Allocation{}, l.dispute(r.Claim, r.CIDR, v.By)
	}
}

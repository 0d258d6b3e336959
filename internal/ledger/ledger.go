// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// attempts is how often one call of Reserve goes on after a lost judgement before it says ErrBusy.
const attempts = 8

// retractTime bounds what is done about a record after the request that made it has run out of
// time.
const retractTime = 2 * time.Second

// Ledger answers claims with prefixes, one record each. All methods are safe for use by any number
// of goroutines, as long as one claim is worked on by one of them at a time.
type Ledger struct {
	prover
	rest rest.Interface
}

// New returns a ledger that answers once Start has read all records.
func New(o Options) *Ledger {
	n := &Notices{}
	f := newFeed(book.New(o.Instance, o.Clock, cmp.Or(o.Grace, DefaultGrace), n))
	w := writer{reader: reader{feed: f}, client: o.Client, instance: o.Instance, clock: o.Clock}
	return &Ledger{prover: prover{writer: w, notify: n}, rest: o.REST}
}

// Reserve returns the claim's allocation: the one that it has, or a new one. It errs with
// ErrNotReady, ErrExhausted, ErrRefused and ErrTaken (for an asked prefix), ErrBusy, or an error of
// the API server.
//
// When it returns, the record is stored and judged; the caller commits by storing the answer. It
// costs one write and no read unless a judgement is lost.
func (l *Ledger) Reserve(ctx context.Context, c Claim) (Allocation, error) {
	if err := l.feed.failure(); err != nil {
		return Allocation{}, err
	}
	name := records.FirstName(c.Ref.Name, c.Ref.UID)
	if len(ask(l.feed, (*book.Book).RecordsFor, c.Ref)) > 0 {
		name = records.NextName(c.Ref.Name, c.Ref.UID)
	}
	var stuck types.UID
	for range attempts {
		a, found, err := l.existing(ctx, c, stuck)
		var blocked *blockedError
		switch {
		case errors.As(err, &blocked) && !c.Want.IsValid() && stuck == "":
			stuck = blocked.record
			continue
		case blocked != nil && blocked.by.Purpose == records.ForMoved: // which stays until its claim is back
			return Allocation{}, &TakenError{CIDR: blocked.cidr, By: blocked.by}
		case err != nil:
			return a, err
		case found:
			return a, l.stays(c, a)
		}
		a, err = l.attempt(ctx, c, types.NamespacedName{Namespace: cmp.Or(c.Namespace, c.Ref.Namespace), Name: name})
		if !errors.Is(err, errLost) {
			return a, err
		}
		name = records.NextName(c.Ref.Name, c.Ref.UID)
	}
	return Allocation{}, fmt.Errorf("lost %d judgements: %w", attempts, ErrBusy)
}

// errLost ends one attempt of Reserve: its record was judged lost and is dropped.
var errLost = errors.New("lost the judgement")

// stays errs where what the claim has recorded has gone, or is just going, to another cluster. The
// record is left to repair: whoever made it may have told somebody.
func (l *Ledger) stays(c Claim, a Allocation) error {
	r, _ := l.feed.recordOf(c, "")
	if r == nil || r.UID != a.record.UID {
		return nil // changed meanwhile: whoever changed it has judged it anew
	}
	if by, gone := l.feed.leftBehind(c, r); gone {
		return &TakenError{CIDR: a.CIDR, By: by}
	}
	return nil
}

// existing returns the record that the claim has already, other than the stuck one: won by this
// process, or taken over from whoever made it.
func (l *Ledger) existing(ctx context.Context, c Claim, stuck types.UID) (Allocation, bool, error) {
	r, dispute := l.feed.recordOf(c, stuck)
	switch {
	case r == nil:
		return Allocation{}, false, nil
	case r.Won:
		return Allocation{CIDR: r.CIDR, record: r.Identity}, true, nil
	case r.Instance == l.instance && dispute != nil:
		return Allocation{}, false, &blockedError{record: r.UID, cidr: r.CIDR, by: *dispute}
	case r.Instance != l.instance && l.feed.book.IsRecent(r.Seen):
		return Allocation{}, false, fmt.Errorf("manager %s is answering the claim: %w", r.Instance, ErrBusy)
	}
	return l.takeOver(ctx, r)
}

// attempt chooses a prefix, creates its record under this name, and has it judged.
func (l *Ledger) attempt(ctx context.Context, c Claim, key types.NamespacedName) (Allocation, error) {
	w, err := l.choose(c, key)
	if errors.Is(err, book.ErrUnproved) {
		w, err = l.chooseCurrent(ctx, c, key)
	}
	if err != nil {
		explain(c.Ref, "Nothing was chosen", "pool", c.Pool, "bits", c.Bits, "wanted", c.Want, "err", err)
		return Allocation{}, err
	}
	defer l.feed.dismiss(w)
	explain(c.Ref, "Chose a candidate", "prefix", w.mark.CIDR, "pool", c.Pool, "bits", c.Bits, "wanted", c.Want)
	a, err := l.create(ctx, newRecord(l.instance, c, key, w.mark), w)
	if err != nil {
		return a, err
	}
	if by, gone := l.feed.leftBehind(c, w.mark); gone {
		return Allocation{}, errors.Join(&TakenError{CIDR: a.CIDR, By: by}, l.delete(ctx, a.record))
	}
	reportGiven(w.mark, a.record, c, audit.Requested)
	return a, nil
}

func (l *Ledger) choose(c Claim, key types.NamespacedName) (*waiter, error) {
	return l.feed.choose(key, func(b *book.Book) (*records.Record, error) { return b.Choose(c, key) })
}

// chooseCurrent has the book proved current: exhausted means exhausted. A claim that says at which
// revision it was read is not waited for: Freed names its pool once the proof is there. Any other
// is chosen for again then.
func (l *Ledger) chooseCurrent(ctx context.Context, c Claim, key types.NamespacedName) (*waiter, error) {
	r := l.join(ctx, c.Pool)
	if c.Revision != "" {
		return nil, fmt.Errorf("that nothing is free is being proved: %w", ErrBusy)
	}
	var err error
	if c.Revision, err = r.wait(ctx); err != nil {
		return nil, err
	}
	return l.choose(c, key)
}

// create stores a record and has it judged. A record that has not won is dropped again.
func (l *Ledger) create(ctx context.Context, record *ipamv1.IPAllocation, w *waiter) (Allocation, error) {
	id, v, err := l.store(ctx, record, w)
	if err != nil {
		return Allocation{}, err
	}
	switch v.Outcome {
	case book.Won:
		reservations.Inc()
		return Allocation{CIDR: w.mark.CIDR, record: id}, nil
	case book.Superseded:
		return Allocation{}, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	default:
		lostJudgements.Inc()
		explain(w.mark.Claim, "Lost the judgement", "prefix", w.mark.CIDR, "allocation", id.Key, "to", v.By.String(), "its", v.By.Record)
		if err := l.delete(ctx, id); err != nil {
			return Allocation{}, err
		}
		return Allocation{}, &lostError{by: v.By}
	}
}

// store stores a record and returns how it was judged.
func (l *Ledger) store(ctx context.Context, record *ipamv1.IPAllocation, w *waiter) (records.Identity, book.Verdict, error) {
	before := l.feed.revision()
	if err := l.client.Create(ctx, record, fieldOwner); err != nil {
		return records.Identity{}, book.Verdict{}, l.createError(err)
	}
	id := records.IdentityOf(record)
	if err := l.feed.notBefore(before, id.Version); err != nil {
		return id, book.Verdict{}, err
	}
	v, err := l.feed.await(ctx, w, id)
	if err != nil {
		err = errors.Join(err, l.retract(ctx, w.mark, id))
	}
	return id, v, err
}

// retract drops a record whose judgement nobody waited for, if its object is only just being
// admitted: that is refused now, and would keep the prefix until repair's grace is over. Nobody has
// been told of it, and the drop names the version that was made.
func (l *Ledger) retract(ctx context.Context, mark *records.Record, id records.Identity) error {
	if !book.IsWeirKind(mark) {
		return nil // whoever comes next takes the record over
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retractTime)
	defer cancel()
	return l.delete(ctx, id)
}

// lostError says which record made another one lose. It is an errLost.
type lostError struct{ by Holding }

func (e *lostError) Error() string { return fmt.Sprintf("lost the judgement to %s", e.by) }

func (e *lostError) Unwrap() error { return errLost }

// takeOver makes an unanswered record this process's own: it is changed, so that a late deletion by
// its creator fails, and judged at the version that this made.
func (l *Ledger) takeOver(ctx context.Context, r *records.Record) (Allocation, bool, error) {
	w := l.feed.expect(r.Key)
	defer l.feed.dismiss(w)
	id, err := l.setManager(ctx, r.Identity, ipamv1.ActiveState)
	if err != nil {
		return Allocation{}, false, err
	}
	takeovers.Inc()
	v, err := l.feed.await(ctx, w, id)
	if err != nil {
		return Allocation{}, false, err
	}
	explain(r.Claim, "Took a record over", "prefix", r.CIDR, "allocation", id.Key, "from", r.Instance, "outcome", v.Outcome, "disputedBy", v.By.String())
	switch {
	case v.Outcome == book.Won:
		reportGiven(r, id, Claim{Ref: r.Claim, Pool: r.Pool, Purpose: r.Purpose}, audit.TakenOver)
		return Allocation{CIDR: r.CIDR, record: id}, true, nil
	case v.Outcome == book.Lost && r.Created != "":
		return Allocation{}, false, l.delete(ctx, id)
	case v.Outcome == book.Superseded:
		return Allocation{}, false, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	default:
		return Allocation{}, false, &blockedError{record: id.UID, cidr: r.CIDR, by: v.By}
	}
}

// blockedError says which half-made record can neither win nor be dropped while another one exists.
// It is an ErrBusy.
type blockedError struct {
	record types.UID
	cidr   netip.Prefix
	by     Holding
}

func (e *blockedError) Error() string { return fmt.Sprintf("%s is disputed", e.cidr) }

// Unwrap returns ErrBusy.
func (e *blockedError) Unwrap() error { return ErrBusy }

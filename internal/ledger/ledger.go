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
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
)

// attempts is how often one call of Reserve goes on after a lost judgement before it says ErrBusy.
const attempts = 8

// takeoverDelay is how long a record of another manager is left alone before it is taken over, so that two managers that
// answer the same claim at once do not write for nothing. Economy only: taking over is safe at any time.
const takeoverDelay = 5 * time.Second

// retractTime bounds what is done about a record after the request that made it has run out of time.
const retractTime = 2 * time.Second

// DefaultGrace is how long a record may wait for the object that was admitted with it, where Options say nothing else: twice the API
// server's request timeout, as that is by default (--request-timeout).
const DefaultGrace = 2 * time.Minute

// Options of a Ledger.
type Options struct {
	// Client writes, and watches IPAllocations. It must not be limited to some namespaces and must not read from a cache.
	Client client.WithWatch
	// REST lists IPAllocations, as ListClient makes it.
	REST rest.Interface
	// Instance names this process among all managers that ever write: unique for each start.
	Instance string
	Clock    clock.PassiveClock
	// Grace is for how long a record is left alone whose object is not stored: it may still be. DefaultGrace if 0. It must be
	// longer than the API server's request timeout.
	Grace time.Duration
}

// Ledger answers claims with prefixes, one record each. All methods are safe for use by any number of goroutines, as long
// as one claim is worked on by one of them at a time.
type Ledger struct {
	client    client.WithWatch
	rest      rest.Interface
	instance  string
	clock     clock.PassiveClock
	index     *index
	failed    chan error
	freed     *fanout[ipamv1.PoolReference]
	changed   *fanout[ipamv1.PoolReference]
	concerned *fanout[ipamv1.ClaimReference]
	rounds    rounds
}

// New returns a ledger that answers once Start has synced its index.
func New(o Options) *Ledger {
	l := &Ledger{
		client:    o.Client,
		rest:      o.REST,
		instance:  o.Instance,
		clock:     o.Clock,
		failed:    make(chan error, 1),
		freed:     newFanout[ipamv1.PoolReference](),
		changed:   newFanout[ipamv1.PoolReference](),
		concerned: newFanout[ipamv1.ClaimReference](),
	}
	l.index = newIndex(o.Instance, o.Clock, l)
	l.index.grace = int64(cmp.Or(o.Grace, DefaultGrace) / time.Second)
	return l
}

func (l *Ledger) poolFreed(ref ipamv1.PoolReference)       { l.freed.add(ref) }
func (l *Ledger) poolChanged(ref ipamv1.PoolReference)     { l.changed.add(ref) }
func (l *Ledger) claimConcerned(ref ipamv1.ClaimReference) { l.concerned.add(ref) }
func (l *Ledger) indexBroke(err error)                     { l.failed <- err }

// SetPool registers a pool, or what it has become. It does nothing when the very same is registered already; otherwise its cost
// grows with what is handed out of the pool.
func (l *Ledger) SetPool(p Pool) { l.index.setPool(p) }

// DropPool forgets a pool that does not exist any more. Its records stay taken.
func (l *Ledger) DropPool(ref ipamv1.PoolReference) { l.index.dropPool(ref) }

// Freed returns a channel on which every pool is named that may have room again, or may serve now. Names are not repeated
// while they wait to be read. Each caller has a channel of its own, on which nothing comes any more once ctx has ended.
func (l *Ledger) Freed(ctx context.Context) <-chan ipamv1.PoolReference {
	return l.freed.subscribe(ctx)
}

// Changed returns a channel, as Freed does, on which every pool is named whose sums have changed.
func (l *Ledger) Changed(ctx context.Context) <-chan ipamv1.PoolReference {
	return l.changed.subscribe(ctx)
}

// Capacity returns the sums of a pool that has been registered, and whether it has been.
func (l *Ledger) Capacity(ref ipamv1.PoolReference) (Capacity, bool) { return l.index.capacity(ref) }

// Reserve returns the claim's allocation: the one that it has, or a new one. It errs with ErrNotReady, ErrExhausted,
// ErrRefused and ErrTaken (for an asked prefix), ErrBusy, or an error of the API server.
//
// When it returns, the record is stored and judged; the caller commits by storing the answer. It costs one write and no
// read unless a judgement is lost.
func (l *Ledger) Reserve(ctx context.Context, c Claim) (Allocation, error) {
	if err := l.index.failure(); err != nil {
		return Allocation{}, err
	}
	name := records.FirstName(c.Ref.Name, c.Ref.UID)
	if len(l.index.recordsFor(c.Ref)) > 0 {
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

// stays errs where what the claim has recorded has gone, or is just going, to another cluster. The record is left to repair: whoever
// made it may have told somebody.
func (l *Ledger) stays(c Claim, a Allocation) error {
	r, _ := l.index.recordOf(c, "")
	if r == nil || r.UID != a.record.UID {
		return nil // changed meanwhile: whoever changed it has judged it anew
	}
	if by, gone := l.index.leftBehind(c, r); gone {
		return &TakenError{CIDR: a.CIDR, By: by}
	}
	return nil
}

// existing returns the record that the claim has already, other than the stuck one: won by this process, or taken over from
// whoever made it.
func (l *Ledger) existing(ctx context.Context, c Claim, stuck types.UID) (Allocation, bool, error) {
	r, dispute := l.index.recordOf(c, stuck)
	switch {
	case r == nil:
		return Allocation{}, false, nil
	case r.Won:
		return Allocation{CIDR: r.CIDR, record: r.Identity}, true, nil
	case r.Instance == l.instance && dispute != nil:
		return Allocation{}, false, &blockedError{record: r.UID, cidr: r.CIDR, by: *dispute}
	case r.Instance != l.instance && l.index.isRecent(r.Seen):
		return Allocation{}, false, fmt.Errorf("manager %s is answering the claim: %w", r.Instance, ErrBusy)
	}
	return l.takeOver(ctx, r)
}

// attempt chooses a prefix, creates its record under this name, and has it judged.
func (l *Ledger) attempt(ctx context.Context, c Claim, key types.NamespacedName) (Allocation, error) {
	w, err := l.index.choose(c, key)
	if errors.Is(err, errUnproved) {
		w, err = l.chooseCurrent(ctx, c, key)
	}
	if err != nil {
		explain(c.Ref, "Nothing was chosen", "pool", c.Pool, "bits", c.Bits, "wanted", c.Want, "err", err)
		return Allocation{}, err
	}
	defer l.index.dismiss(w)
	explain(c.Ref, "Chose a candidate", "prefix", w.mark.CIDR, "pool", c.Pool, "bits", c.Bits, "wanted", c.Want)
	a, err := l.create(ctx, newRecord(l.instance, c, key, w.mark), w)
	if err != nil {
		return a, err
	}
	if by, gone := l.index.leftBehind(c, w.mark); gone {
		return Allocation{}, errors.Join(&TakenError{CIDR: a.CIDR, By: by}, l.drop(ctx, a.record))
	}
	tellGiven(w.mark, a.record, c, audit.Requested)
	return a, nil
}

// chooseCurrent has the index proved current: exhausted means exhausted. A claim that says at which revision it was read is
// not waited for: Freed names its pool once the proof is there. Any other is chosen for again then.
func (l *Ledger) chooseCurrent(ctx context.Context, c Claim, key types.NamespacedName) (*waiter, error) {
	r := l.join(ctx, c.Pool)
	if c.Revision != "" {
		return nil, fmt.Errorf("that nothing is free is being proved: %w", ErrBusy)
	}
	var err error
	if c.Revision, err = r.wait(ctx); err != nil {
		return nil, err
	}
	return l.index.choose(c, key)
}

// create stores a record and has it judged. A record that has not won is dropped again.
func (l *Ledger) create(ctx context.Context, record *ipamv1.IPAllocation, w *waiter) (Allocation, error) {
	id, v, err := l.store(ctx, record, w)
	if err != nil {
		return Allocation{}, err
	}
	switch v.outcome {
	case won:
		reservations.Inc()
		return Allocation{CIDR: w.mark.CIDR, record: id}, nil
	case superseded:
		return Allocation{}, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	default:
		lostJudgements.Inc()
		explain(w.mark.Claim, "Lost the judgement", "prefix", w.mark.CIDR, "allocation", id.Key, "to", v.by.String(), "its", v.by.Record)
		if err := l.drop(ctx, id); err != nil {
			return Allocation{}, err
		}
		return Allocation{}, &lostError{by: v.by}
	}
}

// store stores a record and returns how it was judged.
func (l *Ledger) store(ctx context.Context, record *ipamv1.IPAllocation, w *waiter) (records.Identity, verdict, error) {
	before := l.index.revision()
	if err := l.client.Create(ctx, record, fieldOwner); err != nil {
		return records.Identity{}, verdict{}, l.createError(err)
	}
	id := records.IdentityOf(record)
	if err := l.index.notBefore(before, id.Version); err != nil {
		return id, verdict{}, err
	}
	v, err := l.index.await(ctx, w, id)
	if err != nil {
		err = errors.Join(err, l.retract(ctx, w.mark, id))
	}
	return id, v, err
}

// retract drops a record whose judgement nobody waited for, if its object is only just being admitted: that is refused now, and
// would keep the prefix until repair's grace is over. Nobody has been told of it, and the drop names the version that was made.
func (l *Ledger) retract(ctx context.Context, mark *records.Record, id records.Identity) error {
	if !isOwnKind(mark) {
		return nil // whoever comes next takes the record over
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), retractTime)
	defer cancel()
	return l.drop(ctx, id)
}

// lostError says which record made another one lose. It is an errLost.
type lostError struct{ by Holding }

func (e *lostError) Error() string { return fmt.Sprintf("lost the judgement to %s", e.by) }
func (e *lostError) Unwrap() error { return errLost }

// createError translates a refused create. The name is taken when another manager is answering the same claim.
func (l *Ledger) createError(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("another manager is answering the claim: %w", ErrBusy)
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	return fmt.Errorf("creating IPAllocation: %w", err)
}

// takeOver makes an unanswered record this process's own: it is changed, so that a late deletion by its creator fails, and
// judged at the version that this made.
func (l *Ledger) takeOver(ctx context.Context, r *records.Record) (Allocation, bool, error) {
	w := l.index.expect(r.Key)
	defer l.index.dismiss(w)
	id, err := l.setManager(ctx, r.Identity, ipamv1.ActiveState)
	if err != nil {
		return Allocation{}, false, err
	}
	takeovers.Inc()
	v, err := l.index.await(ctx, w, id)
	if err != nil {
		return Allocation{}, false, err
	}
	explain(r.Claim, "Took a record over", "prefix", r.CIDR, "allocation", id.Key, "from", r.Instance, "outcome", v.outcome, "disputedBy", v.by.String())
	switch {
	case v.outcome == won:
		tellGiven(r, id, Claim{Ref: r.Claim, Pool: r.Pool, Purpose: r.Purpose}, audit.TakenOver)
		return Allocation{CIDR: r.CIDR, record: id}, true, nil
	case v.outcome == lost && r.Created != "":
		return Allocation{}, false, l.drop(ctx, id)
	case v.outcome == superseded:
		return Allocation{}, false, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	default:
		return Allocation{}, false, &blockedError{record: id.UID, cidr: r.CIDR, by: v.by}
	}
}

// blockedError says which half-made record can neither win nor be dropped while another one exists. It is an ErrBusy.
type blockedError struct {
	record types.UID
	cidr   netip.Prefix
	by     Holding
}

func (e *blockedError) Error() string { return fmt.Sprintf("%s is disputed", e.cidr) }

// Unwrap returns ErrBusy.
func (e *blockedError) Unwrap() error { return ErrBusy }

// Holds says whether a record of the claim's UID holds what begins with this address.
func (l *Ledger) Holds(claim ipamv1.ClaimReference, first netip.Addr) bool {
	for _, r := range l.index.recordsFor(claim) {
		if r.Claim.UID == claim.UID && r.CIDR.Addr() == first && !r.Deleted && r.Purpose != ipamv1.MovedPurpose {
			return true
		}
	}
	return false
}

// HasWon says whether a record of the claim's UID that begins with this address has won its judgement in this process.
func (l *Ledger) HasWon(claim ipamv1.ClaimReference, first netip.Addr) bool {
	return slices.ContainsFunc(l.index.recordsFor(claim), func(r *records.Record) bool {
		return r.Claim.UID == claim.UID && r.CIDR.Addr() == first && r.Won && !r.Deleted
	})
}

// Precedes says whether the claim has a record of the very same prefix that was certainly made before this one, which has not arrived: so
// nobody is kept out by this one who is not by that, and if it is a namesake's, that had gone when it was made.
func (l *Ledger) Precedes(claim ipamv1.ClaimReference, h Holding) bool {
	later := &records.Record{Identity: h.version}
	return !h.arrived && slices.ContainsFunc(l.index.recordsFor(claim), func(r *records.Record) bool {
		return r.Claim.UID == claim.UID && r.CIDR == h.CIDR && r.Pool == h.Pool && !r.Deleted && !r.Terminating && !r.Released() && older(r, later)
	})
}

// Prove returns once the index holds every record that was created before the call, by a block of this pool if one is confirmed. It errs
// with ErrBusy where that cannot be told yet.
func (l *Ledger) Prove(ctx context.Context, pool ipamv1.PoolReference) error {
	_, err := l.join(ctx, pool).wait(ctx)
	if errors.Is(err, ErrNotReady) {
		return l.proveByList(ctx)
	}
	return err
}

// Void drops an allocation whose claim was answered otherwise.
func (l *Ledger) Void(ctx context.Context, a Allocation) error {
	if h, ok := l.index.holdingOf(a.record); ok {
		return l.giveUp(ctx, h, audit.Void)
	}
	return l.drop(ctx, a.record)
}

// Recorded returns every record of claims of this kind, namespace and name, whatever their UID. What the claim has let go of
// is not its record any more.
func (l *Ledger) Recorded(claim ipamv1.ClaimReference) []Holding {
	records := l.index.recordsFor(claim)
	holdings := make([]Holding, 0, len(records))
	for _, r := range records {
		if !r.Deleted && !r.Released() {
			holdings = append(holdings, holdingOf(r))
		}
	}
	return sortHoldings(holdings)
}

// Drop drops one record, if it has not changed since it was read. The caller has proved that nobody was told of it, or that
// its claim is gone and its cooldown over.
func (l *Ledger) Drop(ctx context.Context, h Holding) error {
	if h.Purpose == ipamv1.RootPurpose {
		return l.giveUp(ctx, h, audit.Gone)
	}
	return l.giveUp(ctx, h, audit.Void)
}

// Release lets go of all records of the claim of this UID. The caller has proved by a live read, begun after the index showed
// the records, that the claim is gone or is being deleted with nobody else holding it, and has removed its answer. A hold stays.
func (l *Ledger) Release(ctx context.Context, claim ipamv1.ClaimReference) error {
	var errs []error
	for _, r := range l.index.recordsFor(claim) {
		if r.Claim.UID == claim.UID && !r.Released() && r.Purpose != ipamv1.MovedPurpose {
			errs = append(errs, l.LetGo(ctx, holdingOf(r)))
		}
	}
	return errors.Join(errs...)
}

// Holdings returns what is handed out of a pool, ascending; not the pool's own blocks.
func (l *Ledger) Holdings(pool ipamv1.PoolReference) []Holding { return l.index.holdings(pool) }

// Overlapping returns every record of the address space that overlaps the prefix.
func (l *Ledger) Overlapping(space string, prefix netip.Prefix) []Holding {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	records := l.index.overlapping(space, prefix)
	holdings := make([]Holding, 0, len(records))
	for _, r := range records {
		holdings = append(holdings, holdingOf(r))
	}
	return holdings
}

// All returns every record that is there throughout the call; others may be missing.
func (l *Ledger) All() []Holding {
	var holdings []Holding
	for next := records.Handle(1); next != 0; {
		holdings, next = l.index.appendSome(holdings, next)
	}
	return holdings
}

// rowsAtOnce is how many rows All looks at in one go: nothing is judged meanwhile.
const rowsAtOnce = 1 << 12

// appendSome appends records from this handle on, and returns where to go on; 0 at the end.
func (x *index) appendSome(holdings []Holding, from records.Handle) ([]Holding, records.Handle) {
	x.mu.Lock()
	defer x.mu.Unlock()
	holdings = slices.Grow(holdings, min(x.records.Len(), rowsAtOnce))
	for h := range x.records.From(from) {
		if h >= from+rowsAtOnce {
			return holdings, h
		}
		holdings = append(holdings, holdingOf(x.records.Get(h)))
	}
	return holdings, 0
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// reader answers questions about the book. Each answer is of one moment.
type reader struct{ feed *feed }

// SetPool registers a pool, or what it has become. It does nothing when the very same is registered
// already; otherwise its cost grows with what is handed out of the pool.
func (l *reader) SetPool(p Pool) {
	defer l.feed.lock()()
	l.feed.book.SetPool(p)
}

// DropPool forgets a pool that does not exist any more. Its records stay taken.
func (l *reader) DropPool(ref ipamv1.PoolReference) {
	defer l.feed.lock()()
	l.feed.book.DropPool(ref)
}

// Capacity returns the sums of a pool that has been registered, and whether it has been.
func (l *reader) Capacity(ref ipamv1.PoolReference) (Capacity, bool) {
	return ask2(l.feed, (*book.Book).Capacity, ref)
}

// Room returns for how many claims that ask for nothing in particular the pool has room, most at
// most: an estimate, at least one, which looks at how much is free and not at where. It errs as
// Preview does if there is room for none.
func (l *reader) Room(pool ipamv1.PoolReference, most int) (int, error) {
	if err := l.feed.failure(); err != nil {
		return 0, err
	}
	defer l.feed.lock()()
	room, err := l.feed.book.Room(pool, most)
	return room, provedOrNot(err)
}

// Preview returns the prefix that the claim would get now, and changes nothing, so that
// ErrExhausted is only as far as this process knows. Otherwise it errs as Reserve does.
func (l *reader) Preview(c Claim) (netip.Prefix, error) {
	if err := l.feed.failure(); err != nil {
		return netip.Prefix{}, err
	}
	cidr, err := ask2(l.feed, (*book.Book).Preview, c)
	return cidr, provedOrNot(err)
}

// provedOrNot says ErrExhausted also where that is not proved.
func provedOrNot(err error) error {
	if errors.Is(err, book.ErrUnproved) {
		return ErrExhausted
	}
	return err
}

// Serves says whether the pool hands out prefixes.
func (l *reader) Serves(pool ipamv1.PoolReference) bool {
	return ask(l.feed, (*book.Book).Serves, pool)
}

// Holdings returns what is handed out of a pool, ascending; not the pool's own blocks.
func (l *reader) Holdings(pool ipamv1.PoolReference) []Holding {
	return ask(l.feed, (*book.Book).Holdings, pool)
}

// Cooling returns what claims have let go of in a pool and what is not to be handed out before
// Drop, in no order: it cools down, or is retained.
func (l *reader) Cooling(pool ipamv1.PoolReference) []Holding {
	return ask(l.feed, (*book.Book).Cooling, pool)
}

// Cools says whether a prefix cools down when its claim lets go of it.
func (l *reader) Cools(h Holding) bool { return ask(l.feed, (*book.Book).Cools, h) }

// Leaving returns what is handed out of a pool and marked for deletion because it moves away, or is
// held for what has moved, in no order. What lives beside the pool moves with it.
func (l *reader) Leaving(pool ipamv1.PoolReference) []Holding {
	return ask(l.feed, (*book.Book).Leaving, pool)
}

// Returned returns what may be back of what is held in a pool.
func (l *reader) Returned(pool ipamv1.PoolReference) []Return {
	return ask(l.feed, (*book.Book).Returned, pool)
}

// OtherBlocks returns the records of the pool's own blocks that keep does not name, those of other
// pools that had its name, and the second and third of a block that several managers recorded at
// once. Drop drops them, once a live read after this call has proved that they are nobody's. What
// may belong to a pool that is just being admitted is not among them, nor, where there is no pool
// of the name (uid is empty), what arrived before its pool.
func (l *reader) OtherBlocks(pool ipamv1.PoolReference, uid types.UID, keep []netip.Prefix) []Holding {
	defer l.feed.lock()()
	return l.feed.book.OtherBlocks(pool, uid, keep)
}

// Overlapping returns every record of the address space that overlaps the prefix.
func (l *reader) Overlapping(space string, prefix netip.Prefix) []Holding {
	defer l.feed.lock()()
	return l.feed.book.Overlapping(space, prefix)
}

// All returns every record that is there throughout the call; others may be missing.
func (l *reader) All() (all []Holding) {
	for next := records.Handle(1); next != 0; {
		all, next = l.some(all, next)
	}
	return all
}

func (l *reader) some(all []Holding, from records.Handle) ([]Holding, records.Handle) {
	defer l.feed.lock()()
	return l.feed.book.AppendSome(all, from)
}

// recordsFor returns the records of all claims of this kind, namespace and name, but for those that
// drop says.
func (l *reader) recordsFor(claim ipamv1.ClaimReference, drop func(*records.Record) bool) []*records.Record {
	return slices.DeleteFunc(ask(l.feed, (*book.Book).RecordsFor, claim), drop)
}

// Recorded returns every record of claims of this kind, namespace and name, whatever their UID.
// What the claim has let go of is not its record any more.
func (l *reader) Recorded(claim ipamv1.ClaimReference) []Holding {
	return book.SortHoldings(book.HoldingsOf(l.recordsFor(claim, func(r *records.Record) bool { return r.Deleted || r.Released() })))
}

// Retained returns what is retained for claims of this kind, namespace and name.
func (l *reader) Retained(claim ipamv1.ClaimReference) []Holding {
	return book.SortHoldings(book.HoldingsOf(l.recordsFor(claim, func(r *records.Record) bool { return r.Deleted || !r.Retained })))
}

// Orphans returns the records of claims of this kind, namespace and name that may be given up if no
// such claim is stored: not those whose claim may just be on its way, nor those that are released
// already.
func (l *reader) Orphans(claim ipamv1.ClaimReference) []Holding {
	return ask(l.feed, (*book.Book).Orphans, claim)
}

// Held returns what is held for an earlier claim of this name, which moved away, at exactly this
// prefix of the pool. Once the claim has its own record of that, it can be dropped. What is held of
// another pool is another claim's, whatever its name and prefix.
func (l *reader) Held(claim ipamv1.ClaimReference, pool ipamv1.PoolReference, cidr netip.Prefix) []Holding {
	defer l.feed.lock()()
	return l.feed.book.Held(claim, pool, cidr)
}

// Holds says whether a record of the claim's UID holds what begins with this address.
func (l *reader) Holds(claim ipamv1.ClaimReference, first netip.Addr) bool {
	return len(l.recordsFor(claim, func(r *records.Record) bool {
		return r.Claim.UID != claim.UID || r.CIDR.Addr() != first || r.Deleted || r.Purpose == records.ForMoved
	})) > 0
}

// HasWon says whether a record of the claim's UID that begins with this address has won its
// judgement in this process.
func (l *reader) HasWon(claim ipamv1.ClaimReference, first netip.Addr) bool {
	return len(l.recordsFor(claim, func(r *records.Record) bool {
		return r.Claim.UID != claim.UID || r.CIDR.Addr() != first || r.Deleted || !r.Won
	})) > 0
}

// Precedes says whether the claim has a record of the very same prefix that was certainly made
// before this one, which was made here: so nobody is kept out by this one who is not by that, and
// if it is one of the same name, other UID, that had gone when it was made.
func (l *reader) Precedes(claim ipamv1.ClaimReference, h Holding) bool {
	later := &records.Record{Identity: h.Version}
	return !h.Restored && len(l.recordsFor(claim, func(r *records.Record) bool {
		isIts := r.Claim.UID == claim.UID && r.CIDR == h.CIDR && r.Pool == h.Pool
		return !isIts || r.Deleted || r.Terminating || r.Released() || !book.Older(r, later)
	})) > 0
}

// Disputed returns an ErrTaken that says who else has, or arrived with, what the claim's record of
// this prefix holds; nil if nobody.
func (l *reader) Disputed(claim ipamv1.ClaimReference, first netip.Addr) error {
	defer l.feed.lock()()
	return l.feed.book.Disputed(claim, first)
}

// OutsidePolicy returns a RefusedError that says why the pool would not hand out to the claim, or
// carved pool, what its record holds; nil if it would. What arrived with a prefix keeps it all the
// same, and so does what had it before the pool was changed.
func (l *reader) OutsidePolicy(claim ipamv1.ClaimReference) error {
	return ask(l.feed, (*book.Book).OutsidePolicy, claim)
}

// IsContested says whether another claimant has what the record holds, or part of it: an older
// record is there, so that this one has never won, or one of the two was restored. What a manager
// that died has recorded over it takes nothing from it.
func (l *reader) IsContested(h Holding) bool { return ask(l.feed, (*book.Book).IsContested, h) }

// IsHeldOn says whether a claim of the same name, other UID, holds the very same prefix: then
// nothing is let go of with this record.
func (l *reader) IsHeldOn(h Holding) bool { return ask(l.feed, (*book.Book).IsHeldOn, h) }

// IsArriving says whether a record has come here, from elsewhere or a backup, less than the grace
// ago, as far as this process knows: what it is held for may still be on its way.
func (l *reader) IsArriving(h Holding) bool { return ask(l.feed, (*book.Book).IsArriving, h) }

// IsBound says whether the record of exactly what the claim says has owners, which it got when the
// claim was stored.
func (l *reader) IsBound(c Claim) bool {
	r, _ := l.feed.recordOf(c, "")
	return r != nil && r.Owned
}

// Stored notes that there is, or was, an object of a Weir kind of that UID. It only saves others
// from waiting: nothing is told by it that a live read does not prove.
func (l *reader) Stored(claim ipamv1.ClaimReference) {
	defer l.feed.lock()()
	l.feed.book.Stored(claim)
}

// Unstored returns how many prefixes of the pool are recorded for objects of that namespace ("" for
// cluster-wide ones) that nobody has seen stored: their creates are under way, or were refused
// after Weir had been asked.
func (l *reader) Unstored(pool ipamv1.PoolReference, namespace string) int {
	defer l.feed.lock()()
	return l.feed.book.Unstored(pool, namespace)
}

// WasUnstored says whether, as far as this process has seen, the object that the record was made
// for was never stored.
func (l *reader) WasUnstored(h Holding) bool { return ask(l.feed, (*book.Book).WasUnstored, h) }

// NextOverdue returns when, from now, the grace of a record is over that nobody has seen the object
// of; false if there is none. Records that are overdue already do not count.
func (l *reader) NextOverdue() (in time.Duration, ok bool) {
	defer l.feed.lock()()
	return l.feed.book.NextOverdue()
}

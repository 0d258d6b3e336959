// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"time"

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

// Preview returns the prefix that the claim would get now, and changes nothing, so that
// ErrExhausted is only as far as this process knows. Otherwise it errs as Reserve does.
func (l *reader) Preview(c Claim) (netip.Prefix, error) {
	if err := l.feed.failure(); err != nil {
		return netip.Prefix{}, err
	}
	cidr, err := ask2(l.feed, (*book.Book).Preview, c)
	return cidr, provedOrNot(err)
}

// Withheld returns what the pool that a block is to be carved from keeps back in it, and what the pools above that do.
func (l *reader) Withheld(parent ipamv1.PoolReference, block netip.Prefix) []Withheld {
	defer l.feed.lock()()
	return l.feed.book.Withheld(parent, block)
}

// StandsFor returns the record that keeps with a member what this version of another record keeps, of
// a pool of the same name.
func (l *reader) StandsFor(h Holding) (Holding, bool) {
	return ask2(l.feed, (*book.Book).StandsFor, h.Version)
}

// Overlapping returns every record of the address space that overlaps the prefix.
func (l *reader) Overlapping(space string, prefix netip.Prefix) []Holding {
	defer l.feed.lock()()
	return l.feed.book.Overlapping(space, prefix)
}

// HandedBackIn returns, by prefix, what was handed back of a block by pools of whatever name. A record
// that has not won is among it.
func (l *reader) HandedBackIn(space string, block netip.Prefix) []Holding {
	defer l.feed.lock()()
	return l.feed.book.HandedBackIn(space, block)
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

// About returns what is recorded for the claims of one kind, namespace and name, at this moment.
func (l *reader) About(claim ipamv1.ClaimReference) *Account {
	return ask(l.feed, (*book.Book).About, claim)
}

// Stored notes that there is, or was, an object of a Weir kind of that UID. It only saves others
// from waiting: nothing is told by it that a live read does not prove.
func (l *reader) Stored(claim ipamv1.ClaimReference) {
	defer l.feed.lock()()
	l.feed.book.Stored(claim)
}

// NextOverdue returns when, from now, the grace of a record is over that nobody has seen the object
// of; false if there is none. Records that are overdue already do not count.
func (l *reader) NextOverdue() (in time.Duration, ok bool) {
	defer l.feed.lock()()
	return l.feed.book.NextOverdue()
}

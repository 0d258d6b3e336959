// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"slices"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Account is all that the book knows, at one moment, of the claims of one kind, namespace and name,
// whatever their UID. Where a method asks about "the claim", that is the one of the UID that About
// was asked for.
type Account struct {
	uid     string
	records []accounted
	outside error
}

// accounted is one record, with what the book made of it.
type accounted struct {
	*records.Record

	holding                        Holding
	isPending, isUnstored, hasLost bool
	// rival is who else has the prefix, and keeps it; nil if nobody.
	rival *Holding
}

// About returns the account of a claim, or of a pool, as ClaimOf names that. It does not look for
// rivals of blocks and of what has moved.
func (b *Book) About(claim ipamv1.ClaimReference) *Account {
	a := &Account{uid: claim.UID, outside: b.policy.outsidePolicy(claim)}
	for _, r := range b.records.Of(records.ClaimantOf(claim)) {
		if r.Deleted {
			continue
		}
		entry := accounted{Record: r, holding: b.ages.holdingOf(r), isPending: b.ages.isPending(r), isUnstored: b.stock.isUnstored(r)}
		if !isBlock(r.Purpose) && r.Purpose != records.ForMoved && !r.Purpose.IsHandBack() { // what a block overlaps is all that its pool has handed out
			entry.hasLost = b.lineage.Judge(r).Outcome == Lost
			if by, ok := b.claims.rivalTo(r); ok {
				entry.rival = &by
			}
		}
		a.records = append(a.records, entry)
	}
	return a
}

// holdings returns, by prefix, the records that drop does not name.
func (a *Account) holdings(drop func(accounted) bool) []Holding {
	var found []Holding
	for _, r := range a.records {
		if !drop(r) {
			found = append(found, r.holding)
		}
	}
	return SortHoldings(found)
}

// has says whether the claim has a record of which is holds.
func (a *Account) has(is func(accounted) bool) bool {
	return slices.ContainsFunc(a.records, func(r accounted) bool { return r.Claim.UID == a.uid && is(r) })
}

// of returns the record as the account has it; the zero value if it has not.
func (a *Account) of(h Holding) (found accounted, ok bool) {
	i := slices.IndexFunc(a.records, func(r accounted) bool { return r.UID == h.Version.UID })
	if i < 0 {
		return accounted{}, false
	}
	return a.records[i], true
}

// Recorded returns the records of all claims of the name. What a claim has released is not its record
// any more.
func (a *Account) Recorded() []Holding {
	return a.holdings(func(r accounted) bool { return r.Released() })
}

// Retained returns what is retained for claims of the name.
func (a *Account) Retained() []Holding {
	return a.holdings(func(r accounted) bool { return !r.Retained })
}

// Orphans returns the records that may be released if no claim of the name is stored: not those
// whose claim may just be on its way, nor those that are released already.
func (a *Account) Orphans() []Holding {
	return a.holdings(func(r accounted) bool { return r.Released() || r.isPending })
}

// Moved returns what is reserved for an earlier claim of the name, which moved away, at exactly this
// prefix of the pool. Once the claim has its own record of that, it can be dropped. What is reserved
// in another pool is another claim's, whatever its name and prefix.
func (a *Account) Moved(pool ipamv1.PoolReference, cidr netip.Prefix) []Holding {
	return a.holdings(func(r accounted) bool {
		return r.Purpose != records.ForMoved || r.Pool != pool || r.CIDR != cidr || r.Claim.UID == a.uid
	})
}

// Holds says whether a record of the claim holds what begins with this address.
func (a *Account) Holds(first netip.Addr) bool {
	return a.has(func(r accounted) bool { return r.CIDR.Addr() == first && r.Purpose != records.ForMoved })
}

// HasBlock says whether a confirmed block of the pool, in that address space, contains all of the prefix.
func (a *Account) HasBlock(space string, prefix netip.Prefix) bool {
	return a.has(func(r accounted) bool {
		return r.Confirmed && r.Space == space && contains(r.CIDR, prefix) && isBlock(r.Purpose) && !r.Released()
	})
}

// IsInOtherSpace says whether a block of the pool is recorded in another address space than that.
func (a *Account) IsInOtherSpace(space string) bool {
	return a.has(func(r accounted) bool { return r.Space != space && r.Purpose == records.ForChildPool })
}

// HasWon says whether a record of the claim that begins with this address has won its judgement in
// this process.
func (a *Account) HasWon(first netip.Addr) bool {
	return a.has(func(r accounted) bool { return r.CIDR.Addr() == first && r.Won })
}

// IsBound says whether the record of exactly what the claim says has owners, which it got when the
// claim was stored.
func (a *Account) IsBound(cidr netip.Prefix) bool {
	c := Claim{Ref: ipamv1.ClaimReference{UID: a.uid}, Want: cidr}
	answered := func(r accounted) bool { return answers(r.Record, c) }
	if a.has(func(r accounted) bool { return answered(r) && r.Won }) {
		return a.has(func(r accounted) bool { return answered(r) && r.Won && r.Owned })
	}
	return a.has(func(r accounted) bool { return answered(r) && r.Owned })
}

// Precedes says whether the claim has a record of the very same prefix that was certainly made
// before this one, which was made here: so nobody is kept out by this one who is not by that, and
// if it is one of the same name, other UID, that had gone when it was made.
func (a *Account) Precedes(h Holding) bool {
	later := &records.Record{Identity: h.Version}
	return !h.Restored && a.has(func(r accounted) bool {
		return r.CIDR == h.CIDR && r.Pool == h.Pool && !r.Terminating && !r.Released() && Older(r.Record, later)
	})
}

// IsHeldOn says whether a claim of the name, of another UID than the record's, holds the very same
// prefix, or it is retained for the next: then the release frees nothing. One whose object was
// perhaps never stored does not count: its record goes without cooling.
func (a *Account) IsHeldOn(h Holding) bool {
	return slices.ContainsFunc(a.records, func(r accounted) bool {
		isIts := r.Claim.UID != h.Claim.UID && r.CIDR == h.CIDR && r.Pool == h.Pool
		return isIts && (!r.Released() || r.Retained && !r.Terminating) && !r.isUnstored
	})
}

// Disputed returns an ErrTaken that says who else has, or arrived with, what the claim's record of
// this prefix holds; nil if nobody.
func (a *Account) Disputed(first netip.Addr) error {
	for _, r := range a.records {
		isIts := r.Claim.UID == a.uid && r.CIDR.Addr() == first && !r.Released() && r.Purpose != records.ForMoved
		if isIts && r.rival != nil {
			return &TakenError{CIDR: r.CIDR, By: *r.rival}
		}
	}
	return nil
}

// OutsidePolicy returns a RefusedError that says why the pool would not hand out to the claim, or
// carved pool, what its record holds; nil if it would. What arrived with a prefix keeps it all the
// same, and so does what had it before the pool was changed.
func (a *Account) OutsidePolicy() error { return a.outside }

// IsContested says whether another claimant has what the record holds, or part of it: an older
// record is there, so that this one has never won, or one of the two was restored. What a manager
// that died has recorded over it takes nothing from it.
func (a *Account) IsContested(h Holding) bool {
	r, ok := a.of(h)
	return ok && (r.rival != nil || r.hasLost)
}

// IsUnstored says whether, as far as this process has seen, the object that the record was made for
// was never stored.
func (a *Account) IsUnstored(h Holding) bool {
	r, ok := a.of(h)
	return ok && r.isUnstored
}

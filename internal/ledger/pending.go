// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// What the API server refuses after Weir's webhooks (a quota, another webhook) leaves a record for an object that was never stored. No
// read tells such a record from one whose object is about to be stored, so it keeps its prefix from everybody else for the grace:
//
//	a client tries again   all tries of one name ask for one prefix, of which the API server stores one object at a time
//	many clients try       Unstored counts them for each namespace and pool, and admission bounds that
//	the grace is over      repair drops the record; nobody was told of it, so it does not cool

// isPending says whether a record may belong to an object of Weir's own kinds that is not stored yet, but may still be: the API
// server has asked a webhook about it less than the grace ago, never rounded down. It is the only clock that safety leans on. Each record
// has a grace of its own: that another object of the name was stored, and is gone, says nothing of this one.
func (x *index) isPending(r *records.Record) bool { return awaitsObject(r) && x.isNew(r.Seen) }

// noteUnstored keeps the pool's list of records up to date whose object nobody has seen.
func (e *poolEntry) noteUnstored(r *records.Record) {
	if !awaitsObject(r) || r.Purpose == ipamv1.MovedPurpose {
		return
	}
	if e.unstored == nil {
		e.unstored = map[string]map[records.Handle]struct{}{}
	}
	if e.unstored[r.Claim.Namespace] == nil {
		e.unstored[r.Claim.Namespace] = map[records.Handle]struct{}{}
	}
	e.unstored[r.Claim.Namespace][r.Handle] = struct{}{}
}

func (e *poolEntry) forgetUnstored(r *records.Record) {
	delete(e.unstored[r.Claim.Namespace], r.Handle)
	if len(e.unstored[r.Claim.Namespace]) == 0 {
		delete(e.unstored, r.Claim.Namespace)
	}
}

// isUnstored says whether nothing has shown yet that the record's object was stored.
func (x *index) isUnstored(r *records.Record) bool {
	_, ok := x.poolOf(r.Pool).unstored[r.Claim.Namespace][r.Handle]
	return ok
}

// Stored notes that there is, or was, an object of Weir's own kinds of that UID. It only saves others from waiting: nothing is told by it
// that a live read does not prove.
func (l *Ledger) Stored(claim ipamv1.ClaimReference) {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	for _, r := range l.index.records.Of(records.ClaimantOf(claim)) {
		if r.Claim.UID == claim.UID {
			l.index.poolOf(r.Pool).forgetUnstored(r)
		}
	}
}

// Unstored returns how many prefixes of the pool are recorded for objects of that namespace ("" for cluster-wide ones) that nobody has
// seen stored: their creates are under way, or were refused after Weir had been asked.
func (l *Ledger) Unstored(pool ipamv1.PoolReference, namespace string) int {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	if e, ok := l.index.pools[pool]; ok {
		return len(e.unstored[namespace])
	}
	return 0
}

// WasUnstored says whether, as far as this process has seen, the object that the record was made for was never stored.
func (l *Ledger) WasUnstored(h Holding) bool { return l.index.isUnstoredAt(h.version) }

func (x *index) isUnstoredAt(id records.Identity) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.records.At(id.Key)
	return r != nil && r.UID == id.UID && x.isUnstored(r)
}

// NextOverdue returns when, from now, the grace of a record is over that nobody has seen the object of; false if there is none. Records
// that are overdue already do not count.
func (l *Ledger) NextOverdue() (in time.Duration, ok bool) {
	x := l.index
	x.mu.Lock()
	defer x.mu.Unlock()
	first := int64(0)
	for _, e := range x.pools {
		for _, handles := range e.unstored {
			for h := range handles {
				if end := x.records.Get(h).Seen + x.grace + 1; end > x.now() && (first == 0 || end < first) {
					first = end
				}
			}
		}
	}
	return time.Duration(first-x.now()) * time.Second, first != 0
}

// firstTry returns the prefix that another request for the claim's name has got, which was perhaps the same client's first try, if the
// pool gives that still: what is recorded for an object that may yet be stored, or promised to one.
func (x *index) firstTry(s *space, e *poolEntry, c Claim) (netip.Prefix, bool) {
	if c.Want.IsValid() || c.Ref.Name == "" || c.Ref.APIGroup != ipamv1.GroupVersion.Group {
		return netip.Prefix{}, false
	}
	var tried []netip.Prefix
	add := func(r *records.Record) {
		if r.Pool == e.ref && r.CIDR.Bits() == c.Bits {
			tried = append(tried, r.CIDR)
		}
	}
	for _, r := range x.records.Of(records.ClaimantOf(c.Ref)) {
		if x.isPending(r) && !r.Deleted {
			add(r)
		}
	}
	for mark := range x.promises {
		if records.ClaimantOf(mark.Claim) == records.ClaimantOf(c.Ref) {
			add(mark)
		}
	}
	slices.SortFunc(tried, netip.Prefix.Compare)
	for _, c.Want = range tried {
		if _, err := x.pick(s, e, c); err == nil {
			return c.Want, true
		}
	}
	return netip.Prefix{}, false
}

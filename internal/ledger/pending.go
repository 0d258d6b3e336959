// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"slices"
	"time"

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
func (x *index) isPending(r *record) bool { return awaitsObject(r) && x.isNew(r.seen) }

// awaitsObject says whether the record itself does not show that its object, of one of Weir's own kinds, was ever stored. Of an object that
// arrives no webhook was asked.
func awaitsObject(r *record) bool {
	return isOwnKind(r) && !r.owned && !r.confirmed && !r.released() && !r.arrived
}

// noteUnstored keeps the pool's list of records up to date whose object nobody has seen.
func (e *poolEntry) noteUnstored(r *record) {
	if !awaitsObject(r) || r.purpose == ipamv1.MovedPurpose {
		return
	}
	if e.unstored == nil {
		e.unstored = map[string]map[handle]struct{}{}
	}
	if e.unstored[r.claim.Namespace] == nil {
		e.unstored[r.claim.Namespace] = map[handle]struct{}{}
	}
	e.unstored[r.claim.Namespace][r.handle] = struct{}{}
}

func (e *poolEntry) forgetUnstored(r *record) {
	delete(e.unstored[r.claim.Namespace], r.handle)
	if len(e.unstored[r.claim.Namespace]) == 0 {
		delete(e.unstored, r.claim.Namespace)
	}
}

// isUnstored says whether nothing has shown yet that the record's object was stored.
func (x *index) isUnstored(r *record) bool {
	_, ok := r.pool.unstored[r.claim.Namespace][r.handle]
	return ok
}

// Stored notes that there is, or was, an object of Weir's own kinds of that UID. It only saves others from waiting: nothing is told by it
// that a live read does not prove.
func (l *Ledger) Stored(claim ipamv1.ClaimReference) {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	for _, r := range l.index.records.of(keyOf(claim)) {
		if r.claim.UID == claim.UID {
			r.pool.forgetUnstored(r)
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

func (x *index) isUnstoredAt(id identity) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.records.at(id.key)
	return r != nil && r.uid == id.uid && x.isUnstored(r)
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
				if end := x.records.get(h).seen + x.grace + 1; end > x.now() && (first == 0 || end < first) {
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
	add := func(r *record) {
		if r.pool == e && r.cidr.Bits() == c.Bits {
			tried = append(tried, r.cidr)
		}
	}
	for _, r := range x.records.of(keyOf(c.Ref)) {
		if x.isPending(r) && !r.left {
			add(r)
		}
	}
	for mark := range x.promises {
		if keyOf(mark.claim) == keyOf(c.Ref) {
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

// isOtherTry says whether a mark of this process is for another request for the name of what is asked for, at the very same prefix: the
// API server stores one of them at a time.
func isOtherTry(mark, asked *record) bool {
	isAlike := mark.cidr == asked.cidr && mark.pool == asked.pool && keyOf(mark.claim) == keyOf(asked.claim)
	isOther := mark.role == promised || mark.role == tentative && mark.claim.UID != asked.claim.UID
	return isAlike && isOther && isOwnKind(asked) && asked.claim.Name != ""
}

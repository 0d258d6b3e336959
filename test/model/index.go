// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// grace is how long a record may wait for its object to be stored.
const grace = requestTimeout

// entry is a record as the index knows it.
type entry struct {
	record
	age  int  // the creation revision; 0 if that is not certain
	seen int  // when this process first saw it
	won  bool // has won here
}

func (e entry) olderThan(other entry) bool { return e.age != 0 && other.age != 0 && e.age < other.age }

// index is a manager's view of the records: a position in the log, and the records that existed
// there.
type index struct {
	rules   *Rules
	server  *server // for its clock
	seen    int
	entries []entry
	kept    guarantee // what the pool keeps, as this manager's cache shows the pool
}

func (x *index) age(r record) int {
	switch {
	case r.created != 0:
		return r.created
	case r.isUnwritten() || !x.rules.AgeIsCertain:
		return r.version
	default:
		return 0
	}
}

func (x *index) find(id int) int {
	return slices.IndexFunc(x.entries, func(e entry) bool { return e.id == id })
}

// apply applies an event to the index.
func (x *index) apply(e event) {
	i := x.find(e.id)
	switch {
	case i >= 0 && e.gone:
		x.entries = slices.Delete(x.entries, i, i+1)
	case i >= 0:
		x.refresh(&x.entries[i], e.record)
	case !e.gone:
		x.entries = append(x.entries, entry{record: e.record, age: x.age(e.record), seen: x.server.clock})
	}
}

// refresh updates a known record. It keeps a certain age: an earlier version is nearer to the
// creation.
func (x *index) refresh(known *entry, r record) {
	known.record = r
	if known.age == 0 || !x.rules.AgeIsCertain {
		known.age = x.age(r)
	}
}

// markWon remembers a won judgement for as long as the record exists.
func (x *index) markWon(id int) {
	if i := x.find(id); i >= 0 {
		x.entries[i].won = true
	}
}

// isPending says whether the record may belong to a Weir claim that is not stored yet, but may
// still be.
func (x *index) isPending(e entry) bool {
	wait := grace
	if !x.rules.GraceOutlivesRequests {
		wait = 0
	}
	return x.rules.GraceForUnstored && e.weirKind && !e.owned && e.released == 0 && x.server.clock-e.seen <= wait &&
		(x.rules.GraceIsPerRecord || !x.isAnotherStored(e))
}

// isUnstored says whether nothing shows that the Weir claim was ever stored.
func (e entry) isUnstored() bool {
	return e.weirKind && !e.owned && !e.reservation && e.released == 0 && !e.adopts
}

// isAnotherStored says whether another Weir claim of the same name and addresses was stored.
func (x *index) isAnotherStored(e entry) bool {
	return slices.ContainsFunc(x.entries, func(other entry) bool {
		return other.uid != e.uid && other.name == e.name && other.cidr == e.cidr && other.owned
	})
}

// pendingFor returns the addresses recorded for another request of the claim's name that has not
// been stored yet.
func (x *index) pendingFor(name int, c claim) (space, bool) {
	for _, e := range x.entries {
		if e.name == name && x.isPending(e) && slices.Contains(c.candidates(), e.cidr) && c.mayHave(name, e.cidr, x.kept) {
			return e.cidr, true
		}
	}
	return noSpace, false
}

// recordedUnder returns the records of the name that are not released, whatever their UID.
func (x *index) recordedUnder(name int) []entry {
	return x.selectEntries(func(e entry) bool { return e.name == name && e.released == 0 })
}

func (x *index) selectEntries(is func(entry) bool) []entry {
	var found []entry
	for _, e := range x.entries {
		if is(e) {
			found = append(found, e)
		}
	}
	return found
}

// selectRecords returns the matching records with their age, ready to be released.
func (x *index) selectRecords(is func(entry) bool) []record {
	entries := x.selectEntries(is)
	found := make([]record, 0, len(entries))
	for _, e := range entries {
		found = append(found, x.withAge(e))
	}
	return found
}

// recordsOf returns the records that the release of a claim releases, found by its UID.
func (x *index) recordsOf(name, uid int) []record {
	return x.selectRecords(func(e entry) bool {
		return e.released == 0 && !e.reservation && (e.uid == uid || (!x.rules.ReleaseByUID && e.name == name))
	})
}

// withAge returns the record as the next write of a manager stores it: with its creation revision,
// if that is certain.
func (x *index) withAge(e entry) record {
	e.created = e.age
	return e.record
}

// answering returns the records that can be the answer to a claim. A terminating record can be only
// if it is known to have been the answer. A reservation never can.
func (x *index) answering(c claim, cidr space) []entry {
	return x.selectEntries(func(e entry) bool {
		known := e.won || e.weirKind && e.owned || !x.rules.TerminatingIsNotTakenOver
		return e.uid == c.uid && e.released == 0 && !e.reservation && (!e.terminating || known) && (cidr == noSpace || e.cidr == cidr)
	})
}

// hasWon says whether a record of the claim's UID for exactly these addresses has won here.
func (x *index) hasWon(uid int, cidr space) bool {
	return slices.ContainsFunc(x.entries, func(e entry) bool { return e.uid == uid && e.cidr == cidr && e.won })
}

// precedes says whether the claim has a record of the same addresses that is certainly older than
// this one.
func (x *index) precedes(uid int, e entry) bool {
	return slices.ContainsFunc(x.entries, func(mine entry) bool {
		return mine.uid == uid && mine.cidr == e.cidr && mine.released == 0 && !mine.terminating && mine.olderThan(e)
	})
}

// isRecordedByOtherUID says whether a claim of the same name and another UID has a record of the
// same addresses. Then the addresses stay in use, and do not cool down, when this record is
// released.
func (x *index) isRecordedByOtherUID(r record) bool {
	return slices.ContainsFunc(x.entries, func(e entry) bool {
		return e.name == r.name && e.uid != r.uid && e.cidr == r.cidr && e.carved == r.carved && e.released == 0 && !e.isUnstored()
	})
}

// retainedFor returns the addresses retained for the claims of a name, if their length is what the
// claim requests, and the pool hands them out to it.
func (x *index) retainedFor(name int, c claim) (space, bool) {
	for _, e := range x.entries {
		if e.name == name && e.retained && slices.Contains(c.candidates(), e.cidr) && c.mayHave(name, e.cidr, x.kept) {
			return e.cidr, true
		}
	}
	return noSpace, false
}

// serves says whether the claim's pool hands out addresses. The carved pool does when its block is
// bound.
func (x *index) serves(c claim, pool claim) bool {
	bound := func(e entry) bool { return e.block && e.owned && e.uid == pool.uid && e.released == 0 }
	return !c.carved || pool.block && pool.lives() && slices.ContainsFunc(x.entries, bound)
}

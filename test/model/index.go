// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// grace is for how long a record may wait for its object to be stored.
const grace = requestTimeout

// entry is a record as the index knows it.
type entry struct {
	record
	age  int  // the revision of creation; 0 if that is not certain
	seen int  // when this process first saw it
	won  bool // judged here, and undisputed
}

func (e entry) olderThan(other entry) bool { return e.age != 0 && other.age != 0 && e.age < other.age }

// index is a manager's view of the records: a position in the log, and what existed there.
type index struct {
	rules   *Rules
	server  *server // for the time
	seen    int
	entries []entry
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

// apply changes the index as the event says.
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

// refresh keeps a certain age: a version seen earlier is nearer to the creation.
func (x *index) refresh(known *entry, r record) {
	known.record = r
	if known.age == 0 || !x.rules.AgeIsCertain {
		known.age = x.age(r)
	}
}

// remember keeps a won judgement for as long as the record exists.
func (x *index) markWon(id int) {
	if i := x.find(id); i >= 0 {
		x.entries[i].won = true
	}
}

// isPending says whether the record may belong to an own claim that is not stored yet, but may still be.
func (x *index) isPending(e entry) bool {
	wait := grace
	if !x.rules.GraceOutlivesRequests {
		wait = 0
	}
	return x.rules.GraceForUnstored && e.weirKind && !e.owned && e.released == 0 && x.server.clock-e.seen <= wait &&
		(x.rules.GraceIsPerRecord || !x.isAnotherStored(e))
}

// isUnstored says whether nothing shows that the own claim was ever stored.
func (e entry) isUnstored() bool {
	return e.weirKind && !e.owned && !e.reservation && e.released == 0 && !e.adopts
}

// isAnotherStored says whether another own claim of the name was stored, and has the same.
func (x *index) isAnotherStored(e entry) bool {
	return slices.ContainsFunc(x.entries, func(other entry) bool {
		return other.uid != e.uid && other.name == e.name && other.cidr == e.cidr && other.owned
	})
}

// pendingFor returns what is recorded for another request for the claim's name that has not been stored yet.
func (x *index) pendingFor(name int, c claim) (space, bool) {
	for _, e := range x.entries {
		if e.name == name && x.isPending(e) && slices.Contains(c.candidates(), e.cidr) {
			return e.cidr, true
		}
	}
	return noSpace, false
}

// under returns what is recorded for claims of the name and not let go of, whatever their UID.
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

// copies returns such records as they are to be given up.
func (x *index) selectRecords(is func(entry) bool) []record {
	entries := x.selectEntries(is)
	found := make([]record, 0, len(entries))
	for _, e := range entries {
		found = append(found, x.withAge(e))
	}
	return found
}

// recordsOf returns what release lets go of for a claim, found by its UID.
func (x *index) recordsOf(name, uid int) []record {
	return x.selectRecords(func(e entry) bool {
		return e.released == 0 && !e.reservation && (e.uid == uid || (!x.rules.ReleaseByUID && e.name == name))
	})
}

// aged is the record as Weir's next write stores it: with the revision of its creation, if that is certain.
func (x *index) withAge(e entry) record {
	e.created = e.age
	return e.record
}

// answering returns the records that can be the answer to a claim. One that somebody has marked is so where it is known to have
// been, and a hold never.
func (x *index) answering(c claim, cidr space) []entry {
	return x.selectEntries(func(e entry) bool {
		known := e.won || e.weirKind && e.owned || !x.rules.TerminatingIsNotTakenOver
		return e.uid == c.uid && e.released == 0 && !e.reservation && (!e.terminating || known) && (cidr == noSpace || e.cidr == cidr)
	})
}

// hasWon says whether a record of the claim's UID for just these addresses has won here.
func (x *index) hasWon(uid int, cidr space) bool {
	return slices.ContainsFunc(x.entries, func(e entry) bool { return e.uid == uid && e.cidr == cidr && e.won })
}

// precedes says whether the claim has a record of the very same that was certainly made before this one.
func (x *index) precedes(uid int, e entry) bool {
	return slices.ContainsFunc(x.entries, func(own entry) bool {
		return own.uid == uid && own.cidr == e.cidr && own.released == 0 && !own.terminating && own.olderThan(e)
	})
}

// isHeldOn says whether a namesake of the claim holds the very same: then nothing is let go of with the record.
func (x *index) isRecordedByOtherUID(r record) bool {
	return slices.ContainsFunc(x.entries, func(e entry) bool {
		return e.name == r.name && e.uid != r.uid && e.cidr == r.cidr && e.carved == r.carved && e.released == 0 && !e.isUnstored()
	})
}

// retainedFor returns what is retained for the claims of a name, if it is as long as the claim wants.
func (x *index) retainedFor(name int, c claim) (space, bool) {
	for _, e := range x.entries {
		if e.name == name && e.retained && slices.Contains(c.candidates(), e.cidr) {
			return e.cidr, true
		}
	}
	return noSpace, false
}

// serves says whether the pool hands out anything: the carved one does where its block is bound.
func (x *index) serves(c claim, pool claim) bool {
	bound := func(e entry) bool { return e.block && e.owned && e.uid == pool.uid && e.released == 0 }
	return !c.carved || pool.block && pool.lives() && slices.ContainsFunc(x.entries, bound)
}

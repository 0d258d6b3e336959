// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// entry is a record as the index knows it.
type entry struct {
	record
	age int // the revision of creation; 0 if that is not certain
}

func (e entry) olderThan(other entry) bool { return e.age != 0 && other.age != 0 && e.age < other.age }

type verdict int

const (
	pending verdict = iota
	won
	lost
	blocked
	superseded
)

// index is a manager's view of the records: a position in the log, and what existed there.
type index struct {
	rules   *Rules
	seen    int
	entries []entry
}

func (x *index) age(r record) int {
	switch {
	case r.created != 0:
		return r.created
	case r.unwritten() || !x.rules.AgeIsCertain:
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
		x.entries = append(x.entries, entry{record: e.record, age: x.age(e.record)})
	}
}

// refresh keeps a certain age: a version seen earlier is nearer to the creation.
func (x *index) refresh(known *entry, r record) {
	known.record = r
	if known.age == 0 || !x.rules.AgeIsCertain {
		known.age = x.age(r)
	}
}

// isFree says whether no record overlaps the addresses.
func (x *index) isFree(cidr space) bool {
	return !slices.ContainsFunc(x.entries, func(e entry) bool { return e.cidr.overlaps(cidr) })
}

// judge compares a record with all others that overlap it.
func (x *index) judge(r entry) verdict {
	v := won
	for _, other := range x.entries {
		switch {
		case other.id == r.id || !other.cidr.overlaps(r.cidr):
		case other.olderThan(r):
			return lost
		default:
			v = blocked
		}
	}
	return v
}

// waiter waits for the judgement of one version of one record.
type waiter struct {
	record    record
	takenOver bool
	listening bool
	verdict   verdict
}

func (w *waiter) waits() bool { return w.listening && w.verdict == pending }

// show tells the waiter that the index has reached this version of its record.
func (w *waiter) show(x *index, e entry) {
	switch {
	case !w.waits() || e.id != w.record.id || e.version < w.record.version:
	case e.version == w.record.version || !x.rules.JudgeExactVersion:
		w.verdict = w.decide(x.rules, x.judge(e))
	default:
		w.verdict = superseded
	}
}

// decide says what a judgement means for who asked: a creator drops whatever has not won.
func (w *waiter) decide(rules *Rules, v verdict) verdict {
	switch {
	case v == won:
		return won
	case !w.takenOver, !rules.TakeoverKeepsWinners:
		return lost
	case !rules.OlderRecordRule:
		return blocked
	default:
		return v
	}
}

// miss tells the waiter that its record is gone, as of this revision.
func (w *waiter) miss(id, revision int) {
	if w.waits() && w.record.id == id && revision >= w.record.version {
		w.verdict = superseded
	}
}

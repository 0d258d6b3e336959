// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

type verdict int

const (
	pending verdict = iota
	won
	lost
	blocked
	superseded
)

// judge compares a record with all others that overlap it. The root's block, older than all and around all, is no record here: it
// overlaps whatever is handed out of a carved pool, and is meant to while that pool's own block says where it is carved from.
func (x *index) judge(r entry) verdict {
	v, uprooted := won, x.isUprooted(r.record)
	if uprooted {
		v = blocked
		if !x.rules.UprootedMayHaveWon {
			return lost
		}
	}
	for _, other := range x.entries {
		switch {
		case other.id == r.id || !x.isTaken(other) || !other.cidr.overlaps(r.cidr):
		case x.isSecond(other, r):
		case x.encloses(other.record, r.record) || x.encloses(r.record, other.record) || x.isPredecessor(other.record, r.record):
		case other.olderThan(r) && (!uprooted || !other.block):
			return lost
		default:
			v = blocked
		}
	}
	return v
}

// isSecond says whether the other is a second record of the same claim, made by a manager that had not seen this one, and not the older.
func (x *index) isSecond(other, r entry) bool {
	return x.rules.SecondYields && isSameAllocation(other, r) && !other.olderThan(r)
}

// saysSame says whether the claim can be told the very same by either of the two.
func isSameAllocation(a, b entry) bool {
	return !a.reservation && !b.reservation && a.released == 0 && b.released == 0 && a.uid == b.uid && a.cidr == b.cidr
}

// lostToItself says whether the record lost to an older one of its own claim.
func (x *index) lostToOwnRecord(r record) bool {
	i := x.find(r.id)
	return i >= 0 && slices.ContainsFunc(x.entries, func(e entry) bool { return isSameAllocation(e, x.entries[i]) && e.olderThan(x.entries[i]) })
}

// isRepeated says whether an older record of the same claim says the same, and is not about to go.
func (x *index) isRepeated(r entry) bool {
	return slices.ContainsFunc(x.entries, func(e entry) bool { return isSameAllocation(e, r) && e.olderThan(r) && !e.terminating })
}

// isTaken says whether the record keeps others from what it covers.
func (x *index) isTaken(e entry) bool {
	switch {
	case e.retained:
		return x.rules.RetainedIsTaken
	case e.released != 0:
		return x.rules.CoolingIsTaken
	default:
		return true
	}
}

// encloses says whether block is the block of the pool that the record comes from.
func (x *index) encloses(block, r record) bool {
	return block.block && block.cidr.contains(r.cidr) && (r.carved || !x.rules.OnlyAncestorsEnclose)
}

// isUprooted says whether the record comes from the carved pool, whose block is gone.
func (x *index) isUprooted(r record) bool {
	return r.carved && !slices.ContainsFunc(x.entries, func(e entry) bool { return e.block && e.released == 0 && !e.reservation })
}

// isPredecessor says whether the record was made for another claim of the same name, and is no reason for r to lose.
func (x *index) isPredecessor(other, r record) bool {
	isOther := other.uid != r.uid || other.reservation
	isAlike := isOther && other.name == r.name && other.cidr == r.cidr && other.carved == r.carved
	switch {
	case !isAlike:
		return false
	case r.adopts:
		return x.rules.AdoptionPassesOtherUIDs
	case other.released != 0:
		return other.retained && x.rules.RetainedPassesNextClaim
	case other.reservation:
		return r.block || !x.rules.MovedIsRefused
	default:
		return r.weirKind
	}
}

// isFree says whether nothing overlaps what would be recorded, other than what is meant to.
func (x *index) isFree(r record) bool {
	return !x.isUprooted(r) && !slices.ContainsFunc(x.entries, func(e entry) bool {
		return x.isTaken(e) && e.cidr.overlaps(r.cidr) && !x.encloses(e.record, r)
	})
}

// isOpen says that of what is asked for.
func (x *index) isFreeFor(r record) bool { return len(x.conflicting(r)) == 0 }

// inTheWay returns who holds what is asked for. What namesakes have left does not count, but for what is in another cluster.
func (x *index) conflicting(r record) []record {
	return x.selectRecords(func(e entry) bool {
		isLeft := x.isPredecessor(e.record, r) && (!e.hasMoved() || comesBack(r, e.record) || !x.rules.MovedIsRefused)
		return x.isTaken(e) && e.cidr.overlaps(r.cidr) && !x.encloses(e.record, r) && !isLeft
	})
}

// leftBehind says whether what the record has won has gone, or is just going, to another cluster. Since it was judged a hold may have
// taken the place of what it was judged with.
func (x *index) hasMovedAway(r record) bool {
	return x.rules.MovedIsRefused && slices.ContainsFunc(x.entries, func(e entry) bool {
		isPassed := x.isPredecessor(e.record, r) || e.reservation && e.name == r.name && e.carved == r.carved
		return e.cidr.overlaps(r.cidr) && e.hasMoved() && isPassed && !comesBack(r, e.record)
	})
}

// returns says whether the claim arrived with what it asks for. An own one that is held under its present UID is just leaving.
func comesBack(r, gone record) bool {
	isLeaving := gone.reservation && gone.weirKind && gone.uid == r.uid
	return r.adopts && !isLeaving
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
func (w *waiter) observe(x *index, e entry) {
	switch {
	case !w.waits() || e.id != w.record.id || e.version < w.record.version:
	case e.version == w.record.version || !x.rules.JudgeExactVersion:
		w.verdict = w.decide(x.rules, x.judge(e))
		if w.verdict == won {
			x.markWon(e.id)
		}
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
func (w *waiter) observeGone(id, revision int) {
	if w.waits() && w.record.id == id && revision >= w.record.version {
		w.verdict = superseded
	}
}

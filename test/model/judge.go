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

// judge compares a record with all others that overlap it. The root's block, older than all and
// around all, is no record here. It overlaps all records of a carved pool. That overlap is intended
// as long as the carved pool's own block says where the pool is carved from.
func (x *index) judge(r entry) verdict {
	v := x.judgeAlone(r.record)
	if v == lost {
		return lost
	}
	uprooted := v == blocked
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

// judgeAlone judges a record that no other overlaps.
func (x *index) judgeAlone(r record) verdict {
	switch {
	case !x.rules.KeptIsNotJudged && x.isKeptForOther(r):
		return lost
	case !x.isUprooted(r):
		return won
	case x.rules.UprootedMayHaveWon:
		return blocked
	default:
		return lost
	}
}

// isSecond says whether the other record is a second record of the same claim, and not the older
// one. A manager makes one if it has not seen the first.
func (x *index) isSecond(other, r entry) bool {
	return x.rules.SecondYields && isSameAllocation(other, r) && !other.olderThan(r)
}

// isSameAllocation says whether both records give the same addresses to the same claim.
func isSameAllocation(a, b entry) bool {
	return !a.reservation && !b.reservation && a.released == 0 && b.released == 0 && a.uid == b.uid && a.cidr == b.cidr
}

// lostToOwnRecord says whether the record lost to an older record of its own claim.
func (x *index) lostToOwnRecord(r record) bool {
	i := x.find(r.id)
	return i >= 0 && slices.ContainsFunc(x.entries, func(e entry) bool { return isSameAllocation(e, x.entries[i]) && e.olderThan(x.entries[i]) })
}

// isRepeated says whether an older record of the same claim has the same addresses, and is not
// terminating.
func (x *index) isRepeated(r entry) bool {
	return slices.ContainsFunc(x.entries, func(e entry) bool { return isSameAllocation(e, r) && e.olderThan(r) && !e.terminating })
}

// isTaken says whether the record blocks its addresses for others.
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

// isUprooted says whether the record comes from a carved pool whose block is gone.
func (x *index) isUprooted(r record) bool {
	return r.carved && !slices.ContainsFunc(x.entries, func(e entry) bool { return e.block && e.released == 0 && !e.reservation })
}

// isPredecessor says whether the other record was made for another claim of the same name, and r
// does not lose to it.
func (x *index) isPredecessor(other, r record) bool {
	isOtherUID := other.uid != r.uid || other.reservation
	isSame := isOtherUID && other.name == r.name && other.cidr == r.cidr && other.carved == r.carved
	switch {
	case !isSame:
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

// isFree says whether no record overlaps the addresses, other than the enclosing block.
func (x *index) isFree(r record) bool {
	return !x.isUprooted(r) && !slices.ContainsFunc(x.entries, func(e entry) bool {
		return x.isTaken(e) && e.cidr.overlaps(r.cidr) && !x.encloses(e.record, r)
	})
}

// isKeptForOther says whether the pool keeps the record's addresses for claims of another name.
func (x *index) isKeptForOther(r record) bool {
	return !r.adopts && r.name != x.kept.name && r.cidr.overlaps(x.kept.cidr)
}

// free returns the addresses that are free and that the pool hands out to the claim.
func (x *index) free(name int, c claim) []space {
	return slices.DeleteFunc(c.candidates(), func(s space) bool {
		return !c.mayHave(name, s, x.kept) || !x.isFree(c.recordFor(name, s))
	})
}

// isFreeFor says whether no record conflicts with r, with the exceptions of conflicting.
func (x *index) isFreeFor(r record) bool { return len(x.conflicting(r)) == 0 }

// conflicting returns the records that conflict with r. Records of earlier claims of the name do
// not, unless their claim is in another cluster.
func (x *index) conflicting(r record) []record {
	return x.selectRecords(func(e entry) bool {
		isPassed := x.isPredecessor(e.record, r) && (!e.hasMoved() || comesBack(r, e.record) || !x.rules.MovedIsRefused)
		return x.isTaken(e) && e.cidr.overlaps(r.cidr) && !x.encloses(e.record, r) && !isPassed
	})
}

// hasMovedAway says whether the addresses that the record has won are moving or have moved to
// another cluster. A reservation may have replaced the record that it was judged against.
func (x *index) hasMovedAway(r record) bool {
	return x.rules.MovedIsRefused && slices.ContainsFunc(x.entries, func(e entry) bool {
		isPassed := x.isPredecessor(e.record, r) || e.reservation && e.name == r.name && e.carved == r.carved
		return e.cidr.overlaps(r.cidr) && e.hasMoved() && isPassed && !comesBack(r, e.record)
	})
}

// comesBack says whether the claim was restored with its addresses. A Weir claim whose reservation
// names its present UID is only moving away.
func comesBack(r, moved record) bool {
	isMoving := moved.reservation && moved.weirKind && moved.uid == r.uid
	return r.adopts && !isMoving
}

// waiter waits for the judgement of one version of one record.
type waiter struct {
	record    record
	takenOver bool
	listening bool
	verdict   verdict
}

func (w *waiter) waits() bool { return w.listening && w.verdict == pending }

// observe is called when the index has reached a version of a record.
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

// decide translates a judgement for the waiting manager: a creator deletes its record unless it has
// won.
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

// observeGone is called when the index no longer has a record, as of this revision.
func (w *waiter) observeGone(id, revision int) {
	if w.waits() && w.record.id == id && revision >= w.record.version {
		w.verdict = superseded
	}
}

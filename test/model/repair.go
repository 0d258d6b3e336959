// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// repair repairs one record or one name at a time. It also covers what a claim's task cleans up
// under the name of its live claim. It takes the record from the index, and then reads claim and
// answer live:
//
//	an older record of its claim is the same   the younger is taken over, and deleted if it lost
//	no claim of the name                       a leftover answer is deleted, the record released
//	live claim, the record may be reported     correct, or left to the claim's task
//	live claim, the record is superfluous      released; by status see stray.go
//	no Weir claim of the record's UID          released, unless the claim may still be stored, or
//	                                           the live claim of the name needs the record
type repair struct {
	waiter
	releaser

	name   int
	found  entry // the zero value if only the name is checked
	claim  claim
	answer answer
	proof  int
	next   func(*repair)
}

func (rp *repair) step() {
	if rp.next == nil {
		rp.begin(rp.manager.random.IntN(len(rp.manager.index.entries) + 1))
		return
	}
	rp.next(rp)
}

// begin looks at the i-th record of the index, or at a random name if there is none.
func (rp *repair) begin(i int) {
	x, name, found := &rp.manager.index, rp.manager.random.IntN(names), entry{}
	if i < len(x.entries) {
		found = x.entries[i]
		name = found.name
	}
	if found.released != 0 { // left to the pool controller
		found = entry{}
	}
	rp.look(name, found)
}

// look looks at a record, or under a name.
func (rp *repair) look(name int, found entry) {
	x := &rp.manager.index
	*rp = repair{releaser: releaser{manager: rp.manager}, name: name, found: found}
	rp.claim = rp.manager.claims[rp.name]
	switch {
	case rp.found.uid != 0 && x.isRepeated(rp.found) && rp.manager.rules.SecondIsJudged:
		rp.next = (*repair).takeOver
	case rp.found.uid != 0 && x.isRepeated(rp.found):
		rp.release(modeDelete)
	case rp.name == weirName:
		rp.beginWeirKind()
	case rp.claim.lives() && rp.manager.server.isByStatus(rp.name):
		rp.next = (*repair).readStray
	case rp.claim.lives():
		rp.next = (*repair).readOwner
	default:
		rp.next = (*repair).readLeftover
	}
}

// takeOver makes the second record of a claim this process's own. Its creator may not have seen the
// first one, which may be gone by now.
func (rp *repair) takeOver() {
	old := rp.manager.index.withAge(rp.found)
	updated, ok := rp.manager.server.updateRecord(old.id, old.version, func(r *record) {
		r.touched, r.finalizer, r.created = true, true, max(r.created, old.created)
	})
	if !ok {
		rp.next = nil
		return
	}
	rp.waiter = waiter{record: updated, takenOver: true, listening: true}
	rp.next = (*repair).handleVerdict
}

func (rp *repair) handleVerdict() {
	switch rp.verdict {
	case pending:
	case lost:
		rp.manager.tally.repaired++
		rp.enqueue(modeDelete, rp.record)
		rp.next = (*repair).releasing
	default:
		rp.next = nil
	}
}

// readLeftover and readGone look under the name of a claim that the cache shows as gone.
func (rp *repair) readLeftover() {
	rp.answer = answer{}
	if left := rp.manager.readAnswers(rp.name); len(left) > 0 {
		rp.answer = left[0]
	}
	rp.next = (*repair).readGone
}

func (rp *repair) readGone() {
	switch isGone := rp.manager.readClaim(rp.name).uid == 0; {
	case !isGone:
		rp.next = nil
	case rp.answer.id != 0:
		rp.next = (*repair).deleteAnswer
	default:
		rp.next = (*repair).releaseUnlessKept
	}
}

func (rp *repair) deleteAnswer() {
	rp.manager.server.deleteAnswer(rp.answer)
	rp.next = (*repair).releaseUnlessKept
	if rp.manager.server.isByStatus(rp.name) {
		rp.next = (*repair).readLeftover // until none is left
	}
}

// readOwner and readOwnAnswer look under the name of a live claim.
func (rp *repair) readOwner() {
	rp.next = (*repair).readOwnAnswer
	if live := rp.manager.readClaim(rp.name); live.uid != rp.claim.uid || rp.claim.moving {
		rp.next = nil
	}
}

func (rp *repair) readOwnAnswer() {
	rp.answer = rp.manager.readAnswer(rp.name, rp.found.cidr)
	releasesNothing := rp.releasesNothing()
	switch {
	case rp.found.uid == 0 || !rp.isSuperfluous():
		rp.next = nil
	case releasesNothing && rp.found.reservation && rp.manager.index.isRecordedByOtherUID(rp.found.record):
		rp.release(modeDelete)
	case releasesNothing:
		rp.next = (*repair).deleteUnlessKept
	default:
		rp.next = (*repair).releaseUnlessKept
	}
}

// isSuperfluous says whether a record under the claim's name can be released. The record of the
// answer's addresses cannot, nor, before the claim has an answer of its own, any record of the
// claim.
func (rp *repair) isSuperfluous() bool {
	rules := rp.manager.rules
	answered, coversAnswer := rp.answer.id != 0 && rp.answer.uid == rp.claim.uid, rp.answer.cidr == rp.found.cidr
	switch {
	case rp.found.uid == rp.claim.uid:
		return answered && !coversAnswer || !answered && !rules.NoReleaseByAge
	case coversAnswer && answered:
		x := &rp.manager.index
		return x.hasWon(rp.claim.uid, rp.found.cidr) || x.precedes(rp.claim.uid, rp.found) || !rules.OtherUIDGoesLast
	case coversAnswer: // may have been reported to the earlier claim
		return false
	default:
		return true
	}
}

// releasesNothing says whether the release of the record frees nothing: it was not reported, or the
// claim's own answer has the same addresses.
func (rp *repair) releasesNothing() bool {
	if rp.found.uid == rp.claim.uid {
		return !rp.manager.index.hasWon(rp.claim.uid, rp.found.cidr)
	}
	return rp.answer.uid == rp.claim.uid && rp.answer.cidr == rp.found.cidr
}

// beginWeirKind looks at the record of a Weir claim. Its object is the only answer.
func (rp *repair) beginWeirKind() {
	if rp.found.uid != 0 && !rp.manager.index.isPending(rp.found) {
		rp.next = (*repair).readWeirClaim
	}
}

func (rp *repair) readWeirClaim() {
	live := rp.manager.readClaim(rp.name)
	switch {
	case live.uid == rp.found.uid, rp.isNeededBy(live):
		rp.next = nil
	case rp.found.isUnstored() && !rp.found.block: // not reported: no cooldown
		rp.next = (*repair).deleteUnlessKept
	case rp.found.block && live.uid == 0:
		rp.proof = len(rp.manager.server.log)
		rp.next = (*repair).proveEmpty
	default:
		rp.next = (*repair).releaseUnlessKept
	}
}

// isNeededBy says whether a record of another UID is all that keeps the addresses of a claim that
// was restored together with it.
func (rp *repair) isNeededBy(live claim) bool {
	x := &rp.manager.index
	return live.uid != 0 && live.status == rp.found.cidr && rp.manager.rules.OtherUIDGoesLast &&
		!x.hasWon(live.uid, live.status) && !live.ready
}

// proveEmpty waits until it is certain that no record comes from a pool that is gone.
func (rp *repair) proveEmpty() {
	x := &rp.manager.index
	switch {
	case x.seen < rp.proof:
	case len(x.selectEntries(func(e entry) bool { return e.carved })) > 0:
		rp.next = nil
	default:
		rp.next = (*repair).releaseUnlessKept
	}
}

// releaseUnlessKept and deleteUnlessKept read the record itself.
func (rp *repair) releaseUnlessKept() { rp.endUnlessKept(modeRelease) }
func (rp *repair) deleteUnlessKept()  { rp.endUnlessKept(modeDelete) }

func (rp *repair) endUnlessKept(mode releaseMode) {
	if rp.found.uid == 0 || rp.manager.isKept(rp.found.record) {
		rp.next = nil
		return
	}
	rp.release(mode)
}

func (rp *repair) release(mode releaseMode) {
	rp.manager.tally.repaired++
	rp.enqueue(mode, rp.manager.index.withAge(rp.found))
	rp.next = (*repair).releasing
}

func (rp *repair) releasing() {
	if rp.releaseStep() {
		rp.next = nil
	}
}

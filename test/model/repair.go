// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// repair is repair, and what tidies up under the name of a claim that lives; for one record or one name at a time. The record is
// read first, from the index, then claim and answer, live:
//
//	an older record of its claim says the same     the younger is taken over, and given up if it has lost
//	no claim of the name                           what is left of an answer is removed, and the record given up
//	the claim lives, the record can be told        right, or for the claim's own task to settle
//	the claim lives, the record never can          stray: given up
//	an own claim of the record's UID does not live  given up, unless it may be on its way, or is all that the living one has
type repair struct {
	waiter
	releaser

	name   int
	found  entry // the zero value if only the name is looked at
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

// begin looks at the i-th record of the index, or at any name if there is none.
func (rp *repair) begin(i int) {
	x := &rp.manager.index
	*rp = repair{releaser: releaser{manager: rp.manager}, name: rp.manager.random.IntN(names)}
	if i < len(x.entries) {
		rp.found = x.entries[i]
		rp.name = rp.found.name
	}
	if rp.found.released != 0 { // for the pool controller
		rp.found = entry{}
	}
	rp.claim = rp.manager.claims[rp.name]
	switch {
	case rp.found.uid != 0 && x.isRepeated(rp.found) && rp.manager.rules.SecondIsJudged:
		rp.next = (*repair).takeOver
	case rp.found.uid != 0 && x.isRepeated(rp.found):
		rp.release(modeDelete)
	case rp.name == weirName:
		rp.beginWeirKind()
	case rp.claim.lives():
		rp.next = (*repair).readOwner
	default:
		rp.next = (*repair).readLeftover
	}
}

// takeOver makes a second record of a claim this process's own: its creator may not have seen the first one, and that may be gone.
func (rp *repair) takeOver() {
	old := rp.manager.index.withAge(rp.found)
	held, ok := rp.manager.server.updateRecord(old.id, old.version, func(r *record) {
		r.touched, r.finalizer, r.created = true, true, max(r.created, old.created)
	})
	if !ok {
		rp.next = nil
		return
	}
	rp.waiter = waiter{record: held, takenOver: true, listening: true}
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

// readLeftover and readGone look under the name of a claim that is gone, as far as the cache knows.
func (rp *repair) readLeftover() {
	rp.answer = rp.manager.readAnswer(rp.name)
	rp.next = (*repair).readGone
}

func (rp *repair) readGone() {
	switch gone := rp.manager.readClaim(rp.name).uid == 0; {
	case !gone:
		rp.next = nil
	case rp.answer.id != 0:
		rp.next = (*repair).deleteAnswer
	default:
		rp.next = (*repair).releaseUnlessKept
	}
}

func (rp *repair) deleteAnswer() {
	rp.manager.server.deleteAnswer(rp.name, rp.answer)
	rp.next = (*repair).releaseUnlessKept
}

// readOwner and readItsAnswer look under the name of a claim that lives.
func (rp *repair) readOwner() {
	rp.next = (*repair).readOwnAnswer
	if live := rp.manager.readClaim(rp.name); live.uid != rp.claim.uid || rp.claim.moving {
		rp.next = nil
	}
}

func (rp *repair) readOwnAnswer() {
	rp.answer = rp.manager.readAnswer(rp.name)
	void := rp.releasesNothing()
	switch {
	case rp.found.uid == 0 || !rp.isSuperfluous():
		rp.next = nil
	case void && rp.found.reservation && rp.manager.index.isRecordedByOtherUID(rp.found.record):
		rp.release(modeDelete)
	case void:
		rp.next = (*repair).deleteUnlessKept
	default:
		rp.next = (*repair).releaseUnlessKept
	}
}

// isStray says whether a record under the claim's name can go: not what holds the answer's addresses, nor, before there is an
// answer of the claim's own, any record of the claim.
func (rp *repair) isSuperfluous() bool {
	rules := rp.manager.rules
	answered, holdsAnswer := rp.answer.id != 0 && rp.answer.uid == rp.claim.uid, rp.answer.cidr == rp.found.cidr
	switch {
	case rp.found.uid == rp.claim.uid:
		return answered && !holdsAnswer || !answered && !rules.NoReleaseByAge
	case holdsAnswer && answered:
		x := &rp.manager.index
		return x.hasWon(rp.claim.uid, rp.found.cidr) || x.precedes(rp.claim.uid, rp.found) || !rules.OtherUIDGoesLast
	case holdsAnswer: // the earlier claim may have been told
		return false
	default:
		return true
	}
}

// isVoid says whether nothing is let go of: nobody was told of the record, or the claim's own holds the same.
func (rp *repair) releasesNothing() bool {
	if rp.found.uid == rp.claim.uid {
		return !rp.manager.index.hasWon(rp.claim.uid, rp.found.cidr)
	}
	return rp.answer.uid == rp.claim.uid && rp.answer.cidr == rp.found.cidr
}

// beginOwn looks at the record of an own claim. Its object is the only answer.
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
	case rp.found.isUnstored() && !rp.found.block: // nobody was told of it: it need not cool
		rp.next = (*repair).deleteUnlessKept
	case rp.found.block && live.uid == 0:
		rp.proof = len(rp.manager.server.log)
		rp.next = (*repair).proveEmpty
	default:
		rp.next = (*repair).releaseUnlessKept
	}
}

// needs says whether a namesake's record is all that keeps the addresses of a claim that arrived together with it.
func (rp *repair) isNeededBy(live claim) bool {
	x := &rp.manager.index
	return live.uid != 0 && live.status == rp.found.cidr && rp.manager.rules.OtherUIDGoesLast &&
		!x.hasWon(live.uid, live.status) && !live.ready
}

// proveEmpty waits until it is certain that nothing is handed out of a pool that is gone.
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

// partUnlessKept and dropUnlessKept read the record itself.
func (rp *repair) releaseUnlessKept() { rp.endUnlessKept(modeRelease) }
func (rp *repair) deleteUnlessKept()  { rp.endUnlessKept(modeDelete) }

func (rp *repair) endUnlessKept(how releaseMode) {
	if rp.found.uid == 0 || rp.manager.isKept(rp.found.record) {
		rp.next = nil
		return
	}
	rp.release(how)
}

func (rp *repair) release(how releaseMode) {
	rp.manager.tally.repaired++
	rp.enqueue(how, rp.manager.index.withAge(rp.found))
	rp.next = (*repair).releasing
}

func (rp *repair) releasing() {
	if rp.releaseStep() {
		rp.next = nil
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// checkAnswer handles an answer that exists under the claim's name:
//
//	carries the claim's UID, recorded          it is the answer
//	carries the claim's UID, or has no owner   adopted: recorded at exactly its addresses
//	carries the UID of another live claim      this claim is gone; nothing to do
//	carries the UID of a claim that is gone    leftover: deleted
func (t *task) checkAnswer() {
	switch {
	case t.answer.uid == t.claim.uid && t.isRecorded():
		t.ensureOwner()
	case t.answer.uid == t.claim.uid, t.answer.uid == 0:
		t.adopt()
	case !t.manager.rules.NoForeignAnswer:
		t.next = (*task).report
	case t.manager.rules.LiveReadBeforeAnswerDelete:
		t.next = (*task).proveLeftover
	default:
		t.next = (*task).deleteLeftover
	}
}

// isRecorded says whether the claim certainly has the record of its answer. The existence of the
// record proves nothing: it may be uncommitted, or may have lost. It must have won here, or the
// claim must be ready. If the name has records of other UIDs too, which will be deleted, it must
// have won here.
func (t *task) isRecorded() bool {
	x := &t.manager.index
	if !t.manager.rules.AdoptionIsRecorded {
		return true
	}
	won := x.hasWon(t.claim.uid, t.answer.cidr)
	if len(x.recordedUnder(t.name)) > 1 && !won {
		return false
	}
	isIts := func(e entry) bool { return e.uid == t.claim.uid && e.cidr == t.answer.cidr && !e.reservation }
	beyondDoubt := won || t.claim.ready || !t.manager.rules.RecordMustHaveWon
	return beyondDoubt && slices.ContainsFunc(x.entries, isIts)
}

// adopt records the addresses of an answer that exists already.
func (t *task) adopt() {
	r := t.claim.recordFor(t.name, t.answer.cidr)
	r.adopts = true
	t.recordExisting(r, (*task).ensureOwner)
}

// recordExisting records exactly these addresses for the claim, if no other claim has them.
func (t *task) recordExisting(r record, onWon func(*task)) {
	t.requested, t.onWon = r.cidr, onWon
	switch {
	case t.reuse():
	case t.manager.index.isFreeFor(r):
		t.waiter = waiter{record: r}
		t.next = (*task).create
	case t.manager.rules.AdoptionReleasesNothing:
		t.next = (*task).reportConflict
	default:
		t.releaseThen((*task).stop, t.manager.index.conflicting(r)...)
	}
}

// ensureOwner puts back the owner of an answer that has lost it, and then updates the status if
// that does not name the answer.
func (t *task) ensureOwner() {
	switch {
	case t.answer.uid == 0 && t.manager.rules.OwnerIsProved:
		t.next = (*task).proveOwner
	case t.answer.uid == 0:
		t.next = (*task).setOwner
	case t.claim.status == t.answer.cidr && !t.claim.conflict:
		t.stop()
	default:
		t.next = (*task).report
	}
}

// proveOwner reads the claim live: a later claim of the name may have been restored with the
// answer.
func (t *task) proveOwner() {
	if t.manager.server.claims[t.name].uid != t.claim.uid {
		t.stop()
		return
	}
	t.next = (*task).setOwner
}

func (t *task) setOwner() {
	if !t.manager.server.setAnswerOwner(t.answer, t.claim.uid) {
		t.stop()
		return
	}
	t.answer.uid = t.claim.uid
	t.next = (*task).report
}

// proveLeftover reads which of the two claims is gone.
func (t *task) proveLeftover() {
	if t.manager.server.claims[t.name].uid != t.claim.uid {
		t.stop()
		return
	}
	t.next = (*task).deleteLeftover
}

// deleteLeftover deletes the answer of a claim that is gone, and releases that claim's records.
func (t *task) deleteLeftover() {
	t.manager.server.deleteAnswer(t.answer)
	t.manager.tally.leftovers++
	t.releaseThen((*task).stop, t.manager.index.recordsOf(t.name, t.answer.uid)...)
}

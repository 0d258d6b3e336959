// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// recognize deals with an answer that exists under the claim's name:
//
//	carries the claim's UID, recorded          it is the answer
//	carries the claim's UID, or has lost it    adopted: recorded at exactly its addresses
//	carries another claim's UID, that lives    our claim is dead; nothing to do
//	carries another claim's UID, that died     left over: removed
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

// isRecorded says whether the claim's record of its answer is beyond doubt. That one exists proves nothing: it may be half-made, or
// have lost. It has won here, or the claim has been told so. Where a namesake's is there as well, which is to be dropped, it must have
// won here.
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

// adopt records what the claim came with.
func (t *task) adopt() {
	r := t.claim.recordFor(t.name, t.answer.cidr)
	r.adopts = true
	t.recordExisting(r, (*task).ensureOwner)
}

// take records just these addresses for the claim, if nobody else holds them.
func (t *task) recordExisting(r record, wins func(*task)) {
	t.requested, t.onWon = r.cidr, wins
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

// own puts back the owner of an answer that has lost it, and goes on to the status if that does not say so yet.
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

// proveOwner reads whether it is ours: a later claim of the name may have come with it.
func (t *task) proveOwner() {
	if t.manager.server.claims[t.name].uid != t.claim.uid {
		t.stop()
		return
	}
	t.next = (*task).setOwner
}

func (t *task) setOwner() {
	if !t.manager.server.setAnswerOwner(t.name, t.answer.id, t.claim.uid) {
		t.stop()
		return
	}
	t.answer.uid = t.claim.uid
	t.next = (*task).report
}

// proveLeftOver reads which of the two claims is dead.
func (t *task) proveLeftover() {
	if t.manager.server.claims[t.name].uid != t.claim.uid {
		t.stop()
		return
	}
	t.next = (*task).deleteLeftover
}

// discard removes the answer of a dead claim, and with it that claim's records.
func (t *task) deleteLeftover() {
	t.manager.server.deleteAnswer(t.name, t.answer)
	t.manager.tally.leftovers++
	t.releaseThen((*task).stop, t.manager.index.recordsOf(t.name, t.answer.uid)...)
}

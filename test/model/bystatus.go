// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// answerByStatus handles a claim whose answers are named after their addresses. The write of its
// status is the commit: it names the version of the claim that was read at the beginning.
//
//	its status names an answer        that one and no other, made anew if it is gone
//	restored, one answer names it     adopted, then committed
//	restored, several answers         a conflict: nobody can tell which one was reported
//	restored, no answer               the mark is removed: from now on like any other
//	one answer or several             made for it: any of them is adopted, then committed
//	no answer                         choose -> ... -> commit -> report
func (t *task) answerByStatus() {
	m := t.manager
	switch {
	case t.claim.status != noSpace && m.rules.StatusStays:
		t.findReported(m.answers[m.server.slot(t.name, t.claim.status)], (*task).readReported)
	case t.claim.arrived && m.rules.ArrivedIsListed:
		t.next = (*task).listAnswers
	default:
		t.pickAnswer(m.answers.naming(t.name))
	}
}

// listAnswers reads from the server which answers name the claim.
func (t *task) listAnswers() { t.pickAnswer(t.manager.server.answers.naming(t.name)) }

// pickAnswer continues with one of the answers that name the claim.
func (t *task) pickAnswer(found []answer) {
	isAnothers := func(a answer) bool { return a.uid != 0 && a.uid != t.claim.uid }
	its := slices.DeleteFunc(found, isAnothers)
	isReported := func(a answer) bool { return a.cidr == t.claim.status }
	switch i := slices.IndexFunc(its, isReported); {
	case i >= 0: // only without StatusStays
		t.answer = its[i]
		t.checkAnswer()
	case t.claim.arrived && len(its) > 1 && t.manager.rules.SeveralAreNotChosen:
		t.manager.tally.several++
		t.secure(its[t.manager.random.IntN(len(its))])
	case len(its) > 0:
		t.answer = its[t.manager.random.IntN(len(its))]
		t.checkAnswer()
	case t.claim.arrived:
		t.next = (*task).endArrival
	default:
		t.next = (*task).choose
	}
}

// secure records an answer that a claim was restored with: it may be the one that is in use.
func (t *task) secure(a answer) {
	r := t.claim.recordFor(t.name, a.cidr)
	r.adopts = true
	t.recordExisting(r, (*task).reportConflict)
}

func (t *task) endArrival() {
	t.manager.server.endArrival(t.name, t.claim)
	t.stop()
}

// readReported reads the answer that the status names from the server.
func (t *task) readReported() {
	s := t.manager.server
	t.findReported(s.answers[s.slot(t.name, t.claim.status)], (*task).recordReported)
}

// findReported continues with the answer that the status names, or, if this is none to the claim,
// with another step.
func (t *task) findReported(a answer, otherwise func(*task)) {
	t.answer = a
	switch {
	case a.id != 0 && a.name == t.name:
		t.checkAnswer()
	case a.id != 0: // of another claim, which cannot commit it
		t.stop()
	default:
		t.next = otherwise
	}
}

// recordReported records the reported addresses, if necessary, and makes their answer anew.
func (t *task) recordReported() {
	t.recordExisting(t.claim.recordFor(t.name, t.claim.status), (*task).commit)
}

// readNamed reads the answer that has the name of the task's own. That of another claim is late or
// superfluous, and goes. The record stays until then: another manager may know that it has won, and
// be about to commit.
func (t *task) readNamed() {
	s := t.manager.server
	t.answer = s.answers[s.slot(t.name, t.record.cidr)]
	switch {
	case t.answer.id == 0:
		t.next = (*task).commit
	case t.answer.name == t.name:
		t.checkAnswer()
	case !t.manager.rules.NameClashDropsNothing:
		t.manager.tally.namesTaken++
		t.deleteThen((*task).stop)
	case t.requested != noSpace, t.stuck != 0:
		t.stop()
	default:
		t.manager.tally.namesTaken++
		t.stuck = t.record.id
		t.next = (*task).choose
	}
}

// commitStatus is the commit. If the claim has changed since, everything begins anew.
func (t *task) commitStatus() {
	if t.manager.server.commitStatus(t.name, t.claim, t.answer.cidr) {
		t.manager.tally.committed++
	} else {
		t.manager.tally.refused++
	}
	t.stop()
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// task is what a manager does for the claim of one name. Every step reads or writes once. Between
// two steps anything can happen, and for any length of time.
//
//	begin -> choose -> create | takeOver -> handleVerdict, when the watch shows the record
//	            \-> prove, then report exhaustion
//	  won: commit -> report
//	         \-> readAnswer -> report, or proveLeftover -> deleteLeftover
//	  lost: delete, and begin again; blocked: choose another; superseded: stop
//
// For an existing answer see adopt.go, for a claim that is answered by status bystatus.go, for a Weir
// claim bind.go, and for deletion release.go.
type task struct {
	waiter
	releaser

	manager      *manager
	name         int
	claim        claim // as the cache showed it at the beginning
	answer       answer
	requested    space         // the addresses of the record; noSpace if the manager chooses
	stuck        int           // the record that could neither win nor be deleted
	proof        int           // the log position that the index must reach
	kept         []record      // records retained or reserved for the claim
	onWon        func(t *task) // the step after a record has won
	onVerdict    func(t *task) // the step that waits for the verdict
	next         func(t *task)
	afterRelease func(t *task) // the step after the releases
}

// step does the next step. After the last one it begins again.
func (t *task) step() {
	if t.next == nil {
		t.begin()
		return
	}
	t.next(t)
}

func (t *task) stop() {
	*t = task{manager: t.manager, name: t.name}
	t.releaser.manager = t.manager
}

func (t *task) begin() {
	t.stop()
	t.claim, t.answer = t.manager.claims[t.name], t.manager.answers[t.name]
	switch {
	case t.claim.uid == 0, t.claim.moving:
	case t.claim.terminating:
		t.beginRelease()
	case !t.manager.index.serves(t.claim, t.manager.claims[weirName]): // waits for its pool
	case t.claim.weirKind:
		t.bind()
	case t.manager.server.isByStatus(t.name):
		t.answerByStatus()
	case t.answer.id != 0:
		t.checkAnswer()
	default:
		t.next = (*task).choose
	}
}

// choose reuses a record that the claim already has, or chooses free addresses.
func (t *task) choose() {
	x := &t.manager.index
	t.onWon, t.requested = (*task).commit, noSpace
	if t.reuse() {
		return
	}
	free := x.free(t.name, t.claim)
	switch {
	case len(free) > 0:
		t.waiter = waiter{record: t.claim.recordFor(t.name, free[t.manager.random.IntN(len(free))])}
		t.next = (*task).create
	case t.stuck != 0: // busy, not exhausted
		t.stop()
	default:
		t.proof = len(t.manager.server.log)
		t.next = (*task).prove
	}
}

// reuse continues with a record that the claim already has: one that has won here, or else one that
// is taken over; not with the one that it is stuck with.
func (t *task) reuse() bool {
	made := slices.DeleteFunc(t.manager.index.answering(t.claim, t.requested), func(e entry) bool { return e.id == t.stuck })
	if len(made) == 0 {
		return false
	}
	pick := made[t.manager.random.IntN(len(made))]
	t.next = (*task).takeOver
	if i := slices.IndexFunc(made, func(e entry) bool { return e.won }); i >= 0 {
		pick, t.next = made[i], t.onWon
	}
	t.waiter = waiter{record: t.manager.index.withAge(pick)}
	return true
}

// prove waits until the index is as new as the question.
func (t *task) prove() {
	x := &t.manager.index
	if x.seen < t.proof {
		return
	}
	if len(x.free(t.name, t.claim)) > 0 {
		t.next = (*task).choose
		return
	}
	t.manager.server.setExhausted(t.name, t.claim)
	t.manager.tally.exhausted++
	t.stop()
}

// create stores the record. The claim is stored already, so the record has an owner.
func (t *task) create() {
	t.record.owned = true
	t.record = t.manager.server.createRecord(t.record)
	t.record.created = t.record.version
	t.awaitVerdict(false, (*task).handleVerdict)
}

// takeOver makes the record this manager's own. Any write that its creator still attempts fails
// from now on.
func (t *task) takeOver() {
	if !t.updateRecord(func(r *record) { r.touched = true }) {
		t.stop()
		return
	}
	t.manager.tally.takeovers++
	t.awaitVerdict(true, (*task).handleVerdict)
}

// updateRecord changes the task's record at its version.
func (t *task) updateRecord(change func(*record)) bool {
	old := t.record
	updated, ok := t.manager.server.updateRecord(old.id, old.version, func(r *record) {
		change(r)
		r.created = max(r.created, old.created)
		r.finalizer = r.finalizer || t.manager.rules.TakeoverSetsFinalizer
	})
	if ok {
		t.record = updated
	}
	return ok
}

func (t *task) awaitVerdict(takenOver bool, onVerdict func(*task)) {
	t.takenOver, t.listening = takenOver, t.manager.rules.WaiterBeforeWrite
	t.onVerdict, t.next = onVerdict, onVerdict
	if !t.listening {
		t.next = (*task).listen
	}
}

// listen registers the waiter too late.
func (t *task) listen() {
	t.listening = true
	t.next = t.onVerdict
}

// handleVerdict waits for the verdict and acts on it.
func (t *task) handleVerdict() {
	t.manager.tally.verdicts[t.verdict]++
	switch {
	case t.verdict == pending:
	case t.verdict == won && !t.takenOver && t.manager.index.hasMovedAway(t.record):
		t.deleteThen((*task).reportConflict)
	case t.verdict == won:
		t.next = t.onWon
	case t.verdict == lost:
		t.deleteThen((*task).begin)
	case t.verdict == blocked && t.requested == noSpace:
		t.stuck = t.record.id
		t.next = (*task).choose
	default:
		t.stop()
	}
}

// deleteThen deletes the task's own record, at the version that its own write made.
func (t *task) deleteThen(after func(*task)) {
	t.queue, t.anyVersion = []queuedRelease{{record: t.record}}, !t.manager.rules.DeleteNamesVersion
	t.next, t.afterRelease = (*task).releasing, after
}

// releaseThen releases records, and then continues with the next step.
func (t *task) releaseThen(after func(*task), records ...record) {
	t.enqueue(modeRelease, records...)
	t.next, t.afterRelease = (*task).releasing, after
}

func (t *task) releasing() {
	switch done := t.releaseStep(); {
	case done && t.failed:
		t.stop()
	case done:
		t.next = t.afterRelease
	}
}

// commit creates the answer. If its name is the claim's, only one can exist. Else the status says
// which one counts.
func (t *task) commit() {
	stored, ok := t.manager.server.createAnswer(t.name, answer{uid: t.claim.uid, cidr: t.record.cidr})
	t.answer, t.next = stored, (*task).report
	switch byStatus := t.manager.server.isByStatus(t.name); {
	case !ok && byStatus:
		t.next = (*task).readNamed
	case !ok:
		t.next = (*task).readAnswer
	}
}

func (t *task) readAnswer() {
	t.answer = t.manager.server.answers[t.name]
	switch {
	case t.answer.id == 0:
		t.next = (*task).commit
	case t.answer.uid == t.claim.uid && t.answer.cidr != t.record.cidr:
		t.manager.tally.mismatches++
		if t.manager.rules.WinnersCool { // the record is left to repair
			t.checkAnswer()
			return
		}
		t.deleteThen((*task).checkAnswer)
	default:
		t.checkAnswer()
	}
}

func (t *task) report() {
	if t.manager.server.isByStatus(t.name) {
		t.commitStatus()
		return
	}
	uid := t.claim.uid
	if !t.manager.rules.StatusNamesUID {
		uid = 0
	}
	t.manager.server.setStatus(t.name, uid, t.answer.cidr)
	t.stop()
}

// reportConflict reports that another claim has the addresses. Both claims stay as they are.
func (t *task) reportConflict() {
	t.manager.server.setConflict(t.name, t.claim)
	t.manager.tally.conflicts++
	t.stop()
}

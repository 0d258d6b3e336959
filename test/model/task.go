// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// task is what a manager does for the claim of one name. Every step reads or writes once; between two steps anything can
// happen, and for any length of time.
//
//	begin -> reserve -> create | takeOver -> heed the verdict, which the watch brings
//	            \-> prove, then told that nothing is free
//	  won: commit -> report
//	         \-> readAnswer -> report, or drop and report, or proveLeftOver -> discard
//	  lost: drop, and again; blocked: reserve something else; superseded: stop
//	begin -> proveDead -> releaseAnswer -> releaseRecords -> forgetClaim
type task struct {
	waiter
	dropper

	manager *manager
	name    int
	claim   claim // as the cache showed it at the beginning
	answer  answer
	stuck   int // the record that could neither win nor be dropped
	proof   int // the position of the log that the index must reach before "exhausted"
	next    func(*task)
	after   func(*task) // the drop
}

func (t *task) idle() bool { return t.next == nil }

// step does the next step, and begins anew after the last.
func (t *task) step() {
	if t.next == nil {
		t.begin()
		return
	}
	t.next(t)
}

func (t *task) stop() {
	*t = task{manager: t.manager, name: t.name}
	t.dropper.manager = t.manager
}

func (t *task) begin() {
	t.stop()
	t.claim, t.answer = t.manager.claims[t.name], t.manager.answers[t.name]
	switch {
	case t.claim.terminating:
		t.next = (*task).proveDead
	case t.claim.uid == 0 || t.claim.own:
	case t.answer.uid != 0:
		t.recognize()
	default:
		t.next = (*task).reserve
	}
}

// recognize deals with an answer that exists under the claim's name.
func (t *task) recognize() {
	ours := t.answer.uid == t.claim.uid
	switch {
	case ours && t.claim.status == t.answer.cidr:
		t.stop()
	case ours, !t.manager.rules.NoForeignAnswer:
		t.next = (*task).report
	case t.manager.rules.LiveReadBeforeDiscard:
		t.next = (*task).proveLeftOver
	default:
		t.next = (*task).discard
	}
}

// reserve takes up a record that the claim has already, or chooses what is free.
func (t *task) reserve() {
	x := &t.manager.index
	if made := t.halfMade(); len(made) > 0 && t.stuck == 0 {
		t.waiter = waiter{record: made[0]}
		if t.manager.rules.TakesUpEveryRecord {
			t.record = made[t.manager.random.IntN(len(made))]
		}
		t.next = (*task).takeOver
		return
	}
	free := slices.DeleteFunc(t.claim.candidates(), func(s space) bool { return !x.isFree(s) })
	switch {
	case len(free) > 0:
		t.waiter = waiter{record: record{name: t.name, uid: t.claim.uid, cidr: free[t.manager.random.IntN(len(free))]}}
		t.next = (*task).create
	case t.stuck != 0: // busy, not exhausted
		t.stop()
	default:
		t.proof = len(t.manager.server.log)
		t.next = (*task).prove
	}
}

// halfMade returns the records of the claim that can be taken over.
func (t *task) halfMade() []record {
	return slices.DeleteFunc(t.manager.recordsOf(t.name, t.claim.uid), func(r record) bool {
		return r.uid != t.claim.uid || (r.terminating && t.manager.rules.LeaveMarkedAlone)
	})
}

// prove waits until the index is as new as the question.
func (t *task) prove() {
	if t.manager.index.seen < t.proof {
		return
	}
	x := &t.manager.index
	if slices.ContainsFunc(t.claim.candidates(), x.isFree) {
		t.next = (*task).reserve
		return
	}
	t.manager.server.setExhausted(t.name, t.claim.uid)
	t.manager.tally.exhausted++
	t.stop()
}

func (t *task) create() {
	t.record = t.manager.server.createRecord(t.record)
	t.record.created = t.record.version
	t.await(false)
}

// takeOver makes the record this manager's own: whatever its creator still wants to do to it fails from now on.
func (t *task) takeOver() {
	old := t.record
	taken, ok := t.manager.server.updateRecord(old.id, old.version, func(r *record) {
		r.created, r.touched = old.created, true
		r.finalizer = r.finalizer || t.manager.rules.TakeoverGuards
	})
	if !ok {
		t.stop()
		return
	}
	t.record = taken
	t.manager.tally.takeovers++
	t.await(true)
}

func (t *task) await(takenOver bool) {
	t.takenOver, t.listening = takenOver, t.manager.rules.WaiterBeforeWrite
	t.next = (*task).heed
	if !t.listening {
		t.next = (*task).listen
	}
}

// listen registers the waiter too late.
func (t *task) listen() {
	t.listening = true
	t.next = (*task).heed
}

// heed waits for the verdict and acts on it.
func (t *task) heed() {
	t.manager.tally.verdicts[t.verdict]++
	switch t.verdict {
	case pending:
	case won:
		t.next = (*task).commit
	case lost:
		t.drop((*task).begin)
	case blocked:
		t.stuck = t.record.id
		t.next = (*task).reserve
	case superseded:
		t.stop()
	}
}

// drop drops the task's own record, at the version that its own write made.
func (t *task) drop(after func(*task)) {
	t.queue, t.blind = []record{t.record}, !t.manager.rules.DropNamesVersion
	t.next, t.after = (*task).dropping, after
}

func (t *task) dropping() {
	if t.dropStep() {
		t.next = t.after
	}
}

// commit creates the answer. Its name is the claim's, so that only one can exist.
func (t *task) commit() {
	stored, ok := t.manager.server.createAnswer(t.name, answer{uid: t.claim.uid, cidr: t.record.cidr})
	t.answer, t.next = stored, (*task).report
	if !ok {
		t.next = (*task).readAnswer
	}
}

func (t *task) readAnswer() {
	t.answer = t.manager.server.answers[t.name]
	switch {
	case t.answer.uid == 0:
		t.next = (*task).commit
	case t.answer.uid == t.claim.uid && t.answer.cidr != t.record.cidr:
		t.manager.tally.voids++
		t.drop((*task).report)
	default:
		t.recognize()
	}
}

// proveLeftOver reads which of the two claims is dead.
func (t *task) proveLeftOver() {
	if t.manager.server.claims[t.name].uid != t.claim.uid {
		t.stop()
		return
	}
	t.next = (*task).discard
}

// discard removes the answer of a dead claim, and with it that claim's records.
func (t *task) discard() {
	t.manager.server.deleteAnswer(t.name, t.answer.id)
	t.manager.tally.discards++
	t.queue = t.manager.recordsOf(t.name, t.answer.uid)
	t.next, t.after = (*task).dropping, (*task).stop
}

func (t *task) report() {
	uid := t.claim.uid
	if !t.manager.rules.StatusNamesUID {
		uid = 0
	}
	t.manager.server.setStatus(t.name, uid, t.answer.cidr)
	t.stop()
}

// proveDead reads whether the claim is being deleted indeed.
func (t *task) proveDead() {
	if c := t.manager.readClaim(t.name); c.uid != t.claim.uid || !c.terminating {
		t.stop()
		return
	}
	t.next = (*task).releaseAnswer
}

func (t *task) releaseAnswer() {
	if a := t.manager.readAnswer(t.name); a.uid == t.claim.uid {
		t.manager.server.deleteAnswer(t.name, a.id)
	}
	t.next = (*task).releaseRecords
}

func (t *task) releaseRecords() {
	t.queue = t.manager.recordsOf(t.name, t.claim.uid)
	t.next, t.after = (*task).dropping, (*task).forgetClaim
}

// forgetClaim takes Weir's finalizer off the claim.
func (t *task) forgetClaim() {
	t.manager.server.removeClaim(t.name, t.claim.uid)
	t.stop()
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// A scenario is the scripted beginning of a walk, for states that random steps alone reach too
// seldom. It suspends the actors that must wait, and leaves the rest to chance.
type scenario func(w *world)

// run lets a manager's actor take a number of steps.
func (w *world) run(m, actor, steps int) {
	for range steps {
		w.act(m, actor)
	}
}

// refresh lets a manager read all claims and answers.
func (w *world) refresh(m int) {
	w.managers[m].claims, w.managers[m].answers = w.server.claims, w.server.answers
}

// hang suspends a manager's actor until chance wakes it.
func (w *world) hang(m, actor int) { w.asleep[m*actors+actor] = true }

// removeRecord removes a record, as the manager that owns it deletes it.
func (w *world) removeRecord(r record) {
	w.server.updateRecord(r.id, r.version, func(r *record) { r.finalizer = false })
	w.server.deleteRecord(r.id, 0)
}

// takenOverAndLost: M1 records both addresses for claim 1, while claim 0 has one, and hangs with
// its watch. M2 takes the record over, finds that it lost, and hangs before it deletes it. Claim 0
// and its record are removed. M1 lists again, and does not see the record that its own lost to.
// Left to chance: M2 deletes the record, another claim is answered, M1 answers.
func takenOverAndLost(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.refresh(1)
	w.run(1, 0, 3) // begin, choose, create
	w.server.createClaim(1, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 1, 3)
	w.run(1, actorWatch, 2)
	w.refresh(1)
	w.run(1, 1, 3) // begin, choose, takeOver
	w.run(1, actorWatch, 1)
	w.forceDelete(0)
	w.server.deleteAnswer(w.server.answers[0])
	w.removeRecord(w.server.records[0])
	w.managers[0].relist(len(w.server.log))
	w.managers[1].tasks[0].stop()
}

// wonAndKept: M1's record for claim 0 has won, and M1 hangs before the commit. A person has the pool
// keep its address for claim 1, and M2 sees that. Left to chance: M2 takes the record over, claim 1
// gets the address, M1 commits.
func wonAndKept(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.refresh(0)
	w.run(0, 0, 3) // begin, choose, create
	w.run(0, actorWatch, 1)
	w.run(0, 0, 1) // handleVerdict
	w.hang(0, 0)
	w.server.kept = guarantee{name: 1, cidr: w.server.records[0].cidr}
	w.server.createClaim(1, claim{uid: w.server.newID()})
	w.catchUp(1)
}

// toldAndReleased: two managers have a record each for claim 0, and M2 answers with its own. The claim
// is deleted. M1 removes the answer, and hangs before it releases the records. M2's cache still shows
// a claim that lives and has no answer. Left to chance: M2 answers with the other record, and finds
// that the claim has an answer when it answers with its own; another claim is answered; M1 wakes.
func toldAndReleased(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.refresh(0)
	w.refresh(1)
	w.run(0, 0, 3) // begin, choose, create
	w.run(1, 0, 3)
	w.managers[0].tasks[0].stop()
	w.run(1, actorWatch, len(w.server.log))
	w.run(1, 0, 3) // handleVerdict, commit, report
	w.deleteClaim(0)
	w.catchUp(0)
	w.run(0, 0, 3) // begin, proveDeleted, releaseAnswer
	w.hang(0, 0)
	w.server.createClaim(1, claim{uid: w.server.newID()})
}

// lostAndLate: M1 records both addresses for claim 1, while claim 0 has one, sees that it lost, and
// hangs before it deletes the record. Claim 0 is removed. Left to chance: M2 takes the record over,
// wins and answers; M1 deletes it; another claim gets an address.
func lostAndLate(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.refresh(1)
	w.run(1, 0, 3) // begin, choose, create
	w.server.createClaim(1, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 1, 3)
	w.run(0, actorWatch, 2)
	w.run(0, 1, 1) // handleVerdict
	w.hang(0, 1)
	w.forceDelete(0)
	w.removeRecord(w.server.records[0])
	w.managers[1].tasks[0].stop()
	w.run(1, actorWatch, len(w.server.log))
	w.refresh(1)
}

// olderLooksYounger: M1's record for claim 0 has won, and M1 hangs before the commit. M2 has not
// seen it, records the same addresses for claim 1 and dies. A person edits the older record, and a
// manager that starts now sees only its later version. Left to chance: M2 takes both records over.
func olderLooksYounger(w *world) {
	w.externalEdits = true
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.server.createClaim(1, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.refresh(1)
	w.run(0, 0, 3)
	w.run(0, actorWatch, 1)
	w.run(1, 1, 3)
	w.server.updateRecord(w.server.records[0].id, 0, func(r *record) { r.touched = true })
	for m := range w.managers[1:] {
		w.managers[m+1].start(len(w.server.log))
	}
}

// secondWonUnseen: two managers have recorded the same addresses for one claim, and the older
// record is removed. M2 lists again, sees only its own record, which has won, and hangs before the
// commit. M1 has restarted before that and hangs with its watch, so it knows of both. Left to
// chance: M1 repairs the second record, another claim gets the addresses, M2 commits.
func secondWonUnseen(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.refresh(1)
	w.run(0, 0, 3) // begin, choose, create
	w.run(1, 0, 3)
	w.managers[0].start(len(w.server.log))
	w.hang(0, actorWatch)
	w.removeRecord(w.server.records[0])
	w.managers[1].relist(len(w.server.log))
	w.run(1, 0, 1) // handleVerdict
	w.hang(1, 0)
}

// deleteInterrupted: a manager dies between the two writes of a deletion, so the record has no
// finalizer. Left to chance: another manager takes the record over and answers with it, and a
// person deletes it.
func deleteInterrupted(w *world) {
	w.externalEdits = true
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 0, 3)
	made := w.server.records[0]
	w.server.updateRecord(made.id, made.version, func(r *record) { r.finalizer, r.created = false, made.version })
	w.managers[0].start(len(w.server.log))
}

// uncommittedIsTerminating: a manager dies between a record and its answer, and a person deletes
// the record. The finalizer keeps it.
func uncommittedIsTerminating(w *world) {
	w.externalEdits = true
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 0, 3)
	w.server.deleteRecord(w.server.records[0].id, 0)
	w.managers[0].start(len(w.server.log))
}

// bothAgesLost: two uncommitted records of dead managers overlap, and a person has edited both.
func bothAgesLost(w *world) {
	w.externalEdits = true
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.server.createClaim(1, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.refresh(1)
	w.run(0, 0, 3)
	w.run(1, 1, 3)
	for _, r := range w.server.records {
		w.server.updateRecord(r.id, 0, func(r *record) { r.touched = true })
	}
	for _, m := range w.managers {
		m.start(len(w.server.log))
	}
}

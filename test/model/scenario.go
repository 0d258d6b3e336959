// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// A scenario is the scripted beginning of a walk, for what random steps alone reach too seldom. It hangs up what hangs in
// the story, and leaves the rest to chance.
type scenario func(w *world)

// run lets a manager's actor take so many steps.
func (w *world) run(m, actor, steps int) {
	for range steps {
		w.act(m, actor)
	}
}

// refresh lets a manager read all claims and answers.
func (w *world) refresh(m int) {
	w.managers[m].claims, w.managers[m].answers = w.server.claims, w.server.answers
}

// hang lets a manager's actor sleep until chance wakes it.
func (w *world) hang(m, actor int) { w.asleep[m*actors+actor] = true }

// lose removes a record, as whoever has drops it.
func (w *world) removeRecord(r record) {
	w.server.updateRecord(r.id, r.version, func(r *record) { r.finalizer = false })
	w.server.deleteRecord(r.id, 0)
}

// takenOverAndLost: M1 records both addresses for claim 1, while claim 0 holds one, and hangs with its watch. M2 takes the
// record over, finds it lost and hangs before the drop. Claim 0 goes, with its record; M1 lists again, and sees nothing of
// what its record has lost to. To come by chance: M2's drop, another claim's answer, M1's.
func takenOverAndLost(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.refresh(1)
	w.run(1, 0, 3) // begin, reserve, create
	w.server.createClaim(1, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 1, 3)
	w.run(1, actorWatch, 2)
	w.refresh(1)
	w.run(1, 1, 3) // begin, reserve, take over
	w.run(1, actorWatch, 1)
	w.forceDelete(0)
	w.server.deleteAnswer(0, w.server.answers[0])
	w.removeRecord(w.server.records[0])
	w.managers[0].relist(len(w.server.log))
	w.managers[1].tasks[0].stop()
}

// lostAndLate: M1 records both addresses for claim 1, while claim 0 holds one, sees that it has lost, and hangs before the drop.
// Claim 0 goes. To come by chance: M2 takes the record over, wins and answers; M1 drops it; somebody else gets an address.
func lostAndLate(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.refresh(1)
	w.run(1, 0, 3) // begin, reserve, create
	w.server.createClaim(1, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 1, 3)
	w.run(0, actorWatch, 2)
	w.run(0, 1, 1) // heed
	w.hang(0, 1)
	w.forceDelete(0)
	w.removeRecord(w.server.records[0])
	w.managers[1].tasks[0].stop()
	w.run(1, actorWatch, len(w.server.log))
	w.refresh(1)
}

// olderLooksYounger: M1's record for claim 0 has won, and M1 hangs before the commit. M2 has not seen it, records the same
// for claim 1 and dies. Somebody writes to the older record, and whoever starts now sees only its later version. To come by
// chance: M2 takes both records over.
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

// secondWonUnseen: two managers have recorded the same for one claim, and the older record goes. M2 lists again, sees only its own record,
// which has won, and hangs before the commit. M1 has started anew before that and hangs with its watch, so that it knows of both. To come by chance: M1
// looks after the second record, somebody else gets the addresses, M2 commits.
func secondWonUnseen(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.refresh(1)
	w.run(0, 0, 3) // begin, reserve, create
	w.run(1, 0, 3)
	w.managers[0].start(len(w.server.log))
	w.hang(0, actorWatch)
	w.removeRecord(w.server.records[0])
	w.managers[1].relist(len(w.server.log))
	w.run(1, 0, 1) // heed
	w.hang(1, 0)
}

// dropCutShort: a manager dies between the two writes of a drop, so that the record has no finalizer. To come by chance:
// somebody takes the record over and answers with it, and somebody else deletes it.
func deleteInterrupted(w *world) {
	w.externalEdits = true
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 0, 3)
	made := w.server.records[0]
	w.server.updateRecord(made.id, made.version, func(r *record) { r.finalizer, r.created = false, made.version })
	w.managers[0].start(len(w.server.log))
}

// halfMadeIsMarked: a manager dies between a record and its answer, and somebody deletes the record: the finalizer keeps it.
func uncommittedIsTerminating(w *world) {
	w.externalEdits = true
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.refresh(0)
	w.run(0, 0, 3)
	w.server.deleteRecord(w.server.records[0].id, 0)
	w.managers[0].start(len(w.server.log))
}

// bothAgesLost: two half-made records of dead managers overlap, and somebody has written to both.
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

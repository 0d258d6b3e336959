// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// nameTaken: M1's record for claim 2 has won, and M1 hangs before it creates the answer. M2 records
// another address and commits that, and M1's record goes as a stray. M2 records its address for
// claim 1, wins, and hangs before it creates the answer. M1 wakes, and creates the answer to claim
// 2. M1 takes claim 1's record over, wins, and finds the name of the answer taken. Left to chance:
// the late answer goes, another claim gets the address if it is free, and M2 answers claim 1.
func nameTaken(w *world) {
	w.server.createClaim(2, claim{uid: w.server.newID()})
	w.refresh(0)
	w.refresh(1)
	w.run(0, 2, 3) // begin, choose, create
	w.run(1, 2, 3)
	w.run(0, actorWatch, 1)
	w.run(0, 2, 1) // handleVerdict
	w.hang(0, 2)
	w.run(1, actorWatch, 2)
	w.turn(1, 2)
	w.catchUp(1)
	w.visit(1, 0)
	w.server.createClaim(1, claim{uid: w.server.newID()})
	w.catchUp(1)
	w.run(1, 1, 3) // begin, choose, create
	w.run(1, actorWatch, len(w.server.log))
	w.run(1, 1, 1) // handleVerdict
	w.hang(1, 1)
	w.run(0, 2, 2) // commit, report
	w.catchUp(0)
	w.turn(0, 1)
}

// strayAndRestored: M1 has read the status of claim 1, and hangs before it deletes what that does not
// name. The claim and all of it are removed. A claim of the name is restored with its answer, which
// may have lost its owner. Left to chance: M1 deletes that, and the claim is answered anew.
func strayAndRestored(w *world) {
	w.server.createClaim(1, claim{uid: w.server.newID()})
	w.catchUp(1)
	w.turn(1, 1)
	w.refresh(0)
	w.managers[0].repair.look(1, entry{})
	w.run(0, actorRepair, 2) // readStray, proveStray
	w.hang(0, actorRepair)
	w.forceDelete(1)
	w.catchUp(1)
	w.visitNames(1)
	w.visit(1, 0)
	w.restoreClaim(1)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// admitClaim has a Weir claim stored, with a manager as its webhooks, if they grant what it
// requests.
func (w *world) admitClaim(m int, c claim, requested space) {
	if w.requestClaim(m, c, requested) {
		w.server.endRequest(0, false)
	}
}

// requestClaim has the webhooks admit a Weir claim, so that the API server may store it.
func (w *world) requestClaim(m int, c claim, requested space) bool {
	p := w.managers[m]
	c.uid, c.weirKind = w.server.newID(), true
	var ok bool
	if c.status, ok = p.webhooks.propose(c, requested); !ok {
		return false
	}
	w.server.requests = append(w.server.requests, request{claim: c, begun: w.server.clock, stage: called})
	p.webhooks.receive(c)
	w.turn(m, actorWebhooks)
	return true
}

// createBoundClaim has a Weir claim stored and bound by M1. deleteBoundClaim has it deleted and
// released.
func (w *world) createBoundClaim(c claim) {
	w.catchUp(0)
	w.admitClaim(0, c, noSpace)
	w.turn(0, weirName)
	w.turn(0, weirName)
}

func (w *world) deleteBoundClaim() {
	w.server.deleteClaim(weirName)
	w.catchUp(0)
	w.turn(0, weirName)
}

// admittedTwice: the webhooks of two managers are called for one object. M1's record wins, and the
// object is stored. M2 dies before it deletes its own record. A person edits both records, so that
// their order is lost. Left to chance: a manager binds the claim.
func admittedTwice(w *world) {
	c := claim{uid: w.server.newID(), weirKind: true, status: 0b01}
	w.server.requests = append(w.server.requests, request{claim: c, begun: w.server.clock, stage: called})
	for m := range 2 {
		w.managers[m].webhooks.receive(c)
		w.run(m, actorWebhooks, 3) // refuseStored, choose, create
	}
	w.turn(0, actorWebhooks)
	w.server.endRequest(0, false)
	for _, r := range w.server.records {
		w.server.updateRecord(r.id, 0, func(r *record) { r.touched = true })
	}
	for _, m := range w.managers {
		m.start(len(w.server.log))
	}
}

// retriedAndStored: a client retries before the API server has stored its first request. Both
// requests pass the webhooks, with the same address. The first one is stored and bound. Left to
// chance: a manager repairs the other one's record; the claim is deleted; another claim gets its
// address; the API server stores the second request.
func retriedAndStored(w *world) {
	w.catchUp(0)
	for range 2 {
		w.requestClaim(0, claim{}, noSpace)
	}
	w.server.endRequest(0, false)
	w.turn(0, weirName)
	w.turn(0, weirName)
}

// retainedAndCollected: the record of a Weir claim is retained, and the garbage collector looks for
// dependents of the deleted claim. Left to chance: other claims request addresses.
func retainedAndCollected(w *world) {
	w.createBoundClaim(claim{retains: true})
	w.deleteBoundClaim()
	w.collectGarbage()
}

// unseenAndReleased: a Weir claim is stored and deleted at once. M2 knows of the claim, and hangs
// with its watch, so that it knows of no record. Left to chance: M2 releases the claim, and other
// claims request its address.
func unseenAndReleased(w *world) {
	w.admitClaim(0, claim{retains: true}, noSpace)
	w.server.deleteClaim(weirName)
	w.refresh(1)
	w.hang(1, actorWatch)
}

// bindIsSlow: a record is retained for a Weir claim, and M2, which has just read that the claim is
// stored, hangs. M1 binds and releases that claim, and then the next one of the name. Each time it
// releases the record retained for the claim, and retains the claim's own. Left to chance: M2 goes
// on.
func bindIsSlow(w *world) {
	w.createBoundClaim(claim{retains: true})
	w.deleteBoundClaim()
	w.catchUp(1)
	w.admitClaim(0, claim{retains: true}, noSpace)
	w.run(1, actorWatch, len(w.server.log))
	w.refresh(1)
	w.run(1, weirName, 2) // begin, bindRecord
	w.run(1, actorWatch, len(w.server.log))
	w.run(1, weirName, 3) // handleBindVerdict, finishBind, proveStored
	w.hang(1, weirName)
	w.catchUp(0)
	w.turn(0, weirName)
	w.turn(0, weirName)
	w.deleteBoundClaim()
	w.createBoundClaim(claim{retains: true})
	w.deleteBoundClaim()
	w.run(1, actorWatch, len(w.server.log))
}

// movedWithoutReservation: an answered claim moves to another cluster, and M2 hangs while it
// releases the claim's record. Left to chance: other claims request addresses.
func movedWithoutReservation(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.catchUp(0)
	w.turn(0, 0)
	for range 4 {
		w.move(0)
	}
	w.catchUp(1)
	w.run(1, actorPoolController, 2) // begin, and the first write
	w.hang(1, actorPoolController)
}

// reservedTooLate: an answered claim moves to another cluster, and M1 hangs before it stores a
// reservation for its record. M2 stores one, and a person deletes that. M2 records the addresses for
// another claim, wins, and hangs before the commit. M1 stores its reservation. Left to chance: M1
// takes the record over, or deletes the reservation again; another claim gets the addresses; M2 commits.
func reservedTooLate(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID(), big: true})
	w.catchUp(0)
	w.turn(0, 0)
	for range 4 {
		w.move(0)
	}
	w.catchUp(0)
	w.catchUp(1)
	w.run(0, actorPoolController, 1) // begin
	w.run(1, actorPoolController, 3) // begin, storeReservation, releaseMoved
	reservation := w.server.records[0]
	w.server.monitor.endGuarantees(reservation)
	w.removeRecord(reservation)
	w.catchUp(1)
	w.server.createClaim(1, claim{uid: w.server.newID(), big: true})
	w.refresh(1)
	w.run(1, 1, 3) // begin, choose, create
	w.run(1, actorWatch, 1)
	w.run(1, 1, 1) // handleVerdict
	w.hang(1, 1)
	w.run(0, actorPoolController, 1) // storeReservation
}

// movedAndRequested: a Weir claim moves to another cluster, and a client creates another of its
// name that requests the same addresses. Left to chance: nothing.
func movedAndRequested(w *world) {
	w.createBoundClaim(claim{})
	reported := w.server.claims[weirName].reported
	for range 4 {
		w.move(weirName)
	}
	w.catchUp(1)
	w.admitClaim(1, claim{big: reported == wholeSpace}, reported)
}

// movedAndReplaced: a Weir claim moves to another cluster, and a reservation replaces its record. A
// client creates another claim of its name, which gets other addresses. Left to chance: a manager
// binds that claim, and other claims request addresses.
func movedAndReplaced(w *world) {
	w.createBoundClaim(claim{})
	for range 4 {
		w.move(weirName)
	}
	w.catchUp(0)
	for i := range w.managers[0].index.entries {
		w.visit(0, i)
	}
	w.admitClaim(0, claim{}, noSpace)
}

// requestedAndMoved: the webhooks are called for a Weir claim that requests the addresses of
// another claim of its name. That one moves to another cluster before the API server has stored the
// new one. Left to chance: nothing.
func requestedAndMoved(w *world) {
	w.createBoundClaim(claim{})
	reported := w.server.claims[weirName].reported
	c := claim{uid: w.server.newID(), weirKind: true, big: reported == wholeSpace, status: reported}
	w.server.requests = append(w.server.requests, request{claim: c, begun: w.server.clock, stage: called})
	w.managers[0].webhooks.receive(c)
	w.turn(0, actorWebhooks)
	for range 4 {
		w.move(weirName)
	}
	if len(w.server.requests) > 0 {
		w.server.endRequest(0, false)
	}
}

// uprooted: a pool is being deleted, and M2, which has proved that no record comes from it, hangs.
// M1 records an address of that pool for a claim, and hangs before the commit. M2, which is about
// to take the claim's record over, releases the pool's block. Left to chance: M2 takes the record
// over, another claim gets the address, and M1 commits.
func uprooted(w *world) {
	w.createBoundClaim(claim{block: true, big: true})
	w.catchUp(1)
	w.server.createClaim(0, claim{uid: w.server.newID(), carved: true})
	w.refresh(0)
	w.refresh(1)
	w.run(1, 0, 1) // begin
	w.server.deleteClaim(weirName)
	w.refresh(1)
	w.run(1, weirName, 2) // begin, proveEmpty
	w.run(0, 0, 3)        // begin, choose, create
	w.run(0, actorWatch, 1)
	w.run(0, 0, 1) // handleVerdict
	w.hang(0, 0)
	w.run(1, actorWatch, 1)
	w.run(1, 0, 1) // choose
	w.turn(1, weirName)
}

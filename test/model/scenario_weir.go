// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// admit has an own claim stored, with a manager as its webhooks, if that gives it what it wishes.
func (w *world) admitClaim(m int, c claim, wish space) {
	if w.requestClaim(m, c, wish) {
		w.server.endRequest(0, false)
	}
}

// ask has the webhooks let an own claim through, so that the API server may store it.
func (w *world) requestClaim(m int, c claim, wish space) bool {
	p := w.managers[m]
	c.uid, c.weirKind = w.server.newID(), true
	var ok bool
	if c.status, ok = p.webhooks.propose(c, wish); !ok {
		return false
	}
	w.server.requests = append(w.server.requests, request{claim: c, begun: w.server.clock, stage: called})
	p.webhooks.receive(c)
	w.turn(m, actorWebhooks)
	return true
}

// live has an own claim stored and bound by M1, and release has it deleted and given up.
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

// admittedTwice: the webhooks of two managers are asked about one object. M1's record wins, and the object is stored. M2 dies before it
// drops its own. Somebody writes to both records, so that nobody can tell which is older. To come by chance: anybody binds.
func admittedTwice(w *world) {
	c := claim{uid: w.server.newID(), weirKind: true, status: 0b01}
	w.server.requests = append(w.server.requests, request{claim: c, begun: w.server.clock, stage: called})
	for m := range 2 {
		w.managers[m].webhooks.receive(c)
		w.run(m, actorWebhooks, 3) // refuse, reserve, create
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

// triedAgainAndStored: a client tries again before the API server has stored its first try, and both tries come through the webhooks, with
// the same address. The first one is stored and bound. To come by chance: somebody looks after the other one's record; the claim is
// deleted; somebody else gets its address; the API server stores the second try.
func retriedAndStored(w *world) {
	w.catchUp(0)
	for range 2 {
		w.requestClaim(0, claim{}, noSpace)
	}
	w.server.endRequest(0, false)
	w.turn(0, weirName)
	w.turn(0, weirName)
}

// retainedAndCollected: what an own claim had is retained, and the garbage collector looks for what its owner has left. To come by
// chance: others ask for addresses.
func retainedAndCollected(w *world) {
	w.createBoundClaim(claim{retains: true})
	w.deleteBoundClaim()
	w.collectGarbage()
}

// unseenAndReleased: an own claim is stored and deleted at once. M2 knows of the claim, and hangs with its watch, so that it knows of
// no record. To come by chance: M2 releases the claim, and others ask for its address.
func unseenAndReleased(w *world) {
	w.admitClaim(0, claim{retains: true}, noSpace)
	w.server.deleteClaim(weirName)
	w.refresh(1)
	w.hang(1, actorWatch)
}

// boundTooLong: something is retained for an own claim, and M2, which has just read that this one is stored, hangs. M1 gives up what was
// retained, for the claim and for the next one after it, whose own is retained at last. To come by chance: M2 goes on.
func bindIsSlow(w *world) {
	w.createBoundClaim(claim{retains: true})
	w.deleteBoundClaim()
	w.catchUp(1)
	w.admitClaim(0, claim{retains: true}, noSpace)
	w.run(1, actorWatch, len(w.server.log))
	w.refresh(1)
	w.run(1, weirName, 2) // begin, bind
	w.run(1, actorWatch, len(w.server.log))
	w.run(1, weirName, 3) // heed, settle, prove
	w.hang(1, weirName)
	w.catchUp(0)
	w.turn(0, weirName)
	w.turn(0, weirName)
	w.deleteBoundClaim()
	w.createBoundClaim(claim{retains: true})
	w.deleteBoundClaim()
	w.run(1, actorWatch, len(w.server.log))
}

// leftWithoutHold: an answered claim moves to another cluster, and M2, which lets its record go, hangs. To come by chance: others ask
// for addresses.
func movedWithoutReservation(w *world) {
	w.server.createClaim(0, claim{uid: w.server.newID()})
	w.catchUp(0)
	w.turn(0, 0)
	for range 4 {
		w.move(0)
	}
	w.catchUp(1)
	w.run(1, actorPoolController, 2) // begin, and what comes first
	w.hang(1, actorPoolController)
}

// goneAndAskedFor: an own claim moves to another cluster, and somebody creates one of its name here that asks for the same. To come
// by chance: nothing.
func movedAndRequested(w *world) {
	w.createBoundClaim(claim{})
	told := w.server.claims[weirName].reported
	for range 4 {
		w.move(weirName)
	}
	w.catchUp(1)
	w.admitClaim(1, claim{big: told == wholeSpace}, told)
}

// askedForAndGone: the webhooks are asked about an own claim that wants what another of its name has, which moves to another cluster
// before the API server has stored the new one. To come by chance: nothing.
func requestedAndMoved(w *world) {
	w.createBoundClaim(claim{})
	told := w.server.claims[weirName].reported
	c := claim{uid: w.server.newID(), weirKind: true, big: told == wholeSpace, status: told}
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

// uprooted: a pool is being deleted, and M2, which has proved that nothing is handed out of it, hangs. M1 answers a claim of that pool,
// and hangs before the commit. M2, which is about to take the claim's record over, gives up the pool's block. To come by chance: it
// takes over, somebody else gets the address, and M1 commits.
func uprooted(w *world) {
	w.createBoundClaim(claim{block: true, big: true})
	w.catchUp(1)
	w.server.createClaim(0, claim{uid: w.server.newID(), carved: true})
	w.refresh(0)
	w.refresh(1)
	w.run(1, 0, 1) // begin
	w.server.deleteClaim(weirName)
	w.refresh(1)
	w.run(1, weirName, 2) // begin, prove that it is empty
	w.run(0, 0, 3)        // begin, reserve, create
	w.run(0, actorWatch, 1)
	w.run(0, 0, 1) // heed
	w.hang(0, 0)
	w.run(1, actorWatch, 1)
	w.run(1, 0, 1) // reserve
	w.turn(1, weirName)
}

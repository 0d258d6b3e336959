// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// webhooks are the webhooks of the Weir kinds. The mutating webhook proposes addresses, and stores
// nothing. The validating webhook, of this manager or another, records the object's addresses for
// its UID, for one request at a time. Storing the claim is up to the API server, and is the commit.
type webhooks struct {
	waiter
	releaser

	manager *manager
	claim   claim
	next    func(*webhooks)
}

// propose returns the addresses for a new Weir claim: those that it requests, those retained for
// it, those recorded for another request of its name, which may be the same client's first one, or
// free ones.
func (wh *webhooks) propose(c claim, requested space) (space, bool) {
	x := &wh.manager.index
	if retained, ok := x.retainedFor(weirName, c); ok && requested == noSpace {
		requested = retained
	}
	if requested != noSpace {
		return requested, c.mayHave(weirName, requested, x.kept) && x.isFreeFor(c.recordFor(weirName, requested))
	}
	if first, ok := x.pendingFor(weirName, c); ok && x.isFreeFor(c.recordFor(weirName, first)) {
		wh.manager.tally.retried++
		return first, true
	}
	free := x.free(weirName, c)
	if len(free) == 0 {
		return noSpace, false
	}
	return free[wh.manager.random.IntN(len(free))], true
}

func (wh *webhooks) step() {
	if wh.next != nil {
		wh.next(wh)
	}
}

// stop ends the call. The API server gets a denial, or has stopped waiting.
func (wh *webhooks) stop() {
	wh.manager.server.failRequest(wh.claim.uid)
	*wh = webhooks{manager: wh.manager}
}

// receive starts the call for a request.
func (wh *webhooks) receive(c claim) {
	*wh = webhooks{manager: wh.manager, releaser: releaser{manager: wh.manager}, claim: c, next: (*webhooks).refuseStored}
}

// refuseStored reads the claim of the name from the server, if a record of the name exists. The
// addresses of a stored claim are not given to a new one.
func (wh *webhooks) refuseStored() {
	wh.next = (*webhooks).choose
	if wh.manager.rules.StoredIsRefused && len(wh.manager.index.recordedUnder(weirName)) > 0 && wh.manager.server.claims[weirName].uid != 0 {
		wh.stop()
	}
}

// choose takes over the record that an earlier call has left, or makes one.
func (wh *webhooks) choose() {
	x := &wh.manager.index
	r := wh.claim.recordFor(weirName, wh.claim.status)
	switch made := x.answering(wh.claim, wh.claim.status); {
	case len(made) > 0:
		wh.waiter = waiter{record: x.withAge(made[0])}
		wh.next = (*webhooks).takeOver
	case wh.claim.mayHave(weirName, r.cidr, x.kept) && x.isFreeFor(r):
		wh.waiter = waiter{record: r}
		wh.next = (*webhooks).create
	default:
		wh.stop()
	}
}

func (wh *webhooks) create() {
	r := wh.manager.server.createRecord(wh.record)
	r.created = r.version
	wh.waiter = waiter{record: r, listening: true}
	wh.next = (*webhooks).handleVerdict
}

func (wh *webhooks) takeOver() {
	old := wh.record
	updated, ok := wh.manager.server.updateRecord(old.id, old.version, func(r *record) {
		r.created, r.finalizer = max(r.created, old.created), true
	})
	if !ok {
		wh.stop()
		return
	}
	wh.waiter = waiter{record: updated, takenOver: true, listening: true}
	wh.next = (*webhooks).handleVerdict
}

func (wh *webhooks) handleVerdict() {
	switch {
	case wh.verdict == pending:
	case wh.verdict == won && !wh.manager.index.hasMovedAway(wh.record):
		wh.allow()
	case wh.verdict == won && wh.takenOver: // maybe admitted earlier: left to its grace
		wh.stop()
	case wh.verdict == won, wh.verdict == lost:
		wh.deleteRecords([]record{wh.record})
	default:
		wh.stop()
	}
}

// allow lets the API server store the claim. The records retained for it are released later, when
// it is stored.
func (wh *webhooks) allow() {
	wh.manager.server.admitRequest(wh.claim.uid)
	wh.manager.tally.admitted++
	retained := wh.manager.index.selectRecords(func(e entry) bool { return e.name == weirName && e.retained })
	wh.claim = claim{}
	if wh.manager.rules.RetainedGoesLast || len(retained) == 0 {
		wh.stop()
		return
	}
	wh.deleteRecords(retained)
}

func (wh *webhooks) deleteRecords(records []record) {
	wh.enqueue(modeDelete, records...)
	wh.anyVersion = !wh.manager.rules.DeleteNamesVersion
	wh.next = (*webhooks).deleting
}

func (wh *webhooks) deleting() {
	if wh.releaseStep() {
		wh.stop()
	}
}

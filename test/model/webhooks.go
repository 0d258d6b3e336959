// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// webhooks is the webhooks of the own kinds. The mutating one proposes, and stores nothing. The validating one, of this manager or
// another, records for the object's UID what the object says, for one request at a time. Storing the claim is the API server's,
// and the commit.
type webhooks struct {
	waiter
	releaser

	manager *manager
	claim   claim
	next    func(*webhooks)
}

// propose returns what a new claim of an own kind shall ask for: what it wishes if anything, what is retained for it, what another
// request for its name has, which may be the same client's first try, or what is free.
func (wh *webhooks) propose(c claim, wish space) (space, bool) {
	x := &wh.manager.index
	if kept, ok := x.retainedFor(weirName, c); ok && wish == noSpace {
		wish = kept
	}
	if wish != noSpace {
		return wish, x.isFreeFor(c.recordFor(weirName, wish))
	}
	if first, ok := x.pendingFor(weirName, c); ok && x.isFreeFor(c.recordFor(weirName, first)) {
		wh.manager.tally.retried++
		return first, true
	}
	free := slices.DeleteFunc(c.candidates(), func(s space) bool { return !x.isFree(c.recordFor(weirName, s)) })
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

// stop ends the call. The API server hears that, or does not wait any longer.
func (wh *webhooks) stop() {
	wh.manager.server.failRequest(wh.claim.uid)
	*wh = webhooks{manager: wh.manager}
}

// receive begins with a call for a request that the API server works on.
func (wh *webhooks) receive(c claim) {
	*wh = webhooks{manager: wh.manager, releaser: releaser{manager: wh.manager}, claim: c, next: (*webhooks).refuseStored}
}

// refuse asks the server for a claim of the name, where something is recorded for one: what that has is not the new one's.
func (wh *webhooks) refuseStored() {
	wh.next = (*webhooks).choose
	if wh.manager.rules.StoredIsRefused && len(wh.manager.index.recordedUnder(weirName)) > 0 && wh.manager.server.claims[weirName].uid != 0 {
		wh.stop()
	}
}

// reserve takes over the record that an earlier call has left, or makes one.
func (wh *webhooks) choose() {
	x := &wh.manager.index
	r := wh.claim.recordFor(weirName, wh.claim.status)
	switch made := x.answering(wh.claim, wh.claim.status); {
	case len(made) > 0:
		wh.waiter = waiter{record: x.withAge(made[0])}
		wh.next = (*webhooks).takeOver
	case x.isFreeFor(r):
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
	held, ok := wh.manager.server.updateRecord(old.id, old.version, func(r *record) {
		r.created, r.finalizer = max(r.created, old.created), true
	})
	if !ok {
		wh.stop()
		return
	}
	wh.waiter = waiter{record: held, takenOver: true, listening: true}
	wh.next = (*webhooks).handleVerdict
}

func (wh *webhooks) handleVerdict() {
	switch {
	case wh.verdict == pending:
	case wh.verdict == won && !wh.manager.index.hasMovedAway(wh.record):
		wh.allow()
	case wh.verdict == won && wh.takenOver: // an earlier call may have been allowed: the record waits for its grace
		wh.stop()
	case wh.verdict == won, wh.verdict == lost:
		wh.deleteRecords([]record{wh.record})
	default:
		wh.stop()
	}
}

// allow lets the API server store the claim. What is retained for it goes later, when it is stored.
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

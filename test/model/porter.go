// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// porter is the webhooks of the own kinds. The mutating one proposes, and stores nothing. The validating one, of this manager or
// another, records for the object's UID what the object says, for one request at a time. Storing the claim is the API server's,
// and the commit.
type porter struct {
	waiter
	dropper

	manager *manager
	claim   claim
	next    func(*porter)
}

// propose returns what a new claim of an own kind shall ask for: what it wishes if anything, what is retained for it, what another
// request for its name has, which may be the same client's first try, or what is free.
func (p *porter) propose(c claim, wish space) (space, bool) {
	x := &p.manager.index
	if kept, ok := x.retainedFor(ownName, c); ok && wish == noSpace {
		wish = kept
	}
	if wish != noSpace {
		return wish, x.isOpen(c.asks(ownName, wish))
	}
	if first, ok := x.pendingFor(ownName, c); ok && x.isOpen(c.asks(ownName, first)) {
		p.manager.tally.repeated++
		return first, true
	}
	free := slices.DeleteFunc(c.candidates(), func(s space) bool { return !x.isFree(c.asks(ownName, s)) })
	if len(free) == 0 {
		return noSpace, false
	}
	return free[p.manager.random.IntN(len(free))], true
}

func (p *porter) step() {
	if p.next != nil {
		p.next(p)
	}
}

// stop ends the call. The API server hears that, or does not wait any longer.
func (p *porter) stop() {
	p.manager.server.fail(p.claim.uid)
	*p = porter{manager: p.manager}
}

// receive begins with a call for a request that the API server works on.
func (p *porter) receive(c claim) {
	*p = porter{manager: p.manager, dropper: dropper{manager: p.manager}, claim: c, next: (*porter).refuse}
}

// refuse asks the server for a claim of the name, where something is recorded for one: what that has is not the new one's.
func (p *porter) refuse() {
	p.next = (*porter).reserve
	if p.manager.rules.StoredIsRefused && len(p.manager.index.under(ownName)) > 0 && p.manager.server.claims[ownName].uid != 0 {
		p.stop()
	}
}

// reserve takes over the record that an earlier call has left, or makes one.
func (p *porter) reserve() {
	x := &p.manager.index
	r := p.claim.asks(ownName, p.claim.status)
	switch made := x.answering(p.claim, p.claim.status); {
	case len(made) > 0:
		p.waiter = waiter{record: x.aged(made[0])}
		p.next = (*porter).takeOver
	case x.isOpen(r):
		p.waiter = waiter{record: r}
		p.next = (*porter).create
	default:
		p.stop()
	}
}

func (p *porter) create() {
	r := p.manager.server.createRecord(p.record)
	r.created = r.version
	p.waiter = waiter{record: r, listening: true}
	p.next = (*porter).heed
}

func (p *porter) takeOver() {
	old := p.record
	held, ok := p.manager.server.updateRecord(old.id, old.version, func(r *record) {
		r.created, r.finalizer = max(r.created, old.created), true
	})
	if !ok {
		p.stop()
		return
	}
	p.waiter = waiter{record: held, takenOver: true, listening: true}
	p.next = (*porter).heed
}

func (p *porter) heed() {
	switch {
	case p.verdict == pending:
	case p.verdict == won && !p.manager.index.leftBehind(p.record):
		p.allow()
	case p.verdict == won && p.takenOver: // an earlier call may have been allowed: the record waits for its grace
		p.stop()
	case p.verdict == won, p.verdict == lost:
		p.drop([]record{p.record})
	default:
		p.stop()
	}
}

// allow lets the API server store the claim. What is retained for it goes later, when it is stored.
func (p *porter) allow() {
	p.manager.server.admit(p.claim.uid)
	p.manager.tally.admitted++
	retained := p.manager.index.copies(func(e entry) bool { return e.name == ownName && e.retained })
	p.claim = claim{}
	if p.manager.rules.RetainedGoesLast || len(retained) == 0 {
		p.stop()
		return
	}
	p.drop(retained)
}

func (p *porter) drop(records []record) {
	p.giveUp(drops, records...)
	p.blind = !p.manager.rules.DropNamesVersion
	p.next = (*porter).dropping
}

func (p *porter) dropping() {
	if p.dropStep() {
		p.stop()
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// porter is the webhook of the own kinds, for one request at a time: it records what it allows. Storing the claim is the
// API server's, and the commit.
type porter struct {
	waiter
	dropper

	manager *manager
	claim   claim
	next    func(*porter)
}

func (p *porter) idle() bool { return p.next == nil }

func (p *porter) step() {
	if p.next != nil {
		p.next(p)
	}
}

func (p *porter) stop() {
	p.manager.server.fail(p.claim.uid)
	*p = porter{manager: p.manager}
}

// receive begins with a request that the API server has just got.
func (p *porter) receive(big bool) {
	s := p.manager.server
	*p = porter{manager: p.manager, dropper: dropper{manager: p.manager}, next: (*porter).reserve}
	p.claim = claim{uid: s.newID(), own: true, big: big}
	s.requests = append(s.requests, request{claim: p.claim})
}

func (p *porter) reserve() {
	free := slices.DeleteFunc(p.claim.candidates(), func(s space) bool { return !p.manager.index.isFree(s) })
	if len(free) == 0 {
		p.stop()
		return
	}
	p.claim.status = free[p.manager.random.IntN(len(free))]
	p.next = (*porter).create
}

func (p *porter) create() {
	r := p.manager.server.createRecord(record{name: ownName, uid: p.claim.uid, own: true, cidr: p.claim.status})
	r.created = r.version
	p.waiter = waiter{record: r, listening: true}
	p.next = (*porter).heed
}

func (p *porter) heed() {
	switch p.verdict {
	case pending:
	case won:
		p.manager.server.admit(p.claim)
		p.manager.tally.admitted++
		p.next, p.manager.porter = nil, porter{manager: p.manager}
	default:
		p.queue, p.blind = []record{p.record}, !p.manager.rules.DropNamesVersion
		p.next = (*porter).dropping
	}
}

func (p *porter) dropping() {
	if p.dropStep() {
		p.stop()
	}
}

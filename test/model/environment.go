// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// stepEnvironment lets the environment act: clients, people, the garbage collector, failures, time.
func (w *world) stepEnvironment() {
	p := w.managers[w.random.IntN(len(w.managers))]
	name := w.random.IntN(names)
	switch w.random.IntN(20) {
	case 0:
		w.crash(p)
	case 1, 2:
		w.tally.relists++
		p.relist(p.index.seen + w.random.IntN(len(w.server.log)-p.index.seen+1))
	case 3:
		p.tasks[name].stop() // the reply to a write is lost, or a read fails
	case 4:
		w.forceDelete(name)
	case 5, 6:
		w.deleteClaim(name)
	case 7:
		w.editRecord()
	case 8, 9:
		w.endRequest()
	case 10, 11:
		w.callWebhooks(p)
	case 12:
		w.server.tick()
	case 13, 14:
		w.stepByTheme(name)
	default:
		w.createClaim(p, name)
	}
	w.trace.addEnvironment(w)
}

// stepByTheme lets the environment do what only some walks have.
func (w *world) stepByTheme(name int) {
	if w.theme.statusCommits && w.oneIn(3) {
		w.removeAnswer()
		return
	}
	switch w.random.IntN(4) {
	case 0:
		w.restoreClaim(name)
	case 1:
		w.collectGarbage()
		w.changeKept(name)
	default:
		w.move(name)
	}
}

// changeKept has a person change what the pool keeps: an address for this name, or nothing.
func (w *world) changeKept(name int) {
	switch {
	case !w.theme.keeps:
		return
	case w.server.kept.cidr != noSpace && w.oneIn(2):
		w.server.kept = guarantee{}
	default:
		w.server.kept = guarantee{name: name, cidr: 1 << w.random.IntN(addresses)}
	}
	w.tally.kept++
}

// removeAnswer has a person remove an answer that is named after its addresses, by force. Of those
// that a claim was restored with, the one in use stays.
func (w *world) removeAnswer() {
	at := names + w.random.IntN(len(w.server.answers)-names)
	a := w.server.answers[at]
	if c := w.server.claims[a.name]; a.id == 0 || c.moving || c.arrived && c.reported == a.cidr {
		return
	}
	w.server.deleteAnswer(a)
	w.tally.removed++
}

// forceDelete removes a claim without Weir: a user removes its finalizers. A Weir claim with an
// unbound record then looks as if it had never been stored, and has no right to a cooldown.
func (w *world) forceDelete(name int) {
	c := &w.server.claims[name]
	if c.moving {
		return
	}
	isUnbound := func(r record) bool { return r.uid == c.uid && !r.owned }
	if c.weirKind && !c.restored && slices.ContainsFunc(w.server.records, isUnbound) {
		w.server.monitor.waiveCooldown(name, c.reported)
		c.reported = noSpace
	}
	w.server.removeClaim(name, c.uid)
}

func (w *world) deleteClaim(name int) {
	if !w.server.claims[name].moving {
		w.server.deleteClaim(name)
	}
}

// createClaim has a client create a claim, if there is none of the name.
func (w *world) createClaim(p *manager, name int) {
	c := claim{uid: w.server.newID(), big: w.isBig(name)}
	if name != weirName {
		c.carved = w.theme.carves && w.oneIn(2)
		w.server.createClaim(name, c)
		return
	}
	c.weirKind, c.retains, c.block = true, w.theme.retains, w.theme.carves
	c.big = c.big || c.block
	var ok bool
	if c.status, ok = p.webhooks.propose(c, w.randomRequest(c)); ok {
		w.server.requests = append(w.server.requests, request{claim: c, begun: w.server.clock})
	}
}

// isBig says whether a new claim of the name requests both addresses. In walks with restored claims
// the name decides, so that a restored claim is as long as the others of its name.
func (w *world) isBig(name int) bool {
	if w.theme.restores && name != weirName {
		return name == 0
	}
	return w.oneIn(4)
}

// randomRequest returns the addresses that the client of a Weir claim requests: mostly none. It
// prefers addresses that have moved to another cluster.
func (w *world) randomRequest(c claim) space {
	if !w.oneIn(4) {
		return noSpace
	}
	for _, moved := range w.server.monitor.elsewhere {
		if slices.Contains(c.candidates(), moved.cidr) {
			return moved.cidr
		}
	}
	return c.candidates()[w.random.IntN(len(c.candidates()))]
}

// callWebhooks has the API server call a manager's webhooks for a request. Sometimes it will call
// another manager's as well.
func (w *world) callWebhooks(p *manager) {
	i := slices.IndexFunc(w.server.requests, func(r request) bool { return r.stage == proposed })
	if i < 0 || p.webhooks.next != nil {
		return
	}
	p.webhooks.receive(w.server.requests[i].claim)
	if !w.oneIn(8) {
		w.server.requests[i].stage = called
	}
}

// endRequest ends a request: it is stored, rejected by a later webhook, or timed out.
func (w *world) endRequest() {
	if len(w.server.requests) == 0 {
		return
	}
	if i := w.random.IntN(len(w.server.requests)); w.server.requests[i].stage == admitted || w.oneIn(8) {
		w.server.endRequest(i, w.oneIn(3))
	}
}

func (w *world) crash(p *manager) {
	w.tally.crashes++
	p.webhooks.stop()
	p.start(w.random.IntN(len(w.server.log) + 1))
}

// editRecord has a person edit a record, mark it as released, or delete it. The finalizer keeps a
// deleted record.
func (w *world) editRecord() {
	if !w.externalEdits || len(w.server.records) == 0 {
		return
	}
	r := w.server.records[w.random.IntN(len(w.server.records))]
	claims := w.theme == theme{cooldown: true} && r.uid == w.server.claims[r.name].uid
	switch {
	case w.oneIn(2):
		w.server.monitor.endGuarantees(r)
		w.server.deleteRecord(r.id, 0)
	case claims && w.oneIn(2):
		w.server.updateRecord(r.id, 0, func(r *record) { r.touched, r.released = true, w.server.clock })
	default:
		w.server.updateRecord(r.id, 0, func(r *record) { r.touched = true })
	}
}

// collectGarbage marks a record whose owners are gone for deletion. Records of Cluster API's claims
// are also owned by the pool, and stay.
func (w *world) collectGarbage() {
	for _, r := range w.server.records {
		if r.weirKind && r.owned && !r.terminating && w.server.claims[r.name].uid != r.uid {
			w.server.deleteRecord(r.id, 0)
			return
		}
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// phase is the state of a claim's move. clusterctl has created the claim elsewhere, and deletes it
// here together with its dependents.
type phase int

const (
	notMoving phase = iota
	paused
	recordsDeleted // as far as admission allows
	answerDeleted
)

// move continues the move of a claim, or starts one.
func (w *world) move(name int) {
	s := &w.server
	c := &s.claims[name]
	switch w.moves[name] {
	case notMoving:
		if w.theme.moves && c.lives() {
			c.moving, w.moves[name] = true, paused
		}
		return
	case paused:
		s.monitor.moveAway(name, *c)
		w.moveRecords(name)
		c.terminating = true
	case recordsDeleted:
		for _, a := range s.answers.naming(name) {
			s.deleteAnswer(a)
		}
	case answerDeleted:
		s.removeClaim(name, c.uid)
		w.moves[name] = notMoving
		w.tally.moved++
		return
	}
	w.moves[name]++
}

// moveRecords deletes the records of a name as clusterctl does, and removes their finalizers.
func (w *world) moveRecords(name int) {
	for _, r := range slices.Clone(w.server.records) {
		if r.name != name || r.reservation {
			continue
		}
		w.server.updateRecord(r.id, 0, func(r *record) { r.moving, r.touched = true, true })
		w.server.deleteRecord(r.id, 0)
		w.server.updateRecord(r.id, 0, func(r *record) { r.finalizer = false })
	}
}

// restoreClaim creates a claim that has been answered already. It comes back from another cluster,
// or comes from a backup. The record of its earlier UID may come along. If no other record overlaps
// that one, or if a reservation keeps the addresses, the claim uses them at once.
func (w *world) restoreClaim(name int) {
	s := &w.server
	if !w.theme.restores || s.claims[name].uid != 0 || len(s.answers.naming(name)) > 0 || w.theme.carves && name == weirName {
		return
	}
	c := claim{uid: s.newID(), weirKind: name == weirName, restored: true, retains: name == weirName && w.theme.retains}
	c.arrived = s.isByStatus(name)
	cidr := w.addressesToRestore(name)
	if s.answers[s.slot(name, cidr)].id != 0 {
		return // another claim's answer has the name
	}
	c.big = cidr == wholeSpace
	isTaken := func(r record) bool { return r.cidr.overlaps(cidr) }
	isReservation := func(r record) bool {
		return r.name == name && r.cidr == cidr && r.reservation && !r.terminating && r.released == 0
	}
	isReserved := slices.ContainsFunc(s.records, isReservation)
	if w.oneIn(2) {
		isReserved = isReserved || !slices.ContainsFunc(s.records, isTaken)
		old := c.recordFor(name, cidr)
		old.uid, old.owned, old.adopts, old.ageless = s.newID(), true, false, true
		s.createRecord(old)
	}
	w.storeRestored(name, c, cidr)
	if isReserved {
		s.report(name, c.uid, cidr)
	}
	s.monitor.endGuarantees(record{name: name, cidr: cidr, reservation: true})
	w.tally.restored++
}

// addressesToRestore returns the addresses that a restored claim of the name comes with.
func (w *world) addressesToRestore(name int) space {
	for _, moved := range w.server.monitor.elsewhere {
		if moved.name == name {
			return moved.cidr
		}
	}
	cidrs := claim{big: w.isBig(name)}.candidates()
	return cidrs[w.random.IntN(len(cidrs))]
}

// storeRestored stores the claim and its answer, which may have lost its owner.
func (w *world) storeRestored(name int, c claim, cidr space) {
	s := &w.server
	if c.weirKind {
		c.status = cidr
	}
	s.createClaim(name, c)
	if !c.weirKind {
		w.storeAnswer(name, cidr, c.uid*w.random.IntN(2))
	}
	if stray := wholeSpace &^ cidr; c.arrived && stray != noSpace && w.oneIn(4) {
		w.storeAnswer(name, stray, c.uid*w.random.IntN(2))
	}
}

// storeAnswer stores an answer that was made elsewhere, if its name is free.
func (w *world) storeAnswer(name int, cidr space, uid int) {
	s := &w.server
	if at := s.slot(name, cidr); s.answers[at].id == 0 {
		s.answers[at] = answer{id: s.newID(), name: name, cidr: cidr, uid: uid}
	}
}

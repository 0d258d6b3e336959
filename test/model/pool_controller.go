// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// poolController is what the pool controller does with single records:
//
//	expired, or retained and deleted         deleted, if a live read shows that its claim is gone
//	terminating because its claim moves      a reservation is stored, then the record is released
//	a reservation that a person has deleted  released, if a live read shows no claim of its UID
type poolController struct {
	releaser

	record      record
	lost        bool   // an older record overlaps it
	reservation record // what this manager has stored in its place
	next        func(*poolController)
}

func (pc *poolController) step() {
	if pc.next == nil {
		if n := len(pc.manager.index.entries); n > 0 {
			pc.begin(pc.manager.random.IntN(n))
		}
		return
	}
	pc.next(pc)
}

// begin looks at the i-th record of the index.
func (pc *poolController) begin(i int) {
	m := pc.manager
	*pc = poolController{releaser: releaser{manager: m}, record: m.index.withAge(m.index.entries[i])}
	switch r := pc.record; {
	case r.moving && r.terminating && !r.reservation:
		pc.lost = m.index.judge(m.index.entries[i]) == lost
		pc.next = (*poolController).storeReservation
		if pc.isUnreported() || !m.rules.ReservationBeforeRelease {
			pc.next = (*poolController).releaseMoved
		}
	case r.released != 0 && pc.hasExpired():
		pc.next = (*poolController).expire
	case r.reservation && r.terminating && r.released == 0:
		pc.next = (*poolController).releaseReservation
	}
}

// isUnreported says whether the addresses of a moving record certainly were not reported. Those of
// a restored claim or of a Weir claim may be in use although the record has lost.
func (pc *poolController) isUnreported() bool {
	r := pc.record
	return pc.lost && !r.weirKind && !r.adopts && r.released == 0 && pc.manager.rules.LosersAreNotReserved
}

// hasExpired says whether the record need not block its addresses any longer.
func (pc *poolController) hasExpired() bool {
	if pc.record.retained {
		return pc.record.terminating
	}
	return pc.manager.server.clock-pc.record.released >= pc.manager.cooldown
}

func (pc *poolController) expire() {
	if pc.manager.isKept(pc.record) || pc.manager.rules.ExpiryReadsClaim && pc.claimLives() {
		pc.next = nil
		return
	}
	pc.manager.tally.expired++
	pc.release(modeDelete)
}

func (pc *poolController) claimLives() bool {
	return pc.manager.server.claims[pc.record.name].uid == pc.record.uid
}

// storeReservation stores a reservation for the record, unless there is one.
func (pc *poolController) storeReservation() {
	s, r := pc.manager.server, pc.record
	stored := func(other record) bool { return other.replaces == r.id }
	if !slices.ContainsFunc(s.records, stored) {
		reservation := record{name: r.name, uid: r.uid, weirKind: r.weirKind, reservation: true, replaces: r.id, cidr: r.cidr}
		if r.released != 0 && !r.retained { // it only goes on cooling down: that has no age of its own, and reserves nothing
			reservation.released, reservation.reservation = r.released, false
		} else {
			reservation.ageless = !pc.lost || r.weirKind || r.adopts
			if !pc.manager.rules.ReservationIsNoOlder {
				reservation.created = r.created
			}
		}
		pc.reservation = s.createRecord(reservation)
		pc.manager.tally.reservations++
	}
	pc.next = (*poolController).releaseMoved
	if !pc.manager.rules.ReservationBeforeRelease {
		pc.next = nil
	}
}

// releaseMoved removes the finalizer from a record that a reservation replaces.
func (pc *poolController) releaseMoved() {
	_, ok := pc.manager.server.updateRecord(pc.record.id, pc.record.version, func(r *record) { r.replaced, r.finalizer = true, false })
	switch {
	case !pc.manager.rules.ReservationBeforeRelease && !pc.isUnreported():
		pc.next = (*poolController).storeReservation
	case !ok && pc.reservation.id != 0:
		pc.next = (*poolController).deleteLate
	default:
		pc.next = nil
	}
}

// deleteLate deletes the reservation, once the watch has shown it, if that was stored after the record
// had gone: another manager had seen to that, and what it reserved may have been given up since.
func (pc *poolController) deleteLate() {
	s, x := pc.manager.server, &pc.manager.index
	wentBefore := func(e event) bool {
		return e.id == pc.record.id && e.gone && e.version < pc.reservation.version
	}
	switch isShown := slices.ContainsFunc(s.log[:x.seen], func(e event) bool { return e.id == pc.reservation.id }); {
	case !isShown:
	case slices.ContainsFunc(s.log[:x.seen], wentBefore):
		pc.manager.tally.late++
		pc.record = pc.reservation
		pc.release(modeDelete)
	default:
		pc.next = nil
	}
}

func (pc *poolController) releaseReservation() {
	if pc.claimLives() {
		pc.next = nil
		return
	}
	pc.release(modeRelease)
}

func (pc *poolController) release(mode releaseMode) {
	pc.enqueue(mode, pc.record)
	pc.next = (*poolController).releasing
}

func (pc *poolController) releasing() {
	if pc.releaseStep() {
		pc.next = nil
	}
}

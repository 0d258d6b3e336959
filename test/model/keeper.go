// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// keeper is what a pool's controller does about single records:
//
//	has cooled down, or is retained and was deleted     its claim is gone, by a live read: dropped
//	marked because it moves to another cluster          a hold is stored, then the record goes
//	a hold that somebody has deleted                    no claim of its UID, by a live read: given up
type keeper struct {
	dropper

	record record
	lost   bool // an older one overlaps it
	next   func(*keeper)
}

func (k *keeper) step() {
	if k.next == nil {
		if n := len(k.manager.index.entries); n > 0 {
			k.begin(k.manager.random.IntN(n))
		}
		return
	}
	k.next(k)
}

// begin looks at the i-th record of the index.
func (k *keeper) begin(i int) {
	m := k.manager
	*k = keeper{dropper: dropper{manager: m}, record: m.index.aged(m.index.entries[i])}
	switch r := k.record; {
	case r.moving && r.terminating && !r.hold:
		k.lost = m.index.judge(m.index.entries[i]) == lost
		k.next = (*keeper).storeHold
		if k.isVoid() || !m.rules.HoldBeforeRelease {
			k.next = (*keeper).letMove
		}
	case r.released != 0 && k.isOver():
		k.next = (*keeper).thaw
	case r.hold && r.terminating && r.released == 0:
		k.next = (*keeper).endHold
	}
}

// isVoid says whether nobody can have been told of what moves. What came with its answer, or is its own, may be in use all the same.
func (k *keeper) isVoid() bool {
	r := k.record
	return k.lost && !r.own && !r.adopts && r.released == 0 && k.manager.rules.LosersAreNotHeld
}

// isOver says whether the record has kept others from its addresses for long enough.
func (k *keeper) isOver() bool {
	if k.record.retained {
		return k.record.terminating
	}
	return k.manager.server.clock-k.record.released >= k.manager.cooldown
}

func (k *keeper) thaw() {
	if k.manager.isKept(k.record) || k.manager.rules.ThawReadsClaim && k.claimLives() {
		k.next = nil
		return
	}
	k.manager.tally.thawed++
	k.part(drops)
}

func (k *keeper) claimLives() bool { return k.manager.server.claims[k.record.name].uid == k.record.uid }

// storeHold stores a hold for the record, unless there is one.
func (k *keeper) storeHold() {
	s, r := k.manager.server, k.record
	stored := func(other record) bool { return other.hold && other.replaces == r.id }
	if !slices.ContainsFunc(s.records, stored) {
		hold := record{name: r.name, uid: r.uid, own: r.own, hold: true, replaces: r.id, cidr: r.cidr}
		if !r.retained {
			hold.released = r.released
		}
		if k.manager.rules.HoldKeepsAge {
			hold.created, hold.ageless = r.created, r.created == 0 || k.lost && (r.own || r.adopts)
		}
		s.createRecord(hold)
		k.manager.tally.held++
	}
	k.next = (*keeper).letMove
	if !k.manager.rules.HoldBeforeRelease {
		k.next = nil
	}
}

// letMove takes the finalizer off what a hold stands for.
func (k *keeper) letMove() {
	k.manager.server.updateRecord(k.record.id, k.record.version, func(r *record) { r.held, r.finalizer = true, false })
	k.next = nil
	if !k.manager.rules.HoldBeforeRelease && !k.isVoid() {
		k.next = (*keeper).storeHold
	}
}

func (k *keeper) endHold() {
	if k.claimLives() {
		k.next = nil
		return
	}
	k.part(letsGo)
}

func (k *keeper) part(how way) {
	k.giveUp(how, k.record)
	k.next = (*keeper).dropping
}

func (k *keeper) dropping() {
	if k.dropStep() {
		k.next = nil
	}
}

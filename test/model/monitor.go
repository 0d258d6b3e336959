// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
)

// witness remembers what no object says: who was promised what. It is no part of the protocol.
type monitor struct {
	cooldown  int // what the pool says; 0 where nobody can be held to it
	lastUses  [addresses]lastUse
	retained  []guarantee
	elsewhere []guarantee // in use in another cluster
	violation error       // the first promise that was not kept
}

// promise is what nobody may be told but a claim of this name.
type guarantee struct {
	name int
	cidr space
}

// freed says whose claim had an address last, and until when.
type lastUse struct{ name, until int }

// hear notes what a claim's client may act on from now on.
func (m *monitor) observe(name int, c *claim, cidr space, clock int) {
	if c.reported.contains(cidr) {
		return
	}
	before := c.reported
	c.reported |= cidr
	if !c.lives() {
		return
	}
	isBroken := func(p guarantee) bool { return p.name != name && p.cidr.overlaps(cidr) }
	switch {
	case m.violation != nil:
	case before != noSpace:
		m.violation = fmt.Errorf("%w: claim %d of name %d", ErrTwoAnswers, c.uid, name)
	case slices.ContainsFunc(m.retained, isBroken):
		m.violation = fmt.Errorf("%w: claim %d of name %d: %v", ErrRetained, c.uid, name, m.retained)
	case slices.ContainsFunc(m.elsewhere, isBroken), !c.restored && slices.Contains(m.elsewhere, guarantee{name, cidr}):
		m.violation = fmt.Errorf("%w: claim %d of name %d: %v", ErrMoved, c.uid, name, m.elsewhere)
	case !c.restored && m.isCooling(name, c, cidr, clock):
		m.violation = fmt.Errorf("%w: claim %d of name %d at %d: %v", ErrCooling, c.uid, name, clock, m.lastUses)
	}
}

// isEarly says whether an address has not cooled down. One of Weir's own kinds that follows another of its name may have what
// that had.
func (m *monitor) isCooling(name int, c *claim, cidr space, clock int) bool {
	for i, last := range m.lastUses {
		own := c.weirKind && last.name == name
		if cidr.overlaps(1<<i) && last.until != 0 && !own && clock < last.until+m.cooldown {
			return true
		}
	}
	return false
}

// leave notes that a claim does not use any more what it was told. What moves to another cluster is used on.
func (m *monitor) endUse(name int, c claim, clock int) {
	if c.moving || c.terminating {
		return
	}
	for i := range m.lastUses {
		if c.reported.overlaps(1 << i) {
			m.lastUses[i] = lastUse{name: name, until: clock}
		}
	}
}

// forgive notes that nobody can be held to a cooldown after what was told to a claim of the name.
func (m *monitor) waiveCooldown(name int, told space) {
	for i := range m.lastUses {
		if told.overlaps(1<<i) && m.lastUses[i].name == name {
			m.lastUses[i].until = 0
		}
	}
}

// goAway notes that what a claim was told is in use elsewhere from now on.
func (m *monitor) moveAway(name int, c claim) {
	if c.reported != noSpace {
		m.elsewhere = append(m.elsewhere, guarantee{name, c.reported})
	}
}

// endRetention notes that the next claim of a name is there.
func (m *monitor) endRetention(name int) {
	m.retained = slices.DeleteFunc(m.retained, func(p guarantee) bool { return p.name == name })
}

// release notes that somebody has deleted a record which keeps addresses for a claim, or that this has come back with them.
func (m *monitor) endGuarantees(r record) {
	ends := func(p guarantee) bool { return p.name == r.name && p.cidr.overlaps(r.cidr) }
	if r.retained {
		m.retained = slices.DeleteFunc(m.retained, ends)
	}
	if r.reservation {
		m.elsewhere = slices.DeleteFunc(m.elsewhere, ends)
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
)

// monitor records what no object says: which addresses are guaranteed to which name. It is not part
// of the protocol.
type monitor struct {
	cooldown  int // the pool's cooldown; 0 where it is not checked
	lastUses  [addresses]lastUse
	retained  []guarantee
	elsewhere []guarantee // in use in another cluster
	violation error       // the first broken guarantee
}

// guarantee names addresses that may be reported only to claims of this name.
type guarantee struct {
	name int
	cidr space
}

// lastUse says which name last used an address, and until when.
type lastUse struct{ name, until int }

// observe notes the addresses that a claim's client may use from now on.
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

// isCooling says whether an address has not cooled down. A Weir claim may have the addresses of an
// earlier claim of its name at once.
func (m *monitor) isCooling(name int, c *claim, cidr space, clock int) bool {
	for i, last := range m.lastUses {
		isSuccessor := c.weirKind && last.name == name
		if cidr.overlaps(1<<i) && last.until != 0 && !isSuccessor && clock < last.until+m.cooldown {
			return true
		}
	}
	return false
}

// endUse notes that a claim no longer uses its reported addresses. A moving claim goes on using
// them.
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

// waiveCooldown ends the cooldown check of addresses that were reported to a claim of the name.
func (m *monitor) waiveCooldown(name int, reported space) {
	for i := range m.lastUses {
		if reported.overlaps(1<<i) && m.lastUses[i].name == name {
			m.lastUses[i].until = 0
		}
	}
}

// moveAway notes that the addresses of a claim are in use in another cluster from now on.
func (m *monitor) moveAway(name int, c claim) {
	if c.reported != noSpace {
		m.elsewhere = append(m.elsewhere, guarantee{name, c.reported})
	}
}

// endRetention notes that the next claim of a name exists.
func (m *monitor) endRetention(name int) {
	m.retained = slices.DeleteFunc(m.retained, func(p guarantee) bool { return p.name == name })
}

// endGuarantees notes that a person has deleted a retained record or a reservation, or that its
// claim has come back.
func (m *monitor) endGuarantees(r record) {
	ends := func(p guarantee) bool { return p.name == r.name && p.cidr.overlaps(r.cidr) }
	if r.retained {
		m.retained = slices.DeleteFunc(m.retained, ends)
	}
	if r.reservation {
		m.elsewhere = slices.DeleteFunc(m.elsewhere, ends)
	}
}

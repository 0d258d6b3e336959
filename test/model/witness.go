// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
)

// witness remembers what no object says: who was promised what. It is no part of the protocol.
type witness struct {
	cooldown int // what the pool says; 0 where nobody can be held to it
	freed    [addresses]freed
	retained []promise
	away     []promise // in use in another cluster
	broken   error     // the first promise that was not kept
}

// promise is what nobody may be told but a claim of this name.
type promise struct {
	name int
	cidr space
}

// freed says whose claim had an address last, and until when.
type freed struct{ name, until int }

// hear notes what a claim's client may act on from now on.
func (w *witness) hear(name int, c *claim, cidr space, clock int) {
	if c.told.contains(cidr) {
		return
	}
	before := c.told
	c.told |= cidr
	if !c.lives() {
		return
	}
	isBroken := func(p promise) bool { return p.name != name && p.cidr.overlaps(cidr) }
	switch {
	case w.broken != nil:
	case before != noSpace:
		w.broken = fmt.Errorf("%w: claim %d of name %d", ErrTwoAnswers, c.uid, name)
	case slices.ContainsFunc(w.retained, isBroken):
		w.broken = fmt.Errorf("%w: claim %d of name %d: %v", ErrRetained, c.uid, name, w.retained)
	case slices.ContainsFunc(w.away, isBroken), !c.arrived && slices.Contains(w.away, promise{name, cidr}):
		w.broken = fmt.Errorf("%w: claim %d of name %d: %v", ErrMoved, c.uid, name, w.away)
	case !c.arrived && w.isEarly(name, c, cidr, clock):
		w.broken = fmt.Errorf("%w: claim %d of name %d at %d: %v", ErrEarly, c.uid, name, clock, w.freed)
	}
}

// isEarly says whether an address has not cooled down. One of Weir's own kinds that follows another of its name may have what
// that had.
func (w *witness) isEarly(name int, c *claim, cidr space, clock int) bool {
	for i, last := range w.freed {
		own := c.own && last.name == name
		if cidr.overlaps(1<<i) && last.until != 0 && !own && clock < last.until+w.cooldown {
			return true
		}
	}
	return false
}

// leave notes that a claim does not use any more what it was told. What moves to another cluster is used on.
func (w *witness) leave(name int, c claim, clock int) {
	if c.moving || c.terminating {
		return
	}
	for i := range w.freed {
		if c.told.overlaps(1 << i) {
			w.freed[i] = freed{name: name, until: clock}
		}
	}
}

// forgive notes that nobody can be held to a cooldown after what was told to a claim of the name.
func (w *witness) forgive(name int, told space) {
	for i := range w.freed {
		if told.overlaps(1<<i) && w.freed[i].name == name {
			w.freed[i].until = 0
		}
	}
}

// goAway notes that what a claim was told is in use elsewhere from now on.
func (w *witness) goAway(name int, c claim) {
	if c.told != noSpace {
		w.away = append(w.away, promise{name, c.told})
	}
}

// endRetention notes that the next claim of a name is there.
func (w *witness) endRetention(name int) {
	w.retained = slices.DeleteFunc(w.retained, func(p promise) bool { return p.name == name })
}

// release notes that somebody has deleted a record which keeps addresses for a claim, or that this has come back with them.
func (w *witness) release(r record) {
	ends := func(p promise) bool { return p.name == r.name && p.cidr.overlaps(r.cidr) }
	if r.retained {
		w.retained = slices.DeleteFunc(w.retained, ends)
	}
	if r.hold {
		w.away = slices.DeleteFunc(w.away, ends)
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"slices"
)

// converge lets all actors work in random order, undisturbed but for time, until nothing is left to
// do.
func (w *world) converge() error {
	w.finishEnvironment()
	var err error
	for range 40 {
		if err = w.checkConverged(); err == nil {
			return w.check()
		}
		w.round()
		if broken := w.check(); broken != nil {
			return broken
		}
		w.server.tick()
	}
	return err
}

// finishEnvironment finishes what the environment has begun: requests and moves.
func (w *world) finishEnvironment() {
	for len(w.server.requests) > 0 {
		w.server.endRequest(0, w.oneIn(3))
	}
	for name := range names {
		for w.moves[name] != notMoving {
			w.move(name)
		}
	}
}

// round gives every manager a turn, in random order.
func (w *world) round() {
	for _, m := range w.random.Perm(len(w.managers)) {
		w.catchUp(m)
		for _, actor := range w.random.Perm(actorWatch) {
			w.turn(m, actor)
		}
		for i := range w.managers[m].index.entries {
			w.visit(m, i)
		}
		w.visitNames(m)
	}
}

// visit has repair and the pool controller look at one record. Later records may be gone by then.
func (w *world) visit(m, i int) {
	p := w.managers[m]
	if i < len(p.index.entries) {
		p.repair.begin(i)
		w.turn(m, actorRepair)
	}
	if i < len(p.index.entries) {
		p.poolController.begin(i)
		w.turn(m, actorPoolController)
	}
	w.catchUp(m)
}

// visitNames has repair look under the names of claims that have answers: one can be left over
// although no record is.
func (w *world) visitNames(m int) {
	for name := range weirName {
		w.managers[m].repair.look(name, entry{})
		w.turn(m, actorRepair)
	}
}

// turn lets one actor step until it is idle, with a watch that keeps up.
func (w *world) turn(m, actor int) {
	for range 24 {
		w.steps++
		w.act(m, actor)
		w.catchUp(m)
		if w.managers[m].isIdle(actor) {
			return
		}
	}
}

func (w *world) catchUp(m int) {
	p := w.managers[m]
	for p.deliver() {
		w.steps++
	}
	p.claims, p.answers, p.index.kept = w.server.claims, w.server.answers, w.server.kept
}

// checkConverged returns what has not converged.
func (w *world) checkConverged() (err error) {
	for name, c := range w.server.claims {
		switch {
		case c.uid == 0:
		case !w.hasConverged(name, c):
			return fmt.Errorf("%w: name %d: %v; records %v", ErrStuck, name, c, w.server.records)
		case c.reported != noSpace && !w.isRecorded(name, c.reported):
			return fmt.Errorf("%w: name %d: %v; records %v", ErrUnrecorded, name, c, w.server.records)
		}
	}
	for _, m := range w.managers {
		m.forEachWaiter(func(o *waiter) {
			if o.waits() {
				err = fmt.Errorf("%w: no manager judges %v", ErrStuck, o.record)
			}
		})
	}
	return cmp.Or(w.checkLeft(), err)
}

// checkLeft returns what is left over.
func (w *world) checkLeft() error {
	for _, a := range w.server.answers {
		if a.id != 0 && w.server.claims[a.name].uid == 0 {
			return fmt.Errorf("%w: answer %v", ErrLeak, a)
		}
	}
	for _, r := range w.server.records {
		switch {
		case !w.isExpected(r):
			return fmt.Errorf("%w: %v", ErrLeak, r)
		case r.retained && w.server.claims[r.name].uid == 0 && !w.canBeClaimed(r):
			return fmt.Errorf("%w: no claim can get the retained record: %v", ErrStuck, r)
		}
	}
	return nil
}

// canBeClaimed says whether the next claim of the name would get the retained record, or another
// one retained for it. With restored claims this cannot be decided: another claim may have been
// restored with the addresses. Nor can it where the pool may keep them for another name by now.
func (w *world) canBeClaimed(r record) bool {
	_, ok := w.managers[0].webhooks.propose(claim{weirKind: true, big: r.cidr == wholeSpace}, noSpace)
	return ok || w.theme.restores || w.theme.keeps
}

// hasConverged says whether the claim is answered, or its status correctly says why it is not.
func (w *world) hasConverged(name int, c claim) bool {
	switch {
	case c.block && c.terminating: // waits for the claims of the pool
		return slices.ContainsFunc(w.server.records, func(r record) bool { return r.carved })
	case c.terminating, c.moving:
		return false
	case w.waitsForPool(c), w.isContested(c), w.lacksName(c):
		return true
	case c.conflict:
		return c.arrived && len(w.server.answers.naming(name)) > 1 || !w.isFreeFor(name, c, w.restoredWith(name, c))
	case c.weirKind:
		return c.ready
	}
	return w.isAnswered(name, c)
}

// isAnswered says whether the claim, which is not of a Weir kind, has its answer, or its status rightly
// says that nothing is free.
func (w *world) isAnswered(name int, c claim) bool {
	if its := w.server.answers.naming(name); len(its) > 0 || w.server.isByStatus(name) && c.status != noSpace {
		return len(its) == 1 && its[0].uid == c.uid && its[0].cidr == c.status
	}
	return c.exhausted && !slices.ContainsFunc(c.candidates(), func(s space) bool {
		return c.mayHave(name, s, w.server.kept) && w.isFreeFor(name, c, s)
	})
}

// waitsForPool says whether the claim and the records of its name wait for the carved pool.
func (w *world) waitsForPool(c claim) bool { return c.carved && w.block() == noSpace }

// isContested says whether a record of the claim overlaps another claim's record that no manager
// judges. That record came along from another cluster, is all that a restored claim has, is a
// reservation, or has the name of a claim that waits for its pool. The claim's record may be older,
// but cannot be reported while the other record exists.
func (w *world) isContested(c claim) bool {
	return slices.ContainsFunc(w.server.records, func(r record) bool {
		current := w.server.claims[r.name]
		isUnjudged := r.ageless || r.weirKind && r.adopts || current.conflict || w.waitsForPool(current)
		return isUnjudged && r.uid != c.uid && slices.ContainsFunc(w.server.records, func(mine record) bool {
			return mine.uid == c.uid && mine.cidr.overlaps(r.cidr)
		})
	})
}

// lacksName says whether the claim cannot be answered, because the names of the answers to all its
// records are taken: by answers of claims that were restored with them, and could not record them, or
// wait for their pool.
func (w *world) lacksName(c claim) bool {
	if c.status != noSpace {
		return false
	}
	its := 0
	for _, r := range w.server.records {
		if r.uid != c.uid {
			continue
		}
		its++
		a := w.server.answers[w.server.slot(r.name, r.cidr)]
		if by := w.server.claims[a.name]; a.id == 0 || a.name == r.name || !by.conflict && !w.waitsForPool(by) {
			return false
		}
	}
	return its > 0
}

// restoredWith returns the addresses that the claim was restored with.
func (w *world) restoredWith(name int, c claim) space {
	if c.weirKind {
		return c.status
	}
	if its := w.server.answers.naming(name); len(its) > 0 {
		return its[0].cidr
	}
	return noSpace
}

// isFreeFor says whether the claim could have the addresses: no record of another claim overlaps
// them.
func (w *world) isFreeFor(name int, c claim, s space) bool {
	return !slices.ContainsFunc(w.server.records, func(r record) bool {
		exempt := r.uid == c.uid || c.restored && r.name == name || c.carved && r.block
		return !exempt && r.cidr.overlaps(s)
	})
}

func (w *world) isRecorded(name int, cidr space) bool {
	return slices.ContainsFunc(w.server.records, func(r record) bool { return r.name == name && r.cidr.contains(cidr) })
}

// isExpected says whether the record has a reason to exist.
func (w *world) isExpected(r record) bool {
	c := w.server.claims[r.name]
	isStray := w.server.isByStatus(r.name) && c.uid == r.uid && c.status != noSpace && c.status != r.cidr
	switch {
	case isStray:
		return false
	case c.uid == r.uid, c.conflict, w.isContested(c), w.waitsForPool(c):
		return true
	case r.reservation:
		return !r.terminating && r.released == 0
	case r.block:
		return slices.ContainsFunc(w.server.records, func(r record) bool { return r.carved })
	default:
		return r.retained && c.uid == 0 && !r.terminating
	}
}

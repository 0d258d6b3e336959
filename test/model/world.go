// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// What a walk can find.
var (
	ErrDouble     = errors.New("two live claims were told overlapping addresses")
	ErrTwoAnswers = errors.New("a claim was told two addresses")
	ErrStuck      = errors.New("a claim is stuck")
	ErrLeak       = errors.New("something is left of a claim that is gone")
)

// world is one server and its managers, and whoever else writes to the server.
type world struct {
	rules    Rules
	random   *rand.Rand
	server   server
	managers []*manager
	// meddled: people and the garbage collector write to records and delete them.
	meddled bool
	asleep  []bool // one for each actor
	tally   *tally
	steps   int
	trace   *trace
}

// The actors of a manager, besides its tasks: each sleeps and wakes on its own.
const (
	mends = names + iota
	admits
	watches
	cachesClaims
	cachesAnswers
	actors
)

func newWorld(rules Rules, seed uint64, counted *tally) *world {
	random := rand.New(rand.NewPCG(seed, 0))
	w := &world{rules: rules, random: random, tally: counted}
	w.managers = make([]*manager, 2+random.IntN(2))
	for i := range w.managers {
		w.managers[i] = &manager{rules: &w.rules, server: &w.server, random: random, tally: counted}
		w.managers[i].start(0)
	}
	w.asleep = make([]bool, len(w.managers)*actors)
	return w
}

func (w *world) oneIn(n int) bool { return w.random.IntN(n) == 0 }

// walk takes random steps, and says what went wrong.
func (w *world) walk(steps int) error {
	for range steps {
		w.stepAnything()
		if err := w.check(); err != nil {
			return err
		}
	}
	return nil
}

// stepAnything lets somebody do something. Most sleep for a while now and then, which is how a walk gets to what only
// happens when one of two machines hangs between two steps.
func (w *world) stepAnything() {
	w.steps++
	if i := w.random.IntN(len(w.asleep)); w.oneIn(8) {
		w.asleep[i] = !w.asleep[i]
	}
	if w.oneIn(12) {
		w.disturb()
		return
	}
	if i := w.random.IntN(len(w.asleep)); !w.asleep[i] {
		w.act(i/actors, i%actors)
	}
}

// act lets one actor of a manager take one step.
func (w *world) act(m, actor int) {
	p := w.managers[m]
	switch actor {
	case mends:
		p.mender.step()
	case admits:
		p.porter.step()
	case watches:
		p.deliver()
	case cachesClaims:
		name := w.random.IntN(names)
		p.claims[name] = w.server.claims[name]
	case cachesAnswers:
		name := w.random.IntN(names)
		p.answers[name] = w.server.answers[name]
	default:
		p.tasks[actor].step()
	}
	w.trace.add(w, m, actor)
}

// disturb is what comes from outside: clients, people, the garbage collector, failures.
func (w *world) disturb() {
	p := w.managers[w.random.IntN(len(w.managers))]
	name := w.random.IntN(names)
	switch w.random.IntN(17) {
	case 0:
		w.crash(p)
	case 1, 2:
		w.tally.relists++
		p.relist(p.index.seen + w.random.IntN(len(w.server.log)-p.index.seen+1))
	case 3:
		p.tasks[name].stop() // a write's reply is lost, or a read fails
	case 4:
		w.strip(name)
	case 5, 6:
		w.deleteClaim(name)
	case 7:
		w.meddle()
	case 8, 9, 10:
		w.finishRequest()
	default:
		w.request(p, name)
	}
	w.trace.addDisturbance(w)
}

// strip removes a claim without Weir: somebody takes its finalizers away.
func (w *world) strip(name int) { w.server.removeClaim(name, w.server.claims[name].uid) }

// deleteClaim marks a claim. Weir's finalizer keeps it until it is released.
func (w *world) deleteClaim(name int) {
	w.server.claims[name].terminating = w.server.claims[name].uid != 0
}

// request creates a claim, if there is none of the name.
func (w *world) request(p *manager, name int) {
	big := w.oneIn(4)
	switch {
	case name == ownName && p.porter.idle():
		p.porter.receive(big)
	case name != ownName:
		w.server.createClaim(name, claim{uid: w.server.newID(), big: big})
	}
}

// finishRequest ends a request: stored, rejected by somebody after us, or timed out.
func (w *world) finishRequest() {
	if len(w.server.requests) == 0 {
		return
	}
	if i := w.random.IntN(len(w.server.requests)); w.server.requests[i].admitted || w.oneIn(8) {
		w.server.finish(i, w.oneIn(3))
	}
}

func (w *world) crash(p *manager) {
	w.tally.crashes++
	p.porter.stop()
	p.start(w.random.IntN(len(w.server.log) + 1))
}

// meddle writes to a record, or deletes it: the finalizer keeps it.
func (w *world) meddle() {
	if !w.meddled || len(w.server.records) == 0 {
		return
	}
	r := w.server.records[w.random.IntN(len(w.server.records))]
	if w.oneIn(2) {
		w.server.deleteRecord(r.id, 0)
		return
	}
	w.server.updateRecord(r.id, 0, func(r *record) { r.touched = true })
}

// check compares all claims that live: whoever was ever told an address keeps it.
func (w *world) check() error {
	var taken space
	for name, c := range w.server.claims {
		if !c.lives() {
			continue
		}
		if c.told == wholeSpace && !c.big {
			return fmt.Errorf("%w: claim %d of name %d", ErrTwoAnswers, c.uid, name)
		}
		if taken.overlaps(c.told) {
			return fmt.Errorf("%w: %+v", ErrDouble, w.server.claims)
		}
		taken |= c.told
	}
	return nil
}

// settle lets everybody work in a random order, without any disturbance, until nothing is left to do.
func (w *world) settle() error {
	for len(w.server.requests) > 0 {
		w.server.finish(0, w.oneIn(3))
	}
	var err error
	for range 40 {
		if err = w.unsettled(); err == nil {
			return w.check()
		}
		w.round()
		if broken := w.check(); broken != nil {
			return broken
		}
	}
	return err
}

// round gives every manager a turn, in random order.
func (w *world) round() {
	for _, m := range w.random.Perm(len(w.managers)) {
		w.catchUp(m)
		for _, actor := range w.random.Perm(watches) {
			w.turn(m, actor)
		}
		for i := range w.managers[m].index.entries {
			w.managers[m].mender.begin(i)
			w.turn(m, mends)
			w.catchUp(m)
		}
	}
}

// turn lets one actor go on until it has nothing to do, with a watch that keeps up.
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
	p.claims, p.answers = w.server.claims, w.server.answers
}

// unsettled says what is not at rest: a claim neither answered nor told rightly that nothing is free, or a record of none.
func (w *world) unsettled() (err error) {
	for name, c := range w.server.claims {
		if c.uid != 0 && !w.isSettled(name, c) {
			return fmt.Errorf("%w: name %d: %+v; records %+v", ErrStuck, name, c, w.server.records)
		}
	}
	for _, m := range w.managers {
		m.waiters(func(o *waiter) {
			if o.waits() {
				err = fmt.Errorf("%w: nobody judges %+v", ErrStuck, o.record)
			}
		})
	}
	for _, r := range w.server.records {
		if w.server.claims[r.name].uid != r.uid {
			return fmt.Errorf("%w: %+v", ErrLeak, r)
		}
	}
	return err
}

func (w *world) isSettled(name int, c claim) bool {
	a := w.server.answers[name]
	switch {
	case c.terminating:
		return false
	case c.own, a.uid == c.uid && a.cidr == c.status:
		return true
	}
	open := func(s space) bool { return w.isOpenTo(c, s) }
	return c.exhausted && !slices.ContainsFunc(c.candidates(), open)
}

// isOpenTo says whether the claim could have the addresses: no record of another claim overlaps them.
func (w *world) isOpenTo(c claim, s space) bool {
	return !slices.ContainsFunc(w.server.records, func(r record) bool { return r.uid != c.uid && r.cidr.overlaps(s) })
}

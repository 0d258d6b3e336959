// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// What a walk can find.
var (
	ErrOverlap    = errors.New("two live claims were told overlapping addresses")
	ErrTwoAnswers = errors.New("a claim was told two addresses")
	ErrRetained   = errors.New("a claim was told what is retained for another name")
	ErrMoved      = errors.New("a claim was told what is in use in another cluster")
	ErrCooling    = errors.New("a claim was told what has not cooled down")
	ErrStuck      = errors.New("a claim is stuck")
	ErrLeak       = errors.New("something is left of a claim that is gone")
	ErrUnrecorded = errors.New("nothing records what a claim was told")
)

// world is one server and its managers, and whoever else writes to the server.
type world struct {
	rules    Rules
	theme    theme
	random   *rand.Rand
	server   server
	managers []*manager
	// externalEdits: people and the garbage collector write to records and delete them.
	externalEdits bool
	moves         [names]phase // of the claims that clusterctl is moving
	asleep        []bool       // one for each actor
	tally         *tally
	steps         int
	trace         *trace
}

// The actors of a manager, besides its tasks: each sleeps and wakes on its own.
const (
	actorRepair = names + iota
	actorPoolController
	actorWebhooks
	actorWatch
	actorClaimCache
	actorAnswerCache
	actors
)

func newWorld(rules Rules, about theme, seed uint64, counted *tally) *world {
	random := rand.New(rand.NewPCG(seed, 0))
	w := &world{rules: rules, theme: about, random: random, tally: counted, externalEdits: seed%2 == 1}
	w.server.rules, w.server.clock = &w.rules, 1
	if !w.externalEdits && !about.restores { // see doc.go
		w.server.monitor.cooldown = about.cooldownTicks()
	}
	w.managers = make([]*manager, 2+random.IntN(2))
	for i := range w.managers {
		w.managers[i] = &manager{rules: &w.rules, cooldown: about.cooldownTicks(), server: &w.server, random: random, tally: counted}
		w.managers[i].start(0)
	}
	w.asleep = make([]bool, len(w.managers)*actors)
	return w
}

func (w *world) oneIn(n int) bool { return w.random.IntN(n) == 0 }

// walk takes random steps, and says what went wrong.
func (w *world) walk(steps int) error {
	for range steps {
		w.stepRandom()
		if err := w.check(); err != nil {
			return err
		}
	}
	return nil
}

// stepRandom lets somebody do something. Most sleep for a while now and then, which is how a walk gets to what only
// happens when one of two machines hangs between two steps.
func (w *world) stepRandom() {
	w.steps++
	if i := w.random.IntN(len(w.asleep)); w.oneIn(8) {
		w.asleep[i] = !w.asleep[i]
	}
	if w.oneIn(12) {
		w.stepEnvironment()
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
	case actorRepair:
		p.repair.step()
	case actorPoolController:
		p.poolController.step()
	case actorWebhooks:
		p.webhooks.step()
	case actorWatch:
		p.deliver()
	case actorClaimCache:
		name := w.random.IntN(names)
		p.claims[name] = w.server.claims[name]
	case actorAnswerCache:
		name := w.random.IntN(names)
		p.answers[name] = w.server.answers[name]
	default:
		p.tasks[actor].step()
	}
	w.trace.add(w, m, actor)
}

// check compares all claims that live: whoever was ever told an address keeps it. What moves is in use as well.
func (w *world) check() error {
	var taken space
	for _, c := range w.server.claims {
		switch {
		case c.uid == 0, c.terminating && !c.moving, c.block:
			continue
		case taken.overlaps(c.reported) || !c.carved && w.block().overlaps(c.reported):
			return fmt.Errorf("%w: %v", ErrOverlap, w.server.claims)
		}
		taken |= c.reported
	}
	return w.server.monitor.violation
}

// block is what the carved pool has been told that it has.
func (w *world) block() space {
	if c := w.server.claims[weirName]; c.block && c.lives() {
		return c.reported
	}
	return noSpace
}

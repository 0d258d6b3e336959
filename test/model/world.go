// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// The findings of a walk.
var (
	ErrOverlap    = errors.New("overlapping addresses were reported to two live claims")
	ErrTwoAnswers = errors.New("two addresses were reported to one claim")
	ErrRetained   = errors.New("an address was reported that is retained for another name")
	ErrMoved      = errors.New("an address was reported that is in use in another cluster")
	ErrCooling    = errors.New("an address was reported that is still cooling down")
	ErrStuck      = errors.New("a claim is stuck")
	ErrLeak       = errors.New("a record outlives its claim")
	ErrUnrecorded = errors.New("no record covers a reported address")
)

// world is one server, its managers, and their environment.
type world struct {
	rules    Rules
	theme    theme
	random   *rand.Rand
	server   server
	managers []*manager
	// externalEdits: people and the garbage collector edit and delete records.
	externalEdits bool
	moves         [names]phase // by name of the claim
	asleep        []bool       // one for each actor
	tally         *tally
	steps         int
	trace         *trace
}

// The actors of a manager, besides its tasks. Each sleeps and wakes independently.
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
	w.server.rules, w.server.clock, w.server.statusCommits = &w.rules, 1, about.statusCommits
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

// walk takes random steps until one violates the protocol.
func (w *world) walk(steps int) error {
	for range steps {
		w.stepRandom()
		if err := w.check(); err != nil {
			return err
		}
	}
	return nil
}

// stepRandom lets a random actor or the environment act. Actors sleep and wake at random. So a walk
// reaches states that need one of two machines to hang between two steps.
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
		if w.server.isByStatus(name) {
			at := names + w.random.IntN(len(p.answers)-names)
			p.answers[at] = w.server.answers[at]
		}
		if name == weirName { // which has no answers: instead, the pool is read
			p.index.kept = w.server.kept
		}
	default:
		p.tasks[actor].step()
	}
	w.trace.add(w, m, actor)
}

// check compares all live claims: reported addresses stay in use. Those of a moving claim do too.
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

// block returns the block that the carved pool has been given.
func (w *world) block() space {
	if c := w.server.claims[weirName]; c.block && c.lives() {
		return c.reported
	}
	return noSpace
}

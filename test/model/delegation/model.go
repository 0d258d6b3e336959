// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is a model of how blocks are delegated to members and handed back
// (docs/design/ledger.md, "Blocks that members use"). It contains no code of Weir. It models a hub
// with two blocks and pools of two names, two members with two managers each, what carries manifests
// and reports between them, and an operator who releases only what is not used. A step is one
// request, or one look at a cache; managers act on what they have seen earlier.
//
// After each step no address may have two live claims, at whichever members. Each rule that is
// switched off alone has the same walks find such an address. So the rules are necessary, and the
// walks reach what each is for; that they suffice is shown as far as random walks go.
//
// Not modelled: parts of blocks, kinds of claims, cooldown, and how a member's own records are judged
// among several managers, which package model shows. A member's manifests arrive in order, and a person
// may apply again the last one, or one whose block was handed back: what a member does with any other is
// a known gap.
package delegation

import (
	"math/rand/v2"
	"slices"
)

const (
	blocks    = 2
	addresses = 2
	names     = 2
	members   = 2
	managers  = 2
)

// pool is a delegated pool at the hub. Manifests are copies of it.
type pool struct {
	uid, name, block, member int
	deleting, closing        bool
	// labelled: it is carried to its member.
	labelled bool
	// seen: a manager of the hub has seen it stored.
	seen bool
	// reported is the last report that was written into its status; nil for none.
	reported *report
}

// hold is the hub's record of a block.
type hold struct {
	uid, name, block, member int
	seen                     bool
}

// report says that a member has handed back the block of a pool of that UID.
type report struct{ member, name, template int }

// record is a member's, in the order of creation: of a claim, or of a block that is handed back.
type record struct {
	block, address, claim int
	// template is that of a hand-back; 0 for a claim.
	template int
}

// claim is live once it was told its address.
type claim struct{ id, block, address int }

// duplicate is the copy of a pool at a member.
type duplicate struct {
	pool
	terminating bool
}

// intent is what a manager has decided to do for a copy as it saw it.
type intent struct {
	duplicate
	address  int
	handBack bool
}

// site is a member cluster.
type site struct {
	copies  [names]*duplicate
	records []record
	claims  []claim
	intents [managers]*intent
	// ended are the templates whose hand-backs gave way to a later one, and former the manifests of all whose
	// block was handed back.
	ended  []int
	former []pool
	// queue are the manifests that are on their way, and last the one that arrived last.
	queue []pool
	last  *pool
}

// world is all of it, and one walk through it.
type world struct {
	rand *rand.Rand
	// off is the rule that is switched off; "" for none.
	off     string
	pools   [names]*pool
	holds   []hold
	sites   [members]*site
	reports []report
	next    int
	moves   []move
	// steps counts those that came to something, by name.
	steps map[string]int
}

func newWorld(seed uint64, off string) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 1)), off: off, steps: map[string]int{}}
	for i := range w.sites {
		w.sites[i] = &site{}
	}
	w.prepare()
	return w
}

// has reports whether a rule is kept.
func (w *world) has(rule string) bool { return w.off != rule }

func (w *world) id() int {
	w.next++
	return w.next
}

// move is what an actor does, if it can: it reports whether that came to something.
type move struct {
	name string
	do   func() bool
}

// usual are the moves of a delegation that nothing disturbs, and those that a rule forbids. Managers
// move more often than others.
func (w *world) usual() []move {
	return []move{
		{"create", w.create},
		{"bind", w.bind},
		{"delete", w.delete},
		{"see", w.see},
		{"order back", w.orderBack},
		{"release", w.release},
		{"repair", w.repair},
		{"change", w.change},
		{"send", w.send},
		{"deliver", w.deliver},
		{"collect", w.collect},
		{"relay", w.relay},
		{"look", w.look}, {"look", w.look},
		{"act", w.act}, {"act", w.act}, {"act", w.act},
		{"report", w.report},
		{"end a claim", w.endClaim},
	}
}

// disturbances are moves of which a walk has two: with all, few walks would come to a hand-back.
func (w *world) disturbances() []move {
	return []move{
		{"vanish", w.vanish},
		{"arrive", w.arrive},
		{"force", w.force},
		{"misplace", w.misplace},
		{"apply again", w.applyAgain},
		{"mistake a member", w.mistake},
		{"restore", w.restore},
		{"crash", w.crash},
	}
}

// prepare chooses the moves of the walk.
func (w *world) prepare() {
	all := w.disturbances()
	w.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	w.moves = slices.Concat(w.usual(), all[:2], all[:1])
}

// step has one randomly chosen actor move.
func (w *world) step() {
	m := w.moves[w.rand.IntN(len(w.moves))]
	if m.do() {
		w.steps[m.name]++
	}
}

// double returns an address with two live claims.
func (w *world) double() (block, address int, found bool) {
	used := map[[2]int]bool{}
	for _, s := range w.sites {
		for _, c := range s.claims {
			key := [2]int{c.block, c.address}
			if used[key] {
				return c.block, c.address, true
			}
			used[key] = true
		}
	}
	return 0, 0, false
}

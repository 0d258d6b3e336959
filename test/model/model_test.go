// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"os"
	"reflect"
	"testing"
)

// length is the number of random steps of a walk.
const length = 400

// scenarios are the beginnings that walks can have; most have none.
var scenarios = []scenario{nil, takenOverAndLost, olderLooksYounger, dropCutShort}

// size scales the number of walks as the other suites are scaled: WEIR_SUITE_SIZE is ci or soak.
func size() int {
	if os.Getenv("WEIR_SUITE_SIZE") == "soak" {
		return 100
	}
	return 1
}

// begin returns the world of a seed, after its scenario. People meddle with the records in every other walk.
func begin(rules Rules, seed uint64, first scenario, counted *tally) *world {
	w := newWorld(rules, seed, counted)
	w.meddled = seed%2 == 1
	if first != nil {
		first(w)
	}
	return w
}

// finish walks and then lets everything come to rest. Where somebody meddles, a claim may stay blocked.
func finish(w *world) error {
	if err := w.walk(length); err != nil {
		return err
	}
	if err := w.settle(); !w.meddled || !errors.Is(err, ErrStuck) {
		return err
	}
	return nil
}

// retell returns how a walk ended that went wrong.
func retell(rules Rules, seed uint64, first scenario) string {
	w := begin(rules, seed, first, &tally{})
	w.trace = &trace{}
	_ = finish(w) // as it did before
	return w.trace.last(60)
}

// survey walks from many seeds, now and then from a scenario, and wants nothing found.
func survey(t *testing.T, rules Rules, walks int) {
	t.Helper()
	steps, counted := 0, &tally{}
	for seed := range uint64(walks) {
		var first scenario
		if seed%10 == 0 {
			first = scenarios[seed/10%uint64(len(scenarios))]
		}
		w := begin(rules, seed, first, counted)
		err := finish(w)
		steps += w.steps
		if err != nil {
			t.Fatalf("seed %d, scenario %s: %v\n%s", seed, stepName(first), err, retell(rules, seed, first))
		}
	}
	t.Logf("%d walks, %d steps, nothing found: %s", walks, steps, counted)
	for what, n := range counted.all() {
		if n == 0 {
			t.Errorf("the walks have not come to: %s", what)
		}
	}
}

func TestTheProtocolIsSafe(t *testing.T) {
	t.Parallel()
	survey(t, Protocol(), 20000*size())
}

// TestMarkedRecordsCouldBeTakenOver shows that one rule of the protocol keeps nobody from the same address.
func TestMarkedRecordsCouldBeTakenOver(t *testing.T) {
	t.Parallel()
	rules := Protocol()
	rules.LeaveMarkedAlone = false
	survey(t, rules, 5000*size())
}

// TestMeddlingCanBlockAClaim shows why meddled walks are not asked for an answer to every claim.
func TestMeddlingCanBlockAClaim(t *testing.T) {
	t.Parallel()
	takesMarked := Protocol()
	takesMarked.LeaveMarkedAlone = false
	for name, c := range map[string]struct {
		rules Rules
		first scenario
		want  error
	}{
		"a half-made record is marked":                        {rules: Protocol(), first: halfMadeIsMarked, want: ErrStuck},
		"a half-made record is marked and taken over":         {rules: takesMarked, first: halfMadeIsMarked},
		"nobody knows which of two half-made ones came first": {rules: Protocol(), first: bothAgesLost, want: ErrStuck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := begin(c.rules, 0, c.first, &tally{}).settle(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// necessities tells for each rule what its absence leads to; with the scenario, where walks need one to get there.
var necessities = map[string]struct {
	without func(*Rules)
	finds   error
	first   scenario
}{
	"DropNamesVersion":      {without: func(r *Rules) { r.DropNamesVersion = false }, finds: ErrDouble},
	"JudgeExactVersion":     {without: func(r *Rules) { r.JudgeExactVersion = false }, finds: ErrDouble, first: takenOverAndLost},
	"TakeoverKeepsWinners":  {without: func(r *Rules) { r.TakeoverKeepsWinners = false }, finds: ErrDouble},
	"AgeIsCertain":          {without: func(r *Rules) { r.AgeIsCertain = false }, finds: ErrDouble, first: olderLooksYounger},
	"OlderRecordRule":       {without: func(r *Rules) { r.OlderRecordRule = false }, finds: ErrStuck},
	"LiveReadsBeforeDrop":   {without: func(r *Rules) { r.LiveReadsBeforeDrop = false }, finds: ErrDouble},
	"NoDropByAge":           {without: func(r *Rules) { r.NoDropByAge = false }, finds: ErrDouble},
	"NoForeignAnswer":       {without: func(r *Rules) { r.NoForeignAnswer = false }, finds: ErrDouble},
	"StatusNamesUID":        {without: func(r *Rules) { r.StatusNamesUID = false }, finds: ErrDouble},
	"LiveReadBeforeDiscard": {without: func(r *Rules) { r.LiveReadBeforeDiscard = false }, finds: ErrDouble},
	"WaiterBeforeWrite":     {without: func(r *Rules) { r.WaiterBeforeWrite = false }, finds: ErrStuck},
	"RelistSettlesWaiters":  {without: func(r *Rules) { r.RelistSettlesWaiters = false }, finds: ErrStuck},
	"WatchWithoutGaps":      {without: func(r *Rules) { r.WatchWithoutGaps = false }, finds: ErrDouble},
	"GraceForUnstored":      {without: func(r *Rules) { r.GraceForUnstored = false }, finds: ErrDouble},
	"TakeoverGuards":        {without: func(r *Rules) { r.TakeoverGuards = false }, finds: ErrDouble, first: dropCutShort},
	"TakesUpEveryRecord":    {without: func(r *Rules) { r.TakesUpEveryRecord = false }, finds: ErrStuck},
	"ReleaseByUID":          {without: func(r *Rules) { r.ReleaseByUID = false }, finds: ErrDouble},
}

func TestEachPreconditionIsNecessary(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[Rules]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "LeaveMarkedAlone" {
			continue // see TestMarkedRecordsCouldBeTakenOver
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, ok := necessities[name]
			if !ok {
				t.Fatal("nothing says what the absence of this rule leads to")
			}
			rules := Protocol()
			n.without(&rules)
			find(t, rules, n.finds, n.first)
		})
	}
}

// find walks until it finds what it looks for; other findings do not count.
func find(t *testing.T, rules Rules, want error, first scenario) {
	t.Helper()
	steps, others := 0, 0
	for seed := range uint64(30000) {
		w := begin(rules, seed, first, &tally{})
		err := finish(w)
		steps += w.steps
		if errors.Is(err, want) {
			t.Logf("seed %d, scenario %s: %d steps, %d other findings before: %v", seed, stepName(first), steps, others, want)
			return
		}
		if err != nil {
			others++
		}
	}
	t.Errorf("%d steps, %d other findings, but not: %v", steps, others, want)
}

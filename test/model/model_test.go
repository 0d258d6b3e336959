// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// length is the number of random steps of a walk.
const length = 400

// scenarios are the beginnings that a walk can have. Most have none.
var scenarios = []struct {
	about theme
	first scenario
}{
	{first: takenOverAndLost},
	{first: lostAndLate},
	{first: olderLooksYounger},
	{first: deleteInterrupted},
	{first: secondWonUnseen},
	{first: admittedTwice},
	{first: wonAndKept, about: theme{keeps: true}},
	{first: retriedAndStored},
	{first: retainedAndCollected, about: theme{retains: true}},
	{first: unseenAndReleased, about: theme{retains: true}},
	{first: bindIsSlow, about: theme{retains: true}},
	{first: reservedTooLate, about: theme{moves: true}},
	{first: movedAndRequested, about: theme{moves: true}},
	{first: movedAndReplaced, about: theme{moves: true}},
	{first: movedWithoutReservation, about: theme{moves: true}},
	{first: requestedAndMoved, about: theme{moves: true}},
	{first: nameTaken, about: theme{statusCommits: true}},
	{first: strayAndRestored, about: theme{statusCommits: true, restores: true}},
	{first: uprooted, about: theme{carves: true}},
}

// begin returns the world of a seed, after its scenario. In every other walk people edit records.
func begin(rules Rules, about theme, seed uint64, first scenario, counted *tally) *world {
	w := newWorld(rules, about, seed, counted)
	if first != nil {
		first(w)
	}
	return w
}

// finish walks, and then lets everything converge. With external edits a claim may stay blocked.
func finish(w *world) error {
	if err := w.walk(length); err != nil {
		return err
	}
	if err := w.converge(); !w.externalEdits || !errors.Is(err, ErrStuck) {
		return err
	}
	return nil
}

// replay returns the trace of a walk that failed.
func replay(rules Rules, about theme, seed uint64, first scenario) string {
	w := begin(rules, about, seed, first, &tally{})
	w.trace = &trace{}
	_ = finish(w) // fails as before
	return w.trace.last(120)
}

// explore walks from many seeds, every tenth time from a scenario, and fails on any finding.
func explore(t *testing.T, rules Rules, walks int) {
	t.Helper()
	steps, counted := 0, &tally{}
	for seed := range uint64(walks) {
		var first scenario
		about := randomTheme(rand.New(rand.NewPCG(seed, 1)))
		if seed%10 == 0 {
			b := scenarios[seed/10%uint64(len(scenarios))]
			about, first = b.about, b.first
		}
		w := begin(rules, about, seed, first, counted)
		err := finish(w)
		steps += w.steps
		if err != nil {
			t.Fatalf("seed %d, theme %s, scenario %s: %v\n%s", seed, about, stepName(first), err, replay(rules, about, seed, first))
		}
	}
	t.Logf("%d walks, %d steps, nothing found: %s", walks, steps, counted)
	for what, n := range counted.all() {
		if n == 0 {
			t.Errorf("no walk has reached: %s", what)
		}
	}
}

func TestTheProtocolIsSafe(t *testing.T) {
	t.Parallel()
	explore(t, Protocol(), size.Of(20_000, 20_000, 2_000_000))
}

// TestTerminatingRecordsCouldBeTakenOver shows that one rule of the protocol is not necessary for
// its safety.
func TestTerminatingRecordsCouldBeTakenOver(t *testing.T) {
	t.Parallel()
	explore(t, Without("TerminatingIsNotTakenOver"), size.Of(5_000, 5_000, 500_000))
}

// TestExternalEditsCanBlockAClaim shows why walks with external edits may end with a blocked claim.
func TestExternalEditsCanBlockAClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules Rules
		first scenario
		want  error
	}{
		"an uncommitted record is terminating":                {rules: Protocol(), first: uncommittedIsTerminating, want: ErrStuck},
		"an uncommitted record is terminating and taken over": {rules: Without("TerminatingIsNotTakenOver"), first: uncommittedIsTerminating},
		"two uncommitted records have lost their age":         {rules: Protocol(), first: bothAgesLost, want: ErrStuck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := begin(c.rules, theme{}, 0, c.first, &tally{}).converge(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// necessities names for each rule what its absence leads to, and the theme and scenario that walks
// need to get there.
var necessities = map[string]struct {
	finds error
	about theme
	first scenario
}{
	"DeleteNamesVersion":         {finds: ErrOverlap, first: lostAndLate},
	"JudgeExactVersion":          {finds: ErrOverlap, first: takenOverAndLost},
	"TakeoverKeepsWinners":       {finds: ErrOverlap},
	"AgeIsCertain":               {finds: ErrOverlap, first: olderLooksYounger},
	"OlderRecordRule":            {finds: ErrStuck},
	"LiveReadsBeforeRelease":     {finds: ErrOverlap},
	"NoReleaseByAge":             {finds: ErrOverlap},
	"WinnersCool":                {finds: ErrCooling, about: theme{cooldown: true}, first: toldAndReleased},
	"NoForeignAnswer":            {finds: ErrOverlap},
	"StatusNamesUID":             {finds: ErrOverlap},
	"CommitNamesVersion":         {finds: ErrTwoAnswers, about: theme{statusCommits: true}},
	"StatusStays":                {finds: ErrTwoAnswers, about: theme{statusCommits: true}},
	"StraysGoAfterCommit":        {finds: ErrOverlap, about: theme{statusCommits: true}},
	"StrayIsReadFirst":           {finds: ErrTwoAnswers, about: theme{statusCommits: true, restores: true}, first: strayAndRestored},
	"NameClashDropsNothing":      {finds: ErrOverlap, about: theme{statusCommits: true}, first: nameTaken},
	"ArrivedIsListed":            {finds: ErrTwoAnswers, about: theme{statusCommits: true, restores: true}},
	"SeveralAreNotChosen":        {finds: ErrTwoAnswers, about: theme{statusCommits: true, restores: true}},
	"LiveReadBeforeAnswerDelete": {finds: ErrOverlap},
	"WaiterBeforeWrite":          {finds: ErrStuck},
	"RelistResolvesWaiters":      {finds: ErrStuck},
	"WatchWithoutGaps":           {finds: ErrOverlap},
	"TakeoverSetsFinalizer":      {finds: ErrOverlap, first: deleteInterrupted},
	"ReleaseByUID":               {finds: ErrOverlap},
	"GraceForUnstored":           {finds: ErrOverlap},
	"GraceOutlivesRequests":      {finds: ErrOverlap},
	"GraceIsPerRecord":           {finds: ErrOverlap, first: retriedAndStored},
	"BindDeletesNothing":         {finds: ErrOverlap},
	"CoolingIsTaken":             {finds: ErrCooling, about: theme{cooldown: true}},
	"ExpiryReadsClaim":           {finds: ErrOverlap, about: theme{cooldown: true}},
	"AdoptionIsRecorded":         {finds: ErrOverlap, about: theme{restores: true}},
	"RecordMustHaveWon":          {finds: ErrOverlap, about: theme{restores: true}},
	"SecondIsJudged":             {finds: ErrOverlap, first: secondWonUnseen},
	"SecondYields":               {finds: ErrStuck, first: admittedTwice},
	"LosersAreNotReserved":       {finds: ErrStuck, about: theme{moves: true}},
	"StoredIsRefused":            {finds: ErrMoved, about: theme{moves: true}, first: requestedAndMoved},
	"OwnerIsProved":              {finds: ErrOverlap, about: theme{restores: true}},
	"AdoptionReleasesNothing":    {finds: ErrOverlap, about: theme{restores: true}},
	"AdoptionPassesOtherUIDs":    {finds: ErrStuck, about: theme{restores: true}},
	"OtherUIDGoesLast":           {finds: ErrOverlap, about: theme{restores: true}},
	"RetainedIsTaken":            {finds: ErrRetained, about: theme{retains: true}},
	"RetainedPassesNextClaim":    {finds: ErrStuck, about: theme{retains: true}, first: retainedAndCollected},
	"RetainedGoesLast":           {finds: ErrRetained, about: theme{retains: true}},
	"RetainedReadFirst":          {finds: ErrRetained, about: theme{retains: true}, first: bindIsSlow},
	"RetainProves":               {finds: ErrRetained, about: theme{retains: true}, first: unseenAndReleased},
	"OwnersGoWithRelease":        {finds: ErrRetained, about: theme{retains: true}, first: retainedAndCollected},
	"MovingKeepsFinalizer":       {finds: ErrMoved, about: theme{moves: true}},
	"MovingIsKept":               {finds: ErrMoved, about: theme{moves: true, cooldown: true}},
	"ReservationBeforeRelease":   {finds: ErrMoved, about: theme{moves: true}, first: movedWithoutReservation},
	"ReservationIsNoOlder":       {finds: ErrOverlap, about: theme{moves: true}, first: reservedTooLate},
	"ReservationOutlivesClaim":   {finds: ErrMoved, about: theme{moves: true}},
	"ReservationEndsWithReturn":  {finds: ErrMoved, about: theme{moves: true}, first: movedAndReplaced},
	"KeptIsNotJudged":            {finds: ErrOverlap, about: theme{keeps: true}, first: wonAndKept},
	"MovedIsRefused":             {finds: ErrMoved, about: theme{moves: true}, first: movedAndRequested},
	"OnlyAncestorsEnclose":       {finds: ErrOverlap, about: theme{carves: true}},
	"UprootedMayHaveWon":         {finds: ErrOverlap, about: theme{carves: true}, first: uprooted},
}

func TestEachPreconditionIsNecessary(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[Rules]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "TerminatingIsNotTakenOver" {
			continue // see TestTerminatingRecordsCouldBeTakenOver
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, ok := necessities[name]
			if !ok {
				t.Fatal("necessities has no entry for this rule")
			}
			find(t, Without(name), n.about, n.finds, n.first)
		})
	}
}

// find walks until it finds what it looks for. Other findings do not count.
func find(t *testing.T, rules Rules, about theme, want error, first scenario) {
	t.Helper()
	steps, others := 0, 0
	for seed := range uint64(30000) {
		w := begin(rules, about, seed, first, &tally{})
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
	t.Errorf("%d steps, %d other findings, not found: %v", steps, others, want)
}

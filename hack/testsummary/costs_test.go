// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/hack/moduletypes"
)

// someRun is a run of a suite of Ginkgo, of packages of Go tests, and of one that was cached.
const someRun = `{"Action":"output","Package":"MOD/test/e2e/move","Test":"TestMove","Output":"spec: 40.000 s passed: BeforeSuite\n"}
{"Action":"output","Package":"MOD/test/e2e/move","Test":"TestMove","Output":"\u001b[38;5;10m•\u001b[0mspec: 250.500 s failed: Move: spec: goes back\n"}
{"Action":"output","Package":"MOD/test/e2e/move","Test":"TestMove","Output":"spec: 0.000 s skipped: Move waits\n"}
{"Action":"output","Package":"MOD/test/e2e/move","Test":"TestMove","Output":"0 Passed | 1 Failed | 0 Pending | 1 Skipped\n"}
{"Action":"fail","Package":"MOD/test/e2e/move","Test":"TestMove","Elapsed":300}
{"Action":"fail","Package":"MOD/test/e2e/move","Elapsed":310.4}
{"Action":"pass","Package":"MOD/internal/book","Test":"TestJudge/one","Elapsed":1.5}
{"Action":"run","Package":"MOD/internal/pool","Test":"TestCarve"}
{"Action":"pass","Package":"MOD/internal/pool","Test":"TestCarve/a","Elapsed":0.5}
{"Action":"pass","Package":"MOD/internal/pool","Test":"TestCarve","Elapsed":0.5}
{"Action":"pass","Package":"MOD/internal/pool","Elapsed":0.6}
{"Action":"pass","Package":"MOD/internal/book","Elapsed":2}
{"Action":"pass","Package":"MOD/internal/pile","Test":"TestPile","Elapsed":90}
{"Action":"output","Package":"MOD/internal/pile","Output":"ok  \tMOD/internal/pile\t(cached)\n"}
{"Action":"pass","Package":"MOD/internal/pile","Elapsed":0.1}
{"Action":"skip","Package":"MOD/internal/none","Elapsed":0}`

func summaryOf(t *testing.T, events string) *summary {
	t.Helper()
	s := newSummary(io.Discard)
	if err := s.read(strings.NewReader(strings.ReplaceAll(events, "MOD", moduletypes.Path))); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCosts(t *testing.T) {
	t.Parallel()
	const want = `seconds of each suite:
   310.4 s      1 tests  ./test/e2e/move
     2.0 s      1 tests  ./internal/book
     0.7 s      2 tests  in 2 packages of less than 1 s
slowest specs and tests:
   250.5 s  ./test/e2e/move: Move: spec: goes back
    40.0 s  ./test/e2e/move: BeforeSuite
     1.5 s  ./internal/book: TestJudge/one
     0.5 s  ./internal/pool: TestCarve/a
`
	if got := summaryOf(t, someRun).costs(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTwentyAreTheSlowest(t *testing.T) {
	t.Parallel()
	var events strings.Builder
	for i := range 30 {
		fmt.Fprintf(&events, `{"Action":"pass","Package":"p","Test":"Test%d","Elapsed":%d}`+"\n", i, i)
	}
	slow := summaryOf(t, events.String()).slowest()
	if len(slow) != mostSlow || slow[0].title != "Test29" || slow[mostSlow-1].title != "Test10" {
		t.Errorf("got %v", slow)
	}
}

func TestOverBudget(t *testing.T) {
	t.Parallel()
	budgets := map[string]float64{"test/e2e/move": 240, "internal/book": 2, "internal/other": 1}
	want := "over budget: ./test/e2e/move took 310 s of 240 s\n"
	if got := summaryOf(t, someRun).overBudget(budgets); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := summaryOf(t, someRun).overBudget(nil); got != "" {
		t.Errorf("without budgets got %q", got)
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	want := []string{
		"./internal/book: TestJudge/one", "./internal/pile: TestPile", "./internal/pool: TestCarve", "./internal/pool: TestCarve/a",
		"./test/e2e/move: BeforeSuite", "./test/e2e/move: Move waits", "./test/e2e/move: Move: spec: goes back", "./test/e2e/move: TestMove",
	}
	if got := summaryOf(t, someRun).titles(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLinesOfSpecsAreNotShown(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newSummary(&out)
	if err := s.read(strings.NewReader(someRun)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "spec: 2") || !strings.Contains(out.String(), "•") {
		t.Errorf("printed %q", out.String())
	}
}

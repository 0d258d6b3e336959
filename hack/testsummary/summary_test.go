// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

func TestCounts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ events, want string }{
		"leaves count, their parents do not": {
			`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"skip","Package":"p","Test":"TestA/10.0.0.0/8"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			"1 passed, 0 failed, 1 skipped",
		},
		"the specs of a Ginkgo suite count instead of its test": {
			`{"Action":"output","Package":"p","Test":"TestSuite","Output":"\u001b[38;5;10mFAIL!\u001b[0m -- \u001b[1m7 Passed\u001b[0m | \u001b[1m1 Failed\u001b[0m | 2 Pending | 3 Skipped\n"}
{"Action":"fail","Package":"p","Test":"TestSuite"}
{"Action":"fail","Package":"p"}`,
			"7 passed, 1 failed, 5 skipped",
		},
		"a package that does not compile is a failure": {
			`{"Action":"fail","Package":"p","FailedBuild":"p"}`,
			"0 passed, 1 failed, 0 skipped",
		},
		"a test that never ended is a failure": {
			`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			"0 passed, 1 failed, 0 skipped",
		},
		"a package without tests is nothing": {
			`{"Action":"skip","Package":"p"}`,
			"0 passed, 0 failed, 0 skipped",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSummary(io.Discard)
			if err := s.read(strings.NewReader(tc.events)); err != nil {
				t.Fatal(err)
			}
			if got := s.counts(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAccountsArePrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newSummary(&out)
	events := `{"Action":"output","Package":"p","Test":"TestA","Output":"account: 3 kills\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"something else\n"}
{"Action":"pass","Package":"p","Test":"TestA"}`
	if err := s.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "account: 3 kills\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestFailedTestIsPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newSummary(&out)
	events := `{"Action":"output","Package":"p","Test":"TestA","Output":"boom\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}`
	if err := s.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TestA", "boom", "FAIL\tp"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
}

func TestFailuresSayWhy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ output, want string }{
		"what Ginkgo says after the timeline": {
			`\u001b[1m• [FAILED] [0.1 seconds]\u001b[0m\n  Timeline >>\n  [FAILED] in [It] - x.go:7\n  much\n  << Timeline\n\n  [FAILED] two of one\n`,
			"FAILED: p TestA\n[FAILED] two of one\n",
		},
		"of each spec": {
			`  Timeline >>\n  much\n  << Timeline\n\n  [FAILED] one\n------------------------------\n•\n  Timeline >>\n  << Timeline\n  [FAILED] two\n`,
			"FAILED: p TestA\n[FAILED] one\n[FAILED] two\n",
		},
		"the end of what another test says": {`boom\n`, "FAILED: p TestA\nboom\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSummary(io.Discard)
			events := `{"Action":"output","Package":"p","Test":"TestA","Output":"` + tc.output + `"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`
			if err := s.read(strings.NewReader(events)); err != nil {
				t.Fatal(err)
			}
			if got := s.failures(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFailedTitles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		events string
		code   int
		want   []string
	}{
		"a spec":             {someRun, 1, []string{"./test/e2e/move: Move: spec: goes back"}},
		"a package":          {`{"Action":"fail","Package":"MOD/test","FailedBuild":"x"}`, 1, []string{"./test"}},
		"the command":        {"", 2, []string{"the command (exit code 2)"}},
		"nothing":            {`{"Action":"pass","Package":"p","Test":"TestA"}`, 0, nil},
		"a subtest":          {`{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA/b"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}`, 1, []string{"p: TestA/b"}},
		"one that never end": {`{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`, 1, []string{"p: TestA"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := summaryOf(t, tc.events).failedTitles(tc.code); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPrintRepeated(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printRepeated(&out, 5, map[string][]int64{"a": {3}, "b": {1, 4}})
	want := "=== 5 runs\nfailed 2 of 5: b (seeds 1 4)\nfailed 1 of 5: a (seeds 3)\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestRepeatGoesOn runs a command that fails for one of three seeds.
func TestRepeatGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := `case "$1" in *=8) exit 3;; esac; echo '{"Action":"pass","Package":"p","Test":"TestA"}'`
	code, err := repeat(options{out: dir, repeat: 3, seed: 7}, []string{"sh", "-c", script, "sh"})
	if err != nil || code != 1 {
		t.Errorf("got %d, %v", code, err)
	}
	for seed, want := range map[string]bool{"7": true, "8": false, "9": true} {
		kept, err := os.ReadFile(filepath.Join(dir, "seed-"+seed+".json"))
		if err != nil || (len(kept) > 0) != want {
			t.Errorf("seed %s kept %q, %v", seed, kept, err)
		}
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errFailed = errors.New("exit status 1")

const patch = `Breaks: a rule that
  takes two lines
Hazard: something
Row: a precondition
  that wraps
Row: P1
Kill: ./some/package -run Test

--- a/file.go
@@
 	kept
-	old
+	new
@@
-	gone
`

func TestAPatchIsReadAndApplied(t *testing.T) {
	t.Parallel()
	m, err := parse("name", patch)
	if err != nil {
		t.Fatal(err)
	}
	if m.breaks != "a rule that takes two lines" || m.kill != "./some/package -run Test" || len(m.hunks) != 2 {
		t.Fatalf("read %+v", m)
	}
	if diff := cmp.Diff([]string{"a precondition that wraps", "P1"}, m.preconditions); diff != "" {
		t.Error(diff)
	}
	text := "before\n\told\n\n\tkept\n\told\n\tgone\nafter\n"
	for _, h := range m.hunks {
		if text, err = h.apply(text); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff("before\n\told\n\n\tkept\n\tnew\nafter\n", text); diff != "" {
		t.Error(diff)
	}
}

// TestEveryPatchApplies finds the patches that a change of the code has made stale.
func TestEveryPatchApplies(t *testing.T) {
	t.Parallel()
	mutants, err := readPatches(".", nil)
	if err != nil || len(mutants) == 0 {
		t.Fatalf("%d patches, %v", len(mutants), err)
	}
	for _, m := range mutants {
		texts := map[string]string{}
		for _, h := range m.hunks {
			if _, read := texts[h.file]; !read {
				text, failure := os.ReadFile(filepath.Join("..", "..", h.file))
				if failure != nil {
					t.Fatalf("%s: %v", m.name, failure)
				}
				texts[h.file] = string(text)
			}
			if texts[h.file], err = h.apply(texts[h.file]); err != nil {
				t.Errorf("%s: %v", m.name, err)
				break
			}
		}
	}
}

func TestAHunkThatIsNotThereJustOnceIsRefused(t *testing.T) {
	t.Parallel()
	h := hunk{file: "a/file.go", old: []string{"old"}, new: []string{"new"}}
	for text, want := range map[string]string{"older\n": "not there any more", "old\nold\n": "twice, at lines 1 and 2"} {
		if _, err := h.apply(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestABadPatchIsRefused(t *testing.T) {
	t.Parallel()
	for sentence, bad := range map[string]string{
		"no change":           strings.ReplaceAll(patch, "--- ", ""),
		"no way to kill it":   strings.Replace(patch, "Kill: ./some/package -run Test\n", "", 1),
		"an unknown key":      strings.Replace(patch, "Hazard:", "Danger:", 1),
		"an odd line":         strings.Replace(patch, "-	gone", "gone", 1),
		"nothing is replaced": strings.Replace(patch, "-	gone\n", "+	come\n", 1),
		"no hunk":             strings.Replace(patch, "@@\n", "", 1),
	} {
		if _, err := parse("name", bad); err == nil {
			t.Errorf("%s: it is read", sentence)
		}
	}
}

func TestWhatARunMeans(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]fate{
		"--- FAIL: TestClaims (3s)\nFAIL":                             killed,
		"panic: test timed out after 10m":                             killed,
		"[BeforeSuite] [FAILED]\n--- FAIL: TestClaims (3s)":           unproved,
		"Ran 0 of 130 Specs\n--- FAIL: TestClaims":                    unproved,
		"FAIL	some/package [build failed]":                            unproved,
		"go: cannot find main module, but found .git/config in /some": unproved,
	} {
		if got := judge(said, errFailed); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
	if got := judge("ok  	some/package	3s", nil); got != alive {
		t.Errorf("what passes is %s", got)
	}
	if got := judge("ok  	some/package	0s [no tests to run]", nil); got != unproved {
		t.Errorf("what runs nothing is %s", got)
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is what the tests look at of a workflow of GitHub's.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Steps       []struct{ Uses, Run string }
	}
}

// workflows returns the text of each workflow by its file.
func workflows(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// parse reads a workflow.
func parse(t *testing.T, text string) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

var (
	// pinned is an action of a commit, with the version in a comment: a tag may be moved.
	pinned   = regexp.MustCompile(`^\s*(?:- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	makeCall = regexp.MustCompile(`\bmake(?: --\w+)* ([a-z][a-z-]*)`)
)

func TestActionsArePinnedToCommits(t *testing.T) {
	t.Parallel()
	for name, text := range workflows(t) {
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); strings.Contains(line, "uses:") && !pinned.MatchString(line) {
				t.Errorf("%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
}

// TestWorkflowsRunWhatIsThere: targets of the Makefile, and scripts.
func TestWorkflowsRunWhatIsThere(t *testing.T) {
	t.Parallel()
	makefile, calls := read(t, "Makefile"), 0
	for name, text := range workflows(t) {
		for _, job := range parse(t, text).Jobs {
			for _, step := range job.Steps {
				for _, call := range makeCall.FindAllStringSubmatch(step.Run, -1) {
					calls++
					if !strings.Contains(makefile, "\n.PHONY: "+call[1]+"\n") {
						t.Errorf("%s: the Makefile has no target %s", name, call[1])
					}
				}
				if script, ok := strings.CutPrefix(step.Run, "."); ok {
					calls++
					if _, err := os.Stat(filepath.Join(root, "."+script)); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
	}
	if calls < 4 {
		t.Errorf("the workflows run %d targets and scripts: are they found?", calls)
	}
}

// TestOnlyTheReleaseWrites: by default a workflow reads, and what runs for a pull request never does more.
func TestOnlyTheReleaseWrites(t *testing.T) {
	t.Parallel()
	for name, text := range workflows(t) {
		w := parse(t, text)
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s has %v", name, w.Permissions)
		}
		for job, j := range w.Jobs {
			if j.Permissions != nil && name != "release.yaml" {
				t.Errorf("%s: job %s has %v", name, job, j.Permissions)
			}
		}
	}
}

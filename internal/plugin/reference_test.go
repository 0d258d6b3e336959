// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReferenceIsUpToDate: docs/reference/cli.md has the commands and flags of the program.
func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), Reference()); diff != "" {
		t.Errorf("run make generate-reference (-page +program):\n%s", diff)
	}
}

// TestReferenceHasAll: each command has a heading, a description and the exit codes of operate.md.
func TestReferenceHasAll(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guides/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	page := Reference()
	for _, cmd := range command(Config{}).Commands() {
		if !strings.Contains(page, "\n## "+cmd.Name()+"\n") || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s has no description or example", cmd.Name())
		}
		if !strings.Contains(string(guide), "\n| `"+cmd.Name()+"` | ") {
			t.Errorf("%s has no row in the exit codes of operate.md", cmd.Name())
		}
	}
}

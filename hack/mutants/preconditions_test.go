// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// without are the preconditions that no mutant takes away, and what else shows that they are needed.
var without = map[string]string{
	"The waiter is registered before the write":                                  "every spec that reserves, and test/model",
	"The grace is longer than any request":                                       "an option of the user; test/model has it",
	"Before its status names another, nothing of a living claim goes":            "test/model: StraysGoAfterCommit",
	"A stray is read before the claim":                                           "test/model: StrayIsReadFirst",
	"A restored claim is answered after a live list of the answers that name it": "test/model: ArrivedIsListed",
}

// rules are the rules on blocks between clusters, as the page on the ledger names them.
var rules = regexp.MustCompile(`\bP[0-9]+\b`)

// TestEveryPreconditionHasAMutant compares the hazards of docs/design with the rows that the patches name.
func TestEveryPreconditionHasAMutant(t *testing.T) {
	t.Parallel()
	mutants, err := readPatches(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	missing := documented(t)
	unknown := map[string]string{}
	for _, m := range mutants {
		for _, precondition := range m.preconditions {
			if _, isDocumented := missing[precondition]; isDocumented {
				missing[precondition] = true
			} else {
				unknown[precondition] = m.name
			}
		}
	}
	for precondition, name := range unknown {
		t.Errorf("%s.patch: no table of hazards in docs/design has the row %q", name, precondition)
	}
	for precondition, isShown := range missing {
		if _, isExempt := without[precondition]; isShown == isExempt {
			t.Errorf("%q: it has a mutant: %t, and is exempt: %t", precondition, isShown, isExempt)
		}
	}
	for _, precondition := range slices.Sorted(maps.Keys(without)) {
		if _, isDocumented := missing[precondition]; !isDocumented {
			t.Errorf("%q is exempt, and documented nowhere", precondition)
		}
	}
}

// documented are the first columns of the hazards in docs/design and the rules on blocks between clusters, each with false.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, page := range []string{"ledger.md", "move.md", "restore.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "design", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules.FindAllString(string(text), -1) {
			found[rule] = false
		}
		_, hazards, ok := strings.Cut(string(text), "\n## Hazards\n")
		if !ok {
			t.Fatalf("%s has no hazards", page)
		}
		hazards, _, _ = strings.Cut(hazards, "\n## ")
		for line := range strings.Lines(hazards) {
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			if strings.HasPrefix(line, "| ") && cell != "precondition" {
				found[cell] = false
			}
		}
	}
	return found
}

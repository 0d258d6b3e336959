// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseBudgets(t *testing.T) {
	t.Parallel()
	const table = "# Page\n\n| suite | `ci` |\n|---|---|\n| `other/table` | 7 |\n\n" +
		"| suite | shows | seconds at `ci` | seconds at `soak` |\n|:---|---|---:|---|\n" +
		"| `test/a` | this \\| that | 60 | 1,200 |\n|`./test/b`|| 7.5 ||\n\n| `test/c` | | 1 | 1 |\n"
	tests := map[string]struct {
		page, size string
		want       map[string]float64
		fails      bool
	}{
		"a size":            {page: table, size: "ci", want: map[string]float64{"test/a": 60, "test/b": 7.5}},
		"another size":      {page: table, size: "soak", want: map[string]float64{"test/a": 1200}},
		"no size":           {page: table, want: map[string]float64{"test/a": 60, "test/b": 7.5}},
		"an unknown size":   {page: table, size: "huge", fails: true},
		"no table":          {page: "| suite |\n|---|\n", fails: true},
		"no number":         {page: "| suite | seconds |\n|---|---|\n| a | long |\n", fails: true},
		"a row that is cut": {page: "| suite | seconds |\n|---|---|\n| a |\n", fails: true},
		"the page ends":     {page: "| suite | seconds |\n|---|---|\n| a | 1 |", want: map[string]float64{"a": 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseBudgets(tc.page, tc.size)
			if tc.fails != (err != nil) || !tc.fails && !maps.Equal(got, tc.want) {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

// TestEverySuiteHasARow holds the table of budgets against the suites of Ginkgo that there are.
func TestEverySuiteHasARow(t *testing.T) {
	t.Parallel()
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, budgetPage))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseBudgets(string(page), ""); err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if cells := tableCells(line); len(cells) == 4 {
			rows[strings.Trim(cells[0], "`")] = true
		}
	}
	for _, suite := range suitesUnder(t, root) {
		if !rows[suite] {
			t.Errorf("%s has no row for %s in its table of suites", budgetPage, suite)
		}
	}
}

// suitesUnder returns the folders whose tests call RunSpecs.
func suitesUnder(t *testing.T, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "test", "*", "*", "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no tests: %v", err)
	}
	var suites []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if folder, err := filepath.Rel(root, filepath.Dir(file)); err == nil && strings.Contains(string(source), "\tRunSpecs(") {
			suites = append(suites, folder)
		}
	}
	return suites
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// budgetPage has the table of budgets: its first column names suites, and a column for each size
// has seconds. That of size ci has "seconds" and "`ci`" in its head.
const budgetPage = "docs/testing.md"

// parseBudgets reads the seconds of each suite at a size from a Markdown page. No size is the first
// that the table has. A suite whose cell is empty has no budget.
func parseBudgets(page, size string) (map[string]float64, error) {
	isOfSize := func(cell string) bool {
		return strings.Contains(cell, "seconds") && (size == "" || strings.Contains(cell, "`"+size+"`"))
	}
	budgets, column := map[string]float64{}, -1
	for line := range strings.Lines(page) {
		cells := tableCells(line)
		switch {
		case column < 0:
			column = slices.IndexFunc(cells, isOfSize)
		case cells == nil:
			return budgets, nil
		case isRule(cells):
		case column >= len(cells):
			return nil, fmt.Errorf("the row of %s has no seconds", cells[0])
		case cells[column] != "":
			seconds, err := strconv.ParseFloat(strings.ReplaceAll(cells[column], ",", ""), 64)
			if err != nil {
				return nil, fmt.Errorf("the seconds of %s are no number: %w", cells[0], err)
			}
			budgets[strings.TrimPrefix(strings.Trim(cells[0], "`"), "./")] = seconds
		}
	}
	if column < 0 {
		return nil, fmt.Errorf("no table has seconds at size %q", size)
	}
	return budgets, nil
}

// tableCells returns the cells of a table's row, nil for any other line.
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	const escaped = "\x00"
	line = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(line, `\|`, escaped), "|"), "|")
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], escaped, "|"))
	}
	return cells
}

// isRule reports whether a row is the line between a table's head and its body.
func isRule(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return strings.Trim(cell, ":-") != "" || cell == "" })
}

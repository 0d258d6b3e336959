// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// repeat runs a command again and again, with one seed of Ginkgo after the other, and keeps the
// JSON of each run in the folder. It goes on after failures, and lists at the end what failed how
// often, with which seeds. The exit code is 1 if anything failed.
func repeat(o options, args []string) (exitCode int, err error) {
	first := cmp.Or(o.seed, time.Now().Unix())
	failed := map[string][]int64{}
	for i := range o.repeat {
		seed := first + int64(i)
		fmt.Printf("=== run %d of %d, seed %d\n", i+1, o.repeat, seed)
		s := newSummary(os.Stdout)
		file := filepath.Join(o.out, fmt.Sprintf("seed-%d.json", seed))
		exitCode, err = s.runCommand(file, append(slices.Clone(args), "-ginkgo.seed="+strconv.FormatInt(seed, 10)))
		if err != nil {
			return 1, err
		}
		s.printEnd(false)
		for _, title := range s.failedTitles(exitCode) {
			failed[title] = append(failed[title], seed)
		}
	}
	printRepeated(os.Stdout, o.repeat, failed)
	return min(len(failed), 1), nil
}

// failedTitles returns what failed in a run that ended with this code: the specs and tests, else
// the packages, else the command itself.
func (s *summary) failedTitles(exitCode int) []string {
	titles, explained := map[string]bool{}, map[string]bool{}
	for key, t := range s.tests {
		for _, title := range t.failedTitles(key[1]) {
			titles[short(key[0])+": "+title], explained[key[0]] = true, true
		}
	}
	for key, t := range s.tests {
		if key[1] == "" && t.outcome == "fail" && !explained[key[0]] {
			titles[short(key[0])] = true
		}
	}
	if len(titles) == 0 && exitCode != 0 {
		titles[fmt.Sprintf("the command (exit code %d)", exitCode)] = true
	}
	return slices.Sorted(maps.Keys(titles))
}

// failedTitles returns the specs that failed in a test, else its name if it failed or never ended.
// A test fails with its subtests, and a package with its tests.
func (t *test) failedTitles(name string) []string {
	if name == "" || t.outcome == "pass" || t.outcome == "skip" || t.parent && t.outcome == "fail" {
		return nil
	}
	var titles []string
	for _, ran := range t.ran {
		if ran.hasFailed() {
			titles = append(titles, ran.title)
		}
	}
	if titles == nil {
		return []string{name}
	}
	return titles
}

// printRepeated prints what failed in so many runs, with the seeds of its failures, the most
// frequent first.
func printRepeated(w io.Writer, runs int, failed map[string][]int64) {
	fmt.Fprintf(w, "=== %d runs\n", runs)
	if len(failed) == 0 {
		fmt.Fprintln(w, "nothing failed")
	}
	titles := slices.SortedFunc(maps.Keys(failed), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(failed[b]), len(failed[a])), strings.Compare(a, b))
	})
	for _, title := range titles {
		seeds := strings.Trim(fmt.Sprint(failed[title]), "[]")
		fmt.Fprintf(w, "failed %d of %d: %s (seeds %s)\n", len(failed[title]), runs, title, seeds)
	}
}

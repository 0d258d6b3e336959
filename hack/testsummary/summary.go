// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// event is a line of "go test -json", see "go doc test2json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
	// FailedBuild is set on the failure of a package that did not compile.
	FailedBuild string
}

// tally counts tests by outcome.
type tally struct{ passed, failed, skipped int }

// test is one running or finished test; the empty name is its package.
type test struct {
	output  strings.Builder
	outcome string
	// parent is set when it has subtests; only leaves are counted.
	parent bool
	// specs is set when the test ran a Ginkgo suite: its specs are counted.
	specs *tally
	// ran are those specs, with what begins and ends the suite.
	ran []spec
	// why is where its output begins to say why it failed.
	why string
	// seconds is how long it took. One that was cached took none now.
	seconds float64
	cached  bool
}

// summary collects events. The zero value is unusable.
type summary struct {
	w     io.Writer
	tests map[[2]string]*test
}

func newSummary(w io.Writer) *summary {
	return &summary{w: w, tests: map[[2]string]*test{}}
}

// read takes in events until the end. Lines that are no events are printed as
// they are.
func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading events: %w", err)
		}
	}
}

func (s *summary) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintf(s.w, "%s", line)
		return
	}
	t := s.test(e.Package, e.Test)
	switch e.Action {
	case "build-output":
		fmt.Fprint(s.w, e.Output)
	case "output":
		s.output(e, t)
	case "pass", "fail", "skip":
		t.outcome, t.seconds = e.Action, e.Elapsed
		s.finished(e, t)
	}
}

// output takes in a line that a test printed.
func (s *summary) output(e event, t *test) {
	rest, found, ok := cutSpec(e.Output)
	if ok {
		t.ran = append(t.ran, found)
	}
	t.output.WriteString(rest)
	t.cached = t.cached || e.Test == "" && strings.HasSuffix(e.Output, "(cached)\n")
	s.countSpecs(e)
	if strings.HasPrefix(e.Output, account) {
		fmt.Fprint(s.w, e.Output)
	}
}

// test returns the test of a name, noting at its first event that it has a
// parent. A slash may also be part of a subtest's own name, but a parent has
// always been seen before its subtests.
func (s *summary) test(pkg, name string) *test {
	key := [2]string{pkg, name}
	if s.tests[key] != nil {
		return s.tests[key]
	}
	s.tests[key] = &test{}
	for i, char := range name {
		if parent := s.tests[[2]string{pkg, name[:i]}]; char == '/' && parent != nil {
			parent.parent = true
		}
	}
	return s.tests[key]
}

// account begins a line that a suite prints about what it has done, such as how often a process was
// killed. It is printed also when all is well.
const account = "account: "

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

var specs = regexp.MustCompile(`(\d+) Passed \| (\d+) Failed \| (\d+) Pending \| (\d+) Skipped`)

// countSpecs notes the counts that a Ginkgo suite prints at its end.
func (s *summary) countSpecs(e event) {
	match := specs.FindStringSubmatch(colour.ReplaceAllString(e.Output, ""))
	if match == nil || e.Test == "" {
		return
	}
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(match[i+1]) // Digits only.
	}
	s.test(e.Package, e.Test).specs = &tally{passed: n[0], failed: n[1], skipped: n[2] + n[3]}
}

// finished prints the line of a package that ended, after the output of its
// failed tests, and forgets outputs that nobody needs.
func (s *summary) finished(e event, t *test) {
	if e.Test != "" {
		if e.Action == "fail" && !t.parent {
			fmt.Fprintf(s.w, "--- FAIL: %s %s (%.2fs)\n%s", e.Package, e.Test, e.Elapsed, t.output.String())
			t.why = why(t.output.String())
		}
		t.output.Reset()
		return
	}
	switch {
	case e.Action == "fail" && e.FailedBuild == "":
		fmt.Fprint(s.w, t.output.String())
	case e.Action == "fail":
		fmt.Fprintf(s.w, "FAIL\t%s [build failed]\n", e.Package)
	case e.Action == "pass":
		fmt.Fprintf(s.w, "ok  \t%s\t%.3fs\n", e.Package, e.Elapsed)
	}
	t.output.Reset()
}

// whyBytes is how much is repeated of why a test or a spec failed.
const whyBytes = 1000

// why returns what Ginkgo says of each failure, after the spec's timeline, or the end of an output
// that says nothing of the kind.
func why(output string) string {
	plain := colour.ReplaceAllString(output, "")
	specs := strings.Split(plain, "<< Timeline")[1:]
	if len(specs) == 0 {
		specs = []string{plain}
	}
	var b strings.Builder
	for _, said := range specs {
		if i := strings.Index(said, "[FAILED]"); i >= 0 {
			said, _, _ = strings.Cut(said[i:], "\n------------------------------")
			b.WriteString(said[:min(len(said), whyBytes)] + "\n")
		}
	}
	if b.Len() > 0 {
		return b.String()
	}
	return plain[max(0, len(plain)-whyBytes):]
}

// failures repeats, one after the other, why tests failed: the whole outputs are long, and what is
// around them is, too.
func (s *summary) failures() string {
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(s.tests), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if text := s.tests[key].why; text != "" {
			fmt.Fprintf(&b, "FAILED: %s %s\n%s\n", key[0], key[1], strings.TrimSpace(text))
		}
	}
	return b.String()
}

// counts returns the line "N passed, N failed, N skipped".
func (s *summary) counts() string {
	var sum tally
	for _, n := range s.tallies() {
		sum.add(n)
	}
	return fmt.Sprintf("%d passed, %d failed, %d skipped", sum.passed, sum.failed, sum.skipped)
}

// tallies counts the tests of each package. A package that failed without a
// failed test (it did not compile, or it crashed) counts as one failure, and so
// does a test that never ended.
func (s *summary) tallies() map[string]tally {
	tallies := map[string]tally{}
	for key, t := range s.tests {
		n := tallies[key[0]]
		if key[1] != "" && (!t.parent || t.outcome == "" || t.specs != nil) {
			n.add(t.tally())
		}
		tallies[key[0]] = n
	}
	for key, t := range s.tests {
		if n := tallies[key[0]]; key[1] == "" && t.outcome == "fail" && n.failed == 0 {
			n.failed = 1
			tallies[key[0]] = n
		}
	}
	return tallies
}

func (n *tally) add(m tally) {
	n.passed, n.failed, n.skipped = n.passed+m.passed, n.failed+m.failed, n.skipped+m.skipped
}

// ran is how many were not skipped.
func (n tally) ran() int { return n.passed + n.failed }

func (t *test) tally() tally {
	if t.specs != nil {
		n := *t.specs
		if t.outcome != "pass" && n.failed == 0 {
			n.failed = 1 // A suite that failed outside its specs.
		}
		return n
	}
	switch t.outcome {
	case "pass":
		return tally{passed: 1}
	case "skip":
		return tally{skipped: 1}
	default:
		return tally{failed: 1}
	}
}

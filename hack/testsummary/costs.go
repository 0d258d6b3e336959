// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/hack/moduletypes"
)

const (
	// mostSlow is how many of the slowest specs and tests are listed.
	mostSlow = 20
	// quick is how many seconds a suite takes at most that gets no line of its own.
	quick = 1
)

// spec is a spec of Ginkgo, or what begins or ends its suite.
type spec struct {
	title, state string
	seconds      float64
}

func (s spec) hasFailed() bool {
	return !slices.Contains([]string{"passed", "skipped", "pending"}, s.state)
}

// specLine is what package test/suite prints of a spec. Before it, on the same line, is what Ginkgo
// prints of the spec before.
var specLine = regexp.MustCompile(`spec: (\d+\.\d{3}) s ([a-z]+): (.*)\n$`)

// cutSpec takes the line about a spec off an output.
func cutSpec(output string) (rest string, found spec, ok bool) {
	at := specLine.FindStringSubmatchIndex(output)
	if at == nil {
		return output, spec{}, false
	}
	seconds, err := strconv.ParseFloat(output[at[2]:at[3]], 64)
	return output[:at[0]], spec{title: output[at[6]:at[7]], state: output[at[4]:at[5]], seconds: seconds}, err == nil
}

// short returns a package's path as "go test" takes it.
func short(pkg string) string {
	if rest, ok := strings.CutPrefix(pkg, moduletypes.Path+"/"); ok {
		return "./" + rest
	}
	return pkg
}

// costs says how long each suite took, the longest first, and which specs and tests were the
// slowest.
func (s *summary) costs() string {
	var b strings.Builder
	tallies := s.tallies()
	var quickSeconds float64
	var quickTests, quickPackages int
	fmt.Fprintln(&b, "seconds of each suite:")
	for _, pkg := range s.suites() {
		seconds, tests := s.seconds(pkg), tallies[pkg].ran()
		if seconds < quick {
			quickSeconds, quickTests, quickPackages = quickSeconds+seconds, quickTests+tests, quickPackages+1
			continue
		}
		fmt.Fprintf(&b, "%8.1f s %6d tests  %s\n", seconds, tests, short(pkg))
	}
	if quickPackages > 0 {
		fmt.Fprintf(&b, "%8.1f s %6d tests  in %d packages of less than %d s\n", quickSeconds, quickTests, quickPackages, quick)
	}
	fmt.Fprintln(&b, "slowest specs and tests:")
	for _, slow := range s.slowest() {
		fmt.Fprintf(&b, "%8.1f s  %s: %s\n", slow.seconds, short(slow.pkg), slow.title)
	}
	return b.String()
}

// suites returns the packages that ran tests, those that took longest first.
func (s *summary) suites() []string {
	var suites []string
	for key, t := range s.tests {
		if key[1] == "" && (t.outcome == "pass" || t.outcome == "fail") {
			suites = append(suites, key[0])
		}
	}
	slices.SortFunc(suites, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.seconds(b), s.seconds(a)), strings.Compare(a, b))
	})
	return suites
}

// seconds returns how long a package took that has ended.
func (s *summary) seconds(pkg string) float64 { return s.tests[[2]string{pkg, ""}].seconds }

// titled is a spec or a test of a package.
type titled struct {
	spec
	pkg string
}

// slowest returns the specs and tests that took longest, without those that "go test" had cached.
func (s *summary) slowest() []titled {
	var all []titled
	for key, t := range s.tests {
		if pkg := s.tests[[2]string{key[0], ""}]; key[1] == "" || pkg != nil && pkg.cached {
			continue
		}
		for _, ran := range t.ran {
			all = append(all, titled{ran, key[0]})
		}
		if len(t.ran) == 0 && !t.parent {
			all = append(all, titled{spec{title: key[1], seconds: t.seconds}, key[0]})
		}
	}
	all = slices.DeleteFunc(all, func(t titled) bool { return t.seconds == 0 })
	slices.SortFunc(all, func(a, b titled) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), strings.Compare(a.pkg, b.pkg), strings.Compare(a.title, b.title))
	})
	return all[:min(mostSlow, len(all))]
}

// overBudget names the suites that took longer than their budgets, which are by package within the
// module.
func (s *summary) overBudget(budgets map[string]float64) string {
	var b strings.Builder
	for _, pkg := range s.suites() {
		budget, ok := budgets[strings.TrimPrefix(short(pkg), "./")]
		if ok && s.seconds(pkg) > budget {
			fmt.Fprintf(&b, "over budget: %s took %.0f s of %.0f s\n", short(pkg), s.seconds(pkg), budget)
		}
	}
	return b.String()
}

// titles returns the titles of all tests and specs with their packages, sorted.
func (s *summary) titles() []string {
	var titles []string
	for key, t := range s.tests {
		if key[1] == "" {
			continue
		}
		titles = append(titles, short(key[0])+": "+key[1])
		for _, ran := range t.ran {
			titles = append(titles, short(key[0])+": "+ran.title)
		}
	}
	slices.Sort(titles)
	return titles
}

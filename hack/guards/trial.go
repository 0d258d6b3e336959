// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// switches is the file that each package gets with its guards. A process turns one guard off, or notes which it evaluates.
const switches = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var (
	guardsNumber, _ = strconv.Atoi(os.Getenv("GUARDS_OFF"))
	guardsNotes, _  = os.OpenFile(os.Getenv("GUARDS_REACHED"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	guardsSeen      sync.Map
)

func guardsOff(n int) bool {
	if guardsNotes != nil {
		if _, known := guardsSeen.LoadOrStore(n, true); !known {
			_, _ = guardsNotes.WriteString(strconv.Itoa(n) + "\n")
		}
	}
	return n == guardsNumber
}

func guardsNone[T any](n int, given T) (none T) {
	if guardsOff(n) {
		return none
	}
	return given
}

func guardsPick[T any](n int, given T, instead any) T {
	if guardsOff(n) {
		return instead.(T)
	}
	return given
}
`

// longest bounds one run of a package's tests.
const longest = 2 * time.Minute

// trial is the tests of several packages, built with a switch at each guard.
type trial struct {
	folder string
	suites []*suite
}

// suite is the tests of one package.
type suite struct {
	pkg, folder, binary, run string
	// reached are the guards that the tests evaluate.
	reached map[int]bool
	seconds float64
}

// build builds the tests into a folder, and runs them once as they are.
func build(ctx context.Context, o options, folder string, sources []*source) (*trial, error) {
	t := &trial{folder: folder}
	overlay, err := t.overlay(o.root, sources)
	if err != nil {
		return nil, err
	}
	packages := slices.Clone(o.packages)
	for _, s := range sources {
		packages = append(packages, "./"+filepath.ToSlash(filepath.Dir(s.file)))
	}
	slices.Sort(packages)
	for i, pkg := range slices.Compact(packages) {
		s := &suite{pkg: pkg, folder: filepath.Join(o.root, pkg), binary: filepath.Join(folder, strconv.Itoa(i)+".test"), run: o.run}
		built := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-vet=off", "-ldflags=-w", "-o", s.binary, pkg)
		built.Dir = o.root
		if out, err := built.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, out)
		}
		if _, err := os.Stat(s.binary); err != nil {
			continue // the package has no tests
		}
		if err := s.begin(ctx); err != nil {
			return nil, err
		}
		t.suites = append(t.suites, s)
	}
	slices.SortFunc(t.suites, func(a, b *suite) int { return cmp.Compare(a.seconds, b.seconds) })
	return t, nil
}

// overlay writes the files with switches, and the list that the go command reads.
func (t *trial) overlay(root string, sources []*source) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	replaced := map[string]string{}
	write := func(path, text string) error {
		replaced[path] = filepath.Join(t.folder, strconv.Itoa(len(replaced))+".go")
		return os.WriteFile(replaced[path], []byte(text), 0o600)
	}
	for _, s := range sources {
		path := filepath.Join(root, s.file)
		err = errors.Join(err, write(path, string(s.woven())))
		if helpers := filepath.Join(filepath.Dir(path), "zz_guards.go"); replaced[helpers] == "" {
			err = errors.Join(err, write(helpers, fmt.Sprintf(switches, s.pkg)))
		}
	}
	list, failure := json.Marshal(map[string]any{"Replace": replaced})
	name := filepath.Join(t.folder, "overlay.json")
	return name, errors.Join(err, failure, os.WriteFile(name, list, 0o600))
}

// begin runs the tests with all guards, and notes which of them they evaluate.
func (s *suite) begin(ctx context.Context) error {
	notes := s.binary + ".reached"
	out, seconds, err := s.test(ctx, "GUARDS_REACHED="+notes)
	if err != nil {
		return fmt.Errorf("the tests of %s fail with all guards: %w\n%s", s.pkg, err, out)
	}
	s.seconds, s.reached = seconds, map[int]bool{}
	text, err := os.ReadFile(notes)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for number := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("reading which guards the tests of %s evaluate: %w", s.pkg, err)
		}
		s.reached[n] = true
	}
	return nil
}

// test runs the tests.
func (s *suite) test(ctx context.Context, env string) (out []byte, seconds float64, err error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, s.binary, "-test.failfast", "-test.timeout="+longest.String(), "-test.run="+s.run)
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), env)
	out, err = cmd.CombinedOutput()
	return out, time.Since(began).Seconds(), err
}

// fate is what became of a guard that was taken away.
type fate string

const (
	killed    fate = "killed"
	proved    fate = "proved"
	survived  fate = "SURVIVED"
	unreached fate = "UNREACHED"
)

// result is how it was seen: by which test, or the packages whose tests evaluate it in vain.
type result struct {
	fate    fate
	seconds float64
	by      string
}

// try takes a guard away. The tests of its own package run first.
func (t *trial) try(ctx context.Context, g guard) result {
	r := result{fate: unreached}
	own := "./" + filepath.ToSlash(filepath.Dir(g.file))
	suites := slices.DeleteFunc(slices.Clone(t.suites), func(s *suite) bool { return !s.reached[g.number] })
	slices.SortStableFunc(suites, func(a, b *suite) int {
		switch own {
		case a.pkg:
			return -1
		case b.pkg:
			return 1
		}
		return 0
	})
	var vain []string
	for _, s := range suites {
		out, seconds, err := s.test(ctx, "GUARDS_OFF="+strconv.Itoa(g.number))
		r.seconds += seconds
		if err != nil {
			r.fate, r.by = killed, s.pkg+" "+failed(out)
			return r
		}
		r.fate, vain = survived, append(vain, s.pkg)
	}
	r.by = strings.Join(vain, ", ")
	return r
}

var failures = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// failed names a test that has failed, the innermost if it has parts.
func failed(out []byte) string {
	name := ""
	for _, found := range failures.FindAllSubmatch(out, -1) {
		if name == "" || strings.HasPrefix(string(found[1]), name+"/") {
			name = string(found[1])
		}
	}
	if bytes.Contains(out, []byte("test timed out after")) {
		name += " (does not end)"
	}
	return cmp.Or(name, "ends early")
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one way to break the code, as a patch says it.
type mutant struct {
	name string
	// breaks says what the patch takes away, and hazard what may happen then.
	breaks, hazard string
	// preconditions are the rows of the hazards in docs/design that the patch takes away, or the names of rules such as "P1".
	preconditions []string
	// kill are the arguments of the "go test" that must fail, and make is what has to be built from the broken tree before.
	kill, make string
	// equivalent proves that the patch changes nothing, where it does not.
	equivalent string
	hunks      []hunk
}

// hunk replaces one text of a file, which must be there exactly once. It names no line: commits that move it do not matter.
type hunk struct {
	file     string
	old, new []string
}

// packages are the folders of the Go files that the mutant changes.
func (m mutant) packages() []string {
	packages := []string{"./internal/ledger"} // what changes no Go file compiles
	for _, h := range m.hunks {
		if folder := "./" + filepath.Dir(h.file); strings.HasSuffix(h.file, ".go") && !slices.Contains(packages, folder) {
			packages = append(packages, folder)
		}
	}
	return packages
}

// readPatches returns the mutants of a folder by name; all of them if no names are given.
func readPatches(dir string, names []string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("looking for patches in %s: %w", dir, err)
	}
	var mutants []mutant
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a patch: %w", err)
		}
		m, err := parse(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		mutants = append(mutants, m)
	}
	for _, name := range names {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.name == name }) {
			return nil, fmt.Errorf("there is no %s/%s.patch", dir, name)
		}
	}
	return mutants, nil
}

// parse reads a patch: a header of "Key: value" lines, which go on where a line is indented, and hunks without line numbers.
func parse(name, text string) (mutant, error) {
	m := mutant{name: name}
	header, body, ok := strings.Cut(text, "\n--- ")
	if !ok {
		return m, errors.New(`it changes no file: a line with "--- path" begins what it changes`)
	}
	keys := map[string]*string{"Breaks": &m.breaks, "Hazard": &m.hazard, "Kill": &m.kill, "Make": &m.make, "Equivalent": &m.equivalent}
	var value *string
	for line := range strings.SplitSeq(strings.TrimSpace(header), "\n") {
		key, rest, found := strings.Cut(line, ":")
		switch target := keys[key]; {
		case strings.HasPrefix(line, " ") && value != nil:
			*value += " " + strings.TrimSpace(line)
		case key == "Row":
			m.preconditions = append(m.preconditions, strings.TrimSpace(rest))
			value = &m.preconditions[len(m.preconditions)-1]
		case !found || target == nil:
			return m, fmt.Errorf("header %q: one of Breaks, Hazard, Row, Kill, Make and Equivalent is wanted", line)
		default:
			value = target
			*value = strings.TrimSpace(rest)
		}
	}
	if m.breaks == "" || m.hazard == "" || (m.kill == "") == (m.equivalent == "") {
		return m, errors.New("header: Breaks, Hazard, and one of Kill and Equivalent are wanted")
	}
	var err error
	m.hunks, err = parseHunks("--- " + body)
	return m, err
}

func parseHunks(body string) ([]hunk, error) {
	var hunks []hunk
	file := ""
	for line := range strings.SplitSeq(strings.TrimRight(body, "\n"), "\n") {
		if path, ok := strings.CutPrefix(line, "--- "); ok {
			file = path
			continue
		}
		if strings.HasPrefix(line, "@@") {
			hunks = append(hunks, hunk{file: file})
			continue
		}
		if len(hunks) == 0 {
			return nil, fmt.Errorf(`%q: a line with "@@" begins a hunk`, line)
		}
		h, text := &hunks[len(hunks)-1], line[min(1, len(line)):]
		switch {
		case line == "" || line[0] == ' ':
			h.old, h.new = append(h.old, text), append(h.new, text)
		case line[0] == '-':
			h.old = append(h.old, text)
		case line[0] == '+':
			h.new = append(h.new, text)
		default:
			return nil, fmt.Errorf("%q: a line of a hunk begins with -, + or a space", line)
		}
	}
	for _, h := range hunks {
		if len(h.old) == 0 || slices.Equal(h.old, h.new) {
			return nil, fmt.Errorf("a hunk of %s replaces nothing", h.file)
		}
	}
	return hunks, nil
}

// apply returns the text with the hunk in it.
func (h hunk) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	at := -1
	for i := range lines {
		if !slices.Equal(lines[i:min(i+len(h.old), len(lines))], h.old) {
			continue
		}
		if at >= 0 {
			return "", fmt.Errorf("%s: its text is there twice, at lines %d and %d: give it context", h.file, at+1, i+1)
		}
		at = i
	}
	if at < 0 {
		return "", fmt.Errorf("%s: its text is not there any more, from %q on", h.file, cmp.Or(strings.TrimSpace(h.old[0]), "an empty line"))
	}
	return strings.Join(slices.Replace(lines, at, at+len(h.old), h.new...), "\n"), nil
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// small has one guard of each kind, and more than one of some.
const small = `package small

import "errors"

type reader interface{ Get(string) int }

type door struct{ Live, Client reader }

func (d *door) open(a, b, c bool) error {
	if a && b || !c {
		return errors.New("shut")
	}
	switch {
	case a, d.Live.Get("x") == 1:
		return nil
	}
	return errors.New("not found")
}

func patch(version string) map[string]any {
	return map[string]any{"resourceVersion": version, "name": "n"}
}

func longest(a, b, c bool) bool { return a && b && c }
`

const smallTest = `package small

import "testing"

type shows int

func (s shows) Get(string) int { return int(s) }

func TestOpen(t *testing.T) {
	d := &door{Live: shows(1), Client: shows(0)}
	t.Run("found", func(t *testing.T) {
		if err := d.open(false, true, true); err != nil {
			t.Error(err)
		}
	})
	if err := d.open(true, true, true); err == nil {
		t.Error("open")
	}
	if err := d.open(true, false, true); err != nil {
		t.Error(err)
	}
}

func TestPatch(t *testing.T) {
	if patch("7")["resourceVersion"] != "7" {
		t.Error("of any version")
	}
}
`

func writeModule(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module small\n\ngo 1.26\n", "small.go": small, "small_test.go": smallTest} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestGuardsOfASource(t *testing.T) {
	t.Parallel()
	s, err := readSource(writeModule(t), "small.go", 10)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(s.guards))
	for _, g := range s.guards {
		got = append(got, g.String())
	}
	want := []string{
		"small.go:10 door.open if `a && b || !c`",
		"small.go:10 door.open operand `a && b` of `a && b || !c`",
		"small.go:10 door.open operand `!c` of `a && b || !c`",
		"small.go:10 door.open operand `a` of `a && b`",
		"small.go:10 door.open operand `b` of `a && b`",
		"small.go:14 door.open case `a`",
		"small.go:14 door.open case `d.Live.Get(\"x\") == 1`",
		"small.go:14 door.open live `d.Live`",
		"small.go:21 patch version `\"resourceVersion\": version`",
		"small.go:24 longest operand `a` of `a && b && c`",
		"small.go:24 longest operand `b` of `a && b && c`",
		"small.go:24 longest operand `c` of `a && b && c`",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	woven := string(s.woven())
	for _, line := range []string{
		"if !guardsOff(11) && ((!guardsOff(12) && ((guardsOff(14) || (a)) && (guardsOff(15) || (b)))) || (!guardsOff(13) && (!c))) {",
		`case !guardsOff(16) && (a), !guardsOff(17) && (guardsPick(18, d.Live, d.Client).Get("x") == 1):`,
		`{"resourceVersion": guardsNone(19, version), "name": "n"}`,
		"return (guardsOff(20) || (a)) && (guardsOff(21) || (b)) && (guardsOff(22) || (c))",
	} {
		if !strings.Contains(woven, line) {
			t.Errorf("there is no %s in:\n%s", line, woven)
		}
	}
}

// TestWhatBecomesOfGuards runs the go command on a module of one package.
func TestWhatBecomesOfGuards(t *testing.T) {
	t.Parallel()
	root := writeModule(t)
	proofs := filepath.Join(root, "proved.txt")
	const text = "# why\nsmall.go door.open case `a`\n    the last return\n    is the same\nsmall.go door.gone if `a`\n    there was one\n"
	if err := os.WriteFile(proofs, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := run(t.Context(), options{root: root, files: []string{"small.go", "small_test.go"}, proofs: proofs, out: &out})
	if err == nil || !strings.Contains(err.Error(), "4 guards can be taken away") || !strings.Contains(err.Error(), "there is no guard small.go door.gone if `a`") {
		t.Errorf("error %v", err)
	}
	for i, want := range []string{
		"killed ./. TestOpen", "killed ./. TestOpen", "SURVIVED ./.", "killed ./. TestOpen/found", "killed ./. TestOpen", "proved the last return is the same",
		"killed ./. TestOpen/found", "killed ./. TestOpen/found", "killed ./. TestPatch", "UNREACHED ", "UNREACHED ", "UNREACHED ",
	} {
		fate, by, _ := strings.Cut(want, " ")
		line := fmt.Sprintf(`(?m)^%s +[\d.]+s +%d  small.go:.*`+"`: %s$", fate, i+1, regexp.QuoteMeta(by))
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("guard %d: want %s:\n%s", i+1, want, out.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\n7 killed, 1 proved, 1 survived, 3 not evaluated by any test\n") {
		t.Errorf("counted:\n%s", out.String())
	}
}

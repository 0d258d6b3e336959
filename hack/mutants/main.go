// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutants shows that the tests can fail. Each patch of hack/mutants takes one rule of the safety code away and names the
// specs that must notice; the command breaks a copy of the working tree with it, sees that it compiles, and runs those specs. It
// prints what became of each mutant and the score, and fails if one lives or its patch does not apply any more.
//
//	go run ./hack/mutants                      all of them
//	go run ./hack/mutants -apply-only          whether all patches apply and compile (a minute)
//	MUTANTS=name,name go run ./hack/mutants    these
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// fate is what became of a mutant.
type fate string

const (
	killed     fate = "killed"
	equivalent fate = "changes nothing"
	applies    fate = "applies"
	alive      fate = "ALIVE"
	stale      fate = "DOES NOT APPLY"
	broken     fate = "DOES NOT COMPILE"
	unproved   fate = "NOT RUN"
)

func (f fate) isGood() bool { return f == killed || f == equivalent || f == applies }

func main() {
	applyOnly := flag.Bool("apply-only", false, "run no specs")
	flag.Parse()
	os.Exit(run(*applyOnly))
}

func run(applyOnly bool) (exitCode int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	names := strings.FieldsFunc(os.Getenv("MUTANTS"), func(r rune) bool { return r == ',' || r == ' ' })
	good, err := runAll(ctx, names, applyOnly)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if !good {
		return 1
	}
	return 0
}

// runAll says whether every mutant came to a good end.
func runAll(ctx context.Context, names []string, applyOnly bool) (bool, error) {
	root, err := os.Getwd()
	if err != nil {
		return false, fmt.Errorf("finding the working directory: %w", err)
	}
	mutants, err := readPatches(filepath.Join("hack", "mutants"), names)
	if err != nil {
		return false, err
	}
	logs := filepath.Join(root, "out", "mutants")
	t, err := copyTree(ctx, root, filepath.Join(logs, "tree"))
	if err != nil {
		return false, err
	}
	fates := map[fate]int{}
	for _, m := range mutants {
		began := time.Now()
		f, said, err := t.try(ctx, m, applyOnly)
		if err != nil || ctx.Err() != nil {
			return false, err
		}
		fates[f]++
		fmt.Printf("%-16s %-44s %4.0fs\n", f, m.name, time.Since(began).Seconds())
		log := filepath.Join(logs, m.name+".log")
		if err := write(log, []byte(said)); err != nil {
			return false, fmt.Errorf("writing %s: %w", log, err)
		}
		if !f.isGood() {
			fmt.Printf("    breaks: %s\n    hazard: %s\n    kill:   go test %s\n    see     %s\n", m.breaks, m.hazard, m.kill, log)
		}
	}
	if applyOnly {
		fmt.Printf("%d of %d mutants apply and compile\n", fates[applies], len(mutants))
		return fates[applies] == len(mutants), nil
	}
	tried := len(mutants) - fates[equivalent]
	fmt.Printf("score: %d of %d mutants killed; %d change nothing, which is proved\n", fates[killed], tried, fates[equivalent])
	return fates[killed] == tried, nil
}

// try breaks the tree with the mutant, runs what must kill it, and mends the tree again.
func (t *tree) try(ctx context.Context, m mutant, applyOnly bool) (f fate, said string, err error) {
	mend, err := t.mutate(m)
	if err != nil {
		return stale, err.Error(), nil
	}
	defer func() {
		if mended := mend(); err == nil {
			err = mended
		}
	}()
	if built, failure := t.run(ctx, "go build "+strings.Join(m.packages(), " ")); failure != nil {
		return broken, built, nil
	}
	switch {
	case applyOnly:
		return applies, "", nil
	case m.equivalent != "":
		return equivalent, m.equivalent, nil
	}
	if m.make != "" {
		if made, failure := t.run(ctx, "make "+m.make); failure != nil {
			return unproved, made, nil
		}
	}
	out, failure := t.run(ctx, "go test -count 1 -timeout 5m -vet=off -ldflags=-w "+m.kill)
	return judge(out, failure), out, nil
}

// judge says what a run of specs means. One that did not come to the specs proves nothing.
func judge(said string, failure error) fate {
	isEmpty := strings.Contains(said, "[no tests to run]") || strings.Contains(said, "Ran 0 of ")
	isBroken := strings.Contains(said, "[BeforeSuite]") || strings.Contains(said, "[build failed]") || strings.Contains(said, "[setup failed]")
	switch {
	case isEmpty || isBroken:
		return unproved
	case failure == nil:
		return alive
	case strings.Contains(said, "--- FAIL: ") || strings.Contains(said, "panic: "):
		return killed
	}
	return unproved
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command guards takes each guard of Go files away, one at a time, and runs unit tests, of which one must fail. A guard is an operand
// of && or ||, the condition of an if or of a case, a live read, or a precondition of a write. The tree is not changed: the go command
// builds each package's tests once, from an overlay that has every guard with a switch, and each run of the tests turns one guard off.
// A guard that no test evaluates costs no run.
//
//	go run ./hack/guards -packages ./internal/claimant,./internal/claim internal/claimant/*.go
//	go run ./hack/guards -list internal/ledger/write.go
//
// Of each guard it prints whether it was killed, by which test and in how many seconds, or survived. It fails if one survives that the
// file proved.txt beside it does not prove to change nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	o := options{out: os.Stdout}
	packages := flag.String("packages", "", "packages whose tests may kill, beside the files' own, as ./folders with commas")
	flag.StringVar(&o.run, "run", "", "only these tests, as go test -run has it")
	flag.StringVar(&o.proofs, "proofs", "hack/guards/proved.txt", "the file of proofs")
	flag.IntVar(&o.only, "only", 0, "only the guard of this number")
	flag.BoolVar(&o.list, "list", false, "list the guards and run nothing")
	flag.Parse()
	o.files = flag.Args()
	o.packages = strings.FieldsFunc(*packages, func(r rune) bool { return r == ',' })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

// options are what a run is asked for. Files and packages are relative to the module's folder, which is the working directory unless
// root names it.
type options struct {
	root            string
	files, packages []string
	run, proofs     string
	only            int
	list            bool
	out             io.Writer
}

// run errs if a guard survives.
func run(ctx context.Context, o options) error {
	var sources []*source
	var guards []guard
	for _, file := range o.files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		s, err := readSource(o.root, file, len(guards))
		if err != nil {
			return err
		}
		sources, guards = append(sources, s), append(guards, s.guards...)
	}
	proofs, err := readProofs(o.proofs)
	if err != nil {
		return err
	}
	if o.list {
		for _, g := range guards {
			fmt.Fprintf(o.out, "%4d  %s\n", g.number, g)
		}
		return nil
	}
	folder, err := os.MkdirTemp("", "guards-")
	if err != nil {
		return err
	}
	t, err := build(ctx, o, folder, sources)
	if err == nil {
		err = errors.Join(tryAll(ctx, o, t, guards, proofs), proofs.unused(sources))
	}
	return errors.Join(err, os.RemoveAll(folder))
}

// tryAll takes the guards away in turn.
func tryAll(ctx context.Context, o options, t *trial, guards []guard, proofs proofs) error {
	counts := map[fate]int{}
	for _, g := range guards {
		if o.only != 0 && g.number != o.only {
			continue
		}
		r := t.try(ctx, g)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if why := proofs.of(g); why != "" && r.fate != killed {
			r = result{fate: proved, seconds: r.seconds, by: why}
		}
		counts[r.fate]++
		fmt.Fprintf(o.out, "%-9s %5.1fs  %4d  %s: %s\n", r.fate, r.seconds, g.number, g, r.by)
	}
	fmt.Fprintf(o.out, "%d killed, %d proved, %d survived, %d not evaluated by any test\n", counts[killed], counts[proved], counts[survived], counts[unreached])
	if n := counts[survived] + counts[unreached]; n > 0 {
		return fmt.Errorf("%d guards can be taken away and no test fails", n)
	}
	return nil
}

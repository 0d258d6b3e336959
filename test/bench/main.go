// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures how fast Weir answers claims on a real etcd and
// kube-apiserver, what that costs in API requests, and how it compares with
// what the API server itself can do: creating the claims and nothing else. Its
// parts are the answers to Cluster API's claims, their dependence on the number
// of records, the calls that create IPClaims, and commands of kubectl weir.
//
// Floor and Weir alternate, because a machine's speed drifts. It is an error
// if a claim is not answered or an address is handed out twice, never that it
// took long.
//
//   - main.go, parts.go: flags, and the choice of what is measured.
//   - environment.go: the control plane, the manager and the pools.
//   - round.go, floor.go: rounds of Cluster API's claims, and what the API server could do.
//   - against.go: the same in turn with an older Weir.
//   - scale.go: the same with many records.
//   - calls.go, calls_made.go, calls_known.go: the calls that create IPClaims, and the calls of a
//     client that knows the answers.
//   - plugin.go: commands of kubectl weir with many records.
//   - stopwatch.go: when each claim was answered.
//   - cpu.go, profile.go: where the processor's time goes.
//   - report.go, calls_report.go: what is printed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// options are the command's flags.
type options struct {
	claims, poolSize, allocated, creators, rounds int

	fsync    bool
	jsonPath string
	scale    counts
	parts    parts
	args     string
	profile  string
	against  string
}

func (o *options) addFlags(fs *flag.FlagSet) {
	fs.IntVar(&o.claims, "n", 500, "claims in a round")
	fs.IntVar(&o.poolSize, "pool-size", 1<<18, "addresses of the pool, rounded up to a power of two")
	fs.IntVar(&o.allocated, "allocated", 0, "addresses that are allocated before the first round")
	fs.IntVar(&o.creators, "creators", 8, "clients that create claims at once; measured besides a single one")
	fs.IntVar(&o.rounds, "rounds", 3, "how often the floor and Weir alternate")
	fs.BoolVar(&o.fsync, "fsync", true, "let etcd write durably, as it does unless told otherwise")
	fs.StringVar(&o.jsonPath, "json", "", "write the results as JSON to this file too")
	o.scale = counts{0, 20_000, 100_000}
	fs.Var(&o.scale, "scale", "numbers of records, ascending and separated by commas, to start the manager with; empty for none")
	o.parts = allParts
	fs.Var(&o.parts, "parts", "what to measure, separated by commas")
	fs.StringVar(&o.args, "manager-args", "", "further flags of the manager, separated by spaces")
	fs.StringVar(&o.against, "against", "", "checkout of an older Weir, with its manager and release manifests built, which answers as many claims in turn with this one")
	fs.StringVar(&o.profile, "profile", "", "write CPU profiles of manager and API server into this folder")
}

// counts is a flag: ascending numbers.
type counts []int

func (c *counts) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*c)), " ", ","), "[]")
}

// Set implements flag.Value.
func (c *counts) Set(text string) error {
	*c = nil
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n < c.last() {
			return errors.New("must be ascending numbers, separated by commas")
		}
		*c = append(*c, n)
	}
	return nil
}

func (c *counts) last() int {
	if len(*c) == 0 {
		return 0
	}
	return (*c)[len(*c)-1]
}

func (o *options) check() error {
	var errs []error
	if o.claims < 1 || o.creators < 1 || o.rounds < 1 || o.allocated < 0 {
		errs = append(errs, errors.New("-n, -creators and -rounds must be at least 1, -allocated at least 0"))
	}
	if room := 1<<(maxIPv4Bits-o.blockBits()) - reservedAddresses; max(o.claims, warmUpClaims)+o.allocated+o.scale.last() > room {
		errs = append(errs, fmt.Errorf("-pool-size: %d addresses are too few for %d allocations, %d records and %d claims",
			o.poolSize, o.allocated, o.scale.last(), o.claims))
	}
	if o.blockBits() < minBlockBits {
		errs = append(errs, fmt.Errorf("-pool-size: must be at most %d", 1<<(maxIPv4Bits-minBlockBits)))
	}
	if o.against != "" && !o.parts.has(answersPart) {
		errs = append(errs, fmt.Errorf("-against: -parts must have %s", answersPart))
	}
	return errors.Join(errs...)
}

func main() {
	var o options
	o.addFlags(flag.CommandLine)
	flag.Parse()
	if err := o.check(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures part by part, and prints. Nothing is left running, whatever happens.
func run(ctx context.Context, o options) error {
	r := newReport(o)
	for _, part := range []struct {
		name    string
		measure func(*environment, context.Context, *report) error
	}{
		{answersPart, (*environment).measureAll},
		{scalePart, (*environment).measureScale},
		{callsPart, (*environment).measureCalls},
		{pluginPart, (*environment).measurePlugin},
	} {
		if !o.parts.has(part.name) {
			continue
		}
		err := onEnvironment(ctx, o, r, part.measure)
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case err != nil:
			return fmt.Errorf("measuring %s: %w", part.name, err)
		}
	}
	fmt.Fprint(os.Stdout, r.tables())
	return r.writeJSON(o.jsonPath)
}

// onEnvironment starts an environment, measures there, and stops it. The first
// one says in the report what is measured.
func onEnvironment(ctx context.Context, o options, r *report, measure func(*environment, context.Context, *report) error) (err error) {
	e, err := newEnvironment(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.stop()) }()
	if r.Weir == "" {
		if err = e.versions(ctx, r); err != nil {
			return err
		}
		fmt.Fprint(os.Stdout, r.heading(o))
	}
	return measure(e, ctx, r)
}

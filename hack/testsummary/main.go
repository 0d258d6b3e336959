// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testsummary runs "go test -json", prints what a person wants to see of it, and exits as
// go test did. It prints a line for each package and the output of what failed. At the end come the
// seconds of each suite, the slowest specs and tests, which suites took longer than docs/testing.md
// allows, why tests failed, what failed, and how many tests passed, failed and were skipped.
//
//	testsummary -out FILE -- go test -json ...           run, and keep the JSON in FILE
//	testsummary FILE...                                  print the end over runs kept before
//	testsummary -titles FILE...                          list the titles of all tests and specs
//	testsummary -repeat N -out DIR -- go test -json ...  run N times, with one seed after the other
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// options are the command's flags.
type options struct {
	out    string
	costs  bool
	titles bool
	repeat int
	seed   int64
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "file (with -repeat: folder) that keeps the JSON of the command given as arguments")
	flag.BoolVar(&o.costs, "costs", true, "print what the tests cost")
	flag.BoolVar(&o.titles, "titles", false, "list titles only")
	flag.IntVar(&o.repeat, "repeat", 0, "run suites of Ginkgo as often")
	flag.Int64Var(&o.seed, "seed", 0, "Ginkgo's seed of the first of these runs; 0 takes one from the clock")
	flag.Parse()
	code, err := run(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(o options, args []string) (exitCode int, err error) {
	switch {
	case o.repeat > 0:
		return repeat(o, args)
	case o.out != "":
		s := newSummary(os.Stdout)
		exitCode, err = s.runCommand(o.out, args)
		s.printEnd(o.costs)
		return exitCode, err
	}
	s := newSummary(io.Discard)
	err = s.readFiles(args)
	if !o.titles {
		s.printEnd(o.costs)
		return 0, err
	}
	for _, title := range s.titles() {
		fmt.Println(title)
	}
	return 0, err
}

// printEnd prints what there is to say of all tests.
func (s *summary) printEnd(withCosts bool) {
	if withCosts {
		fmt.Print(s.costs())
	}
	if withCosts {
		budgets, err := readBudgets()
		if err != nil {
			fmt.Fprintln(os.Stderr, "testsummary: no budgets:", err)
		}
		fmt.Print(s.overBudget(budgets))
	}
	fmt.Print(s.failures())
	for _, title := range s.failedTitles(0) {
		fmt.Println("failed:", title)
	}
	fmt.Println(s.counts())
}

// readBudgets reads the budgets of suites at the size that they ran at. That there are none changes
// no exit code.
func readBudgets() (map[string]float64, error) {
	page, err := os.ReadFile(budgetPage)
	if err != nil {
		return nil, err
	}
	return parseBudgets(string(page), os.Getenv("WEIR_SUITE_SIZE"))
}

func (s *summary) readFiles(paths []string) error {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("opening a run: %w", err)
		}
		err = s.read(file)
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *summary) runCommand(out string, args []string) (exitCode int, err error) {
	if err = os.MkdirAll(filepath.Dir(out), 0o750); err != nil {
		return 1, fmt.Errorf("making the output's folder: %w", err)
	}
	file, err := os.Create(out)
	if err != nil {
		return 1, fmt.Errorf("creating the output: %w", err)
	}
	defer file.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 1, fmt.Errorf("piping the command: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("starting %s: %w", args[0], err)
	}
	readErr := s.read(bufio.NewReader(io.TeeReader(stdout, file)))
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		return exit.ExitCode(), readErr
	} else if err != nil {
		return 1, errors.Join(readErr, fmt.Errorf("running %s: %w", args[0], err))
	}
	return 0, readErr
}

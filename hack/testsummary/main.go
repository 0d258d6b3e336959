// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testsummary runs "go test -json", prints what a person wants to see
// of it (a line for each package, the output of what failed, at the end why it
// did, and how many tests passed, failed and were skipped) and exits as go test did.
//
//	testsummary -out FILE -- go test -json ...   run, and keep the JSON in FILE
//	testsummary FILE...                          count over runs kept before
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

func main() {
	out := flag.String("out", "", "file that keeps the JSON of the command given as arguments")
	flag.Parse()
	code, err := run(*out, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(out string, args []string) (exitCode int, err error) {
	s := newSummary(os.Stdout)
	if out != "" {
		exitCode, err = s.runCommand(out, args)
	} else {
		s.w = io.Discard
		err = s.readFiles(args)
	}
	fmt.Fprint(os.Stdout, s.failures())
	fmt.Fprintln(os.Stdout, s.counts())
	return exitCode, err
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

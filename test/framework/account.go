// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Account prints what a suite has done, such as how often a process was killed,
// in lines that `make test` shows also when all is well.
func Account(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(os.Stdout, "\naccount: %s\n", strings.TrimSpace(line))
	}
}

// spent is the processor time of the processes that have ended, by program.
var spent = struct {
	sync.Mutex
	by map[string]time.Duration
}{by: map[string]time.Duration{}}

// spend notes the processor time of a process that has ended.
func spend(program string, state *os.ProcessState) {
	spent.Lock()
	defer spent.Unlock()
	spent.by[program] += state.UserTime() + state.SystemTime()
}

// ProcessorSeconds says what this process, and each program that it started and that has ended, took of the processor:
// "processor seconds: 12 of the tests, 3 of etcd, 40 of kube-apiserver". What ran to its end in one call, such as kubectl, is "other programs".
func ProcessorSeconds() (string, error) {
	own, err := processorTime(syscall.RUSAGE_SELF)
	if err != nil {
		return "", err
	}
	other, err := processorTime(syscall.RUSAGE_CHILDREN)
	if err != nil {
		return "", err
	}
	spent.Lock()
	defer spent.Unlock()
	parts := []string{fmt.Sprintf("%.0f of the tests", own.Seconds())}
	for _, program := range slices.Sorted(maps.Keys(spent.by)) {
		parts = append(parts, fmt.Sprintf("%.0f of %s", spent.by[program].Seconds(), program))
		other -= spent.by[program]
	}
	return "processor seconds: " + strings.Join(append(parts, fmt.Sprintf("%.0f of other programs", other.Seconds())), ", "), nil
}

func processorTime(who int) (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		return 0, fmt.Errorf("reading the processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

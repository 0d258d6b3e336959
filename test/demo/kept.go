// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// keptFile tells which clusters are kept, so that they can be stopped. The demo runs in the repository.
var keptFile = filepath.Join("out", "demo-kept.json")

// kept is a cluster that was left running.
type kept struct {
	Dir  string         `json:"dir"`
	PIDs map[string]int `json:"pids"`
}

// remember adds a cluster to the file.
func remember(file string, k kept) error {
	all, err := recall(file)
	if err != nil {
		return err
	}
	text, err := json.Marshal(append(all, k))
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o600))
}

// recall reads the file; where there is none, nothing is kept.
func recall(file string) ([]kept, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []kept
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return all, nil
}

// stopKept ends every cluster in the file, and says what it has ended.
func stopKept(out io.Writer, file string) error {
	all, err := recall(file)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "No demo is running: 'make demo KEEP=1' leaves one.")
		return nil
	}
	for _, k := range all {
		if err := k.stop(out); err != nil {
			return err
		}
	}
	return os.Remove(file)
}

// stop ends the processes and removes the folder. A process that does not name the folder is another one, which has got the number since.
// Without its etcd an API server would not end on a milder signal.
func (k kept) stop(out io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(k.PIDs)) {
		pid := k.PIDs[name]
		arguments, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output() // a number; it ends at once
		if err != nil || !strings.Contains(string(arguments), k.Dir) {
			fmt.Fprintf(out, "%s has ended before.\n", name)
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping %s, process %d: %w", name, pid, err)
		}
		fmt.Fprintf(out, "Stopped %s.\n", name)
	}
	if err := os.RemoveAll(k.Dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "Removed %s.\n", k.Dir)
	return nil
}

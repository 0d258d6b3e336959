// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sleeper is a process that names dir among its arguments.
func sleeper(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do sleep 0.2; done", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestDemoStopEndsWhatWasKeptAndNothingElse(t *testing.T) {
	t.Parallel()
	file, dir := filepath.Join(t.TempDir(), "out", "kept.json"), filepath.Join(t.TempDir(), "cluster")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	own, other := sleeper(t, dir), sleeper(t, "elsewhere")
	if err := remember(file, kept{Dir: dir, PIDs: map[string]int{"etcd": own.Process.Pid, "manager": other.Process.Pid}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Stopped etcd.\nmanager has ended before.\nRemoved " + dir + ".\n", "No demo is running: "} {
		var said strings.Builder
		if err := stopKept(&said, file); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(said.String(), want) {
			t.Errorf("it says %q, want %q", said.String(), want)
		}
	}
	if err := own.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the kept process: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Errorf("another process was ended: %v", err)
	}
	_ = other.Wait()
}

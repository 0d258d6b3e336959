// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func TestManagerIsPausedAndKilled(t *testing.T) {
	t.Parallel()
	manager, err := startFakeManager(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 300 * time.Millisecond}
	if err := manager.Pause(); err != nil {
		t.Fatal(err)
	}
	for tries := 1; answers(t, client, manager); tries++ { // a signal takes effect a moment after it is sent
		if tries == 100 {
			t.Fatal("a paused manager answers")
		}
	}
	if err := manager.Resume(); err != nil {
		t.Fatal(err)
	}
	if !answers(t, client, manager) {
		t.Error("a resumed manager does not answer")
	}
	if err := manager.Kill(); err != nil {
		t.Fatal(err)
	}
	if manager.Running() || manager.ExitCode() != -1 {
		t.Errorf("killed manager: running %t, exit code %d", manager.Running(), manager.ExitCode())
	}
}

func answers(t *testing.T, client *http.Client, manager *framework.ManagerProcess) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, manager.HealthURL()+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}

func TestWaitReadyFailsWithTheLogOfADeadManager(t *testing.T) {
	t.Parallel()
	manager, err := framework.StartManager(framework.ManagerOptions{
		Config: &rest.Config{Host: "https://127.0.0.1:1"},
		Dir:    t.TempDir(),
		Binary: "/bin/sh",
		Args:   []string{"-c", "echo boom"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "exited") {
		t.Errorf("got %v", err)
	}
}

// TestNoChildOutlivesAKilledParent kills the starter of a process without
// giving it a chance to clean up.
func TestNoChildOutlivesAKilledParent(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), os.Args[0], t.TempDir())
	parent.Env = append(os.Environ(), roleEnv+"=parent")
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid = strings.TrimSpace(pid)
	if !lives(pid) {
		t.Fatalf("process %s does not run", pid)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // It was killed.
	for deadline := time.Now().Add(5 * time.Second); lives(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %s outlives its parent", pid)
		}
	}
}

// lives reports whether a process runs; a zombie has no command line.
func lives(pid string) bool {
	cmdline, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	return err == nil && len(cmdline) > 0
}

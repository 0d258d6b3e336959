// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// settings stand for what git says of the commit: a copy of the tree has no git.
var settings = []string{"REVISION=0a1b2c", "SOURCE_DATE_EPOCH=1764200000", "VERSION=v0.1.0", "ARCHS=amd64 arm64"}

// makeImage runs make in a tree, and returns the digest that it prints and the archive's path.
func makeImage(t *testing.T, tree string) (digest, archive string) {
	t.Helper()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--silent", "image", "OUT=" + out, "BIN=" + t.TempDir()}, settings...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = tree, &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	lines := strings.Fields(string(text))
	return lines[len(lines)-1], filepath.Join(out, "ipam-weir", "v0.1.0", "image.tar")
}

// copyOf copies the files that git knows to another folder.
func copyOf(t *testing.T, tree string) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = tree
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name := range strings.FieldsSeq(string(names)) {
		content, err := os.ReadFile(filepath.Join(tree, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err = os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(path, content, 0o700); err != nil { //nolint:gosec // scripts are among them
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheImageIsTheSameFromTwoFoldersAndRuns(t *testing.T) {
	tree, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	digest, archive := makeImage(t, tree)
	again, other := makeImage(t, copyOf(t, tree))
	if digest != again || !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("the digest is %s in one folder and %s in another", digest, again)
	}
	first, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(other); err != nil || !bytes.Equal(first, second) {
		t.Errorf("the archives differ, %v", err)
	}
	image, _ := read(t, archive, runtime.GOARCH)
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	_, files, _ := unpacked(t, content)
	root := t.TempDir()
	if err = os.WriteFile(filepath.Join(root, "manager"), files["manager"], 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--help": "--feature-gates", "--version": "v0.1.0"} {
		if shown := runAlone(t, root, flag); !strings.Contains(shown, want) {
			t.Errorf("manager %s prints %q", flag, shown)
		}
	}
}

// runAlone runs the manager with no other file than itself, as in a container; who is not root cannot hide the others.
func runAlone(t *testing.T, root, flag string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "manager"), flag)
	if os.Geteuid() == 0 {
		cmd = exec.CommandContext(t.Context(), "/manager", flag)
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	}
	cmd.Env = []string{"PATH=/"}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

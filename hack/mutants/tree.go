// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tree is a copy of the working tree, in which the code is broken. It stays between runs, so that what has been compiled is found again.
type tree struct{ root string }

// copyTree makes the copy as the working tree is now: all that git knows or would add. The tools and the control plane of bin/ are shared.
func copyTree(ctx context.Context, from, to string) (*tree, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = from
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of the working tree: %w", err)
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		err := copyFile(filepath.Join(from, name), filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not staged
		}
		if err != nil {
			return nil, fmt.Errorf("copying %s: %w", name, err)
		}
		wanted[name] = true
	}
	bin := filepath.Join(to, "bin")
	if err := os.RemoveAll(bin); err != nil {
		return nil, fmt.Errorf("linking bin: %w", err)
	}
	if err := os.Symlink(filepath.Join(from, "bin"), bin); err != nil {
		return nil, fmt.Errorf("linking bin: %w", err)
	}
	return &tree{to}, prune(to, wanted)
}

// copyFile keeps the file's time: by that make tells that the tools need not be built again.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return errors.Join(write(to, text), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// prune removes what the working tree does not have any more.
func prune(root string, wanted map[string]bool) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case name == "bin":
			return nil
		case entry.IsDir() && name == "out":
			return filepath.SkipDir
		case entry.IsDir() || wanted[name]:
			return nil
		}
		return os.Remove(path)
	})
}

// write stores a text unless it is there already, executable where it is a script.
func write(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	mode := os.FileMode(0o600)
	if bytes.HasPrefix(text, []byte("#!")) {
		mode = 0o700
	}
	return os.WriteFile(path, text, mode)
}

// mutate breaks the code, and returns what mends it again. Where a hunk does not apply nothing is changed.
func (t *tree) mutate(m mutant) (mend func() error, err error) {
	before, after := map[string]string{}, map[string]string{}
	for _, h := range m.hunks {
		if _, read := before[h.file]; !read {
			text, failure := os.ReadFile(filepath.Join(t.root, h.file))
			if failure != nil {
				return nil, fmt.Errorf("%s: %w", h.file, failure)
			}
			before[h.file], after[h.file] = string(text), string(text)
		}
		if after[h.file], err = h.apply(after[h.file]); err != nil {
			return nil, err
		}
	}
	return func() error { return t.store(before) }, t.store(after)
}

func (t *tree) store(texts map[string]string) error {
	for file, text := range texts {
		if err := write(filepath.Join(t.root, file), []byte(text)); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
	}
	return nil
}

// run runs a command in the tree and returns all that it says.
func (t *tree) run(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = t.root
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// RepoRoot returns the folder of the module's go.mod, searched upwards from the
// working directory.
func RepoRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the repository: no go.mod above the working directory")
		}
		dir = parent
	}
}

// Binary returns the path of a program: from the folder KUBEBUILDER_ASSETS if
// it is there, otherwise from the repository's bin/.
func Binary(name string) (string, error) {
	root, err := RepoRoot()
	if err != nil {
		return "", err
	}
	dirs := []string{filepath.Join(root, "bin")}
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		dirs = append([]string{assets}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", fmt.Errorf("finding %s in %v: run 'make control-plane manager' first", name, dirs)
}

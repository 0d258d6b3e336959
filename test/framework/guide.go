// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Guide is one of the guides of docs/guides, whose commands a test runs.
type Guide string

// ReadGuide reads a guide.
func ReadGuide(name string) (Guide, error) {
	root, err := RepoRoot()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", name))
	if err != nil {
		return "", fmt.Errorf("reading a guide: %w", err)
	}
	return Guide(text), nil
}

// Commands returns the blocks of commands below a heading and before the next one, in order. It errs if there are none.
func (g Guide) Commands(heading string) ([]string, error) {
	_, rest, found := strings.Cut(string(g), "\n"+heading+"\n")
	if !found {
		return nil, fmt.Errorf("the guide has no heading %q", heading)
	}
	var blocks []string
	section, _, _ := strings.Cut(rest, "\n#")
	for {
		_, begun, found := strings.Cut(section, "\n```sh\n")
		if !found {
			break
		}
		block, after, _ := strings.Cut(begun, "\n```\n")
		blocks, section = append(blocks, block), "\n"+after
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("the guide has no commands below %q", heading)
	}
	return blocks, nil
}

// Shell runs commands in bash, in this folder and with these variables, and returns what they print. It errs if bash does, and the error shows
// what all of them say. The programs are those of bin/, and then the machine's.
func Shell(ctx context.Context, folder, commands string, env ...string) (string, error) {
	path, err := Binary("kubectl")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", commands)
	cmd.Dir = folder
	cmd.Env = slices.Concat(env, []string{"PATH=" + filepath.Dir(path) + string(os.PathListSeparator) + os.Getenv("PATH"), "NO_PROXY=*", "no_proxy=*"})
	var output, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &complaint
	if err := cmd.Run(); err != nil {
		return output.String(), fmt.Errorf("%w: %s\nof these commands:\n%s", err, complaint.String(), commands)
	}
	return output.String(), nil
}

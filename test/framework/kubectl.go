// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Kubectl runs kubectl as the administrator, with input to read, and returns
// what it prints. An error shows what kubectl says.
func (s *Site) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	path, err := Binary("kubectl")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, append([]string{"--kubeconfig=" + s.KubeconfigPath(), "--cache-dir=" + s.path("kubectl")}, args...)...)
	cmd.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	cmd.Stdin = strings.NewReader(input)
	var output, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &complaint
	if err := cmd.Run(); err != nil {
		return output.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, complaint.String())
	}
	return output.String(), nil
}

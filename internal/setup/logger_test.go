// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

func TestNoLineOfALogIsLong(t *testing.T) {
	t.Parallel()
	var lines []string
	logger := Logger(funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	long := strings.Repeat("a", 1<<20)
	logger.Info("short", "key", "value", "number", 1)
	logger.Info(long, "text", long, "error", errors.New(long))
	logger.WithName("named").WithValues("text", long).Error(errors.New(long), "failed")
	logger.V(0).WithCallDepth(1).Error(nil, "failed")
	if len(lines) != 4 || lines[0] != `"level"=0 "msg"="short" "key"="value" "number"=1` {
		t.Fatalf("%d lines, the first %.100s", len(lines), lines)
	}
	for _, line := range lines {
		if len(line) > 4*excerpt.MaxMessage {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

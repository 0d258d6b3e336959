// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"os"
	"strings"
)

// Account prints what a suite has done, such as how often a process was killed,
// in lines that `make test` shows also when all is well.
func Account(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(os.Stdout, "\naccount: %s\n", strings.TrimSpace(line))
	}
}

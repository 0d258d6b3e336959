// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command clireference prints the reference of kubectl weir, docs/reference/cli.md.
package main

import (
	"os"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
)

func main() {
	if _, err := os.Stdout.WriteString(plugin.Reference()); err != nil {
		os.Exit(1)
	}
}

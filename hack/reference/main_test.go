// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPagesAreUpToDate with the data that they are made of.
func TestPagesAreUpToDate(t *testing.T) {
	t.Parallel()
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want() {
			t.Errorf("docs/reference/%s is not up to date; run make generate-reference", name)
		}
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
)

var (
	metricRow = regexp.MustCompile("(?m)^\\| `(weir_[a-z_]+)` \\| ([a-z]+) \\|(.*?)\\| .+\\|$")
	labelName = regexp.MustCompile("`([a-z]+)`")
)

// described is a metric as the reference and the registry have it: its type, and its labels in order.
type described struct {
	Type   string
	Labels []string
}

// TestEachMetricIsInTheReference compares docs/reference/metrics.md with what the packages register that a manager is made of.
func TestEachMetricIsInTheReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented, registered := map[string]described{}, map[string]described{}
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		d := described{Type: row[2]}
		for _, label := range labelName.FindAllStringSubmatch(row[3], -1) {
			d.Labels = append(d.Labels, label[1])
		}
		documented[row[1]] = d
	}
	for _, m := range metrics.All() {
		registered[m.Name] = described{m.Type, slices.Clone(m.Labels)}
		if m.Help == "" {
			t.Errorf("%s has no help text", m.Name)
		}
	}
	if diff := cmp.Diff(registered, documented); diff != "" {
		t.Errorf("docs/reference/metrics.md (-registered +documented):\n%s", diff)
	}
}

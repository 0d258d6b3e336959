// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// TestEachReasonIsOfItsRow: by that of an operator's word the trail says that a block went without its member's report.
func TestEachReasonIsOfItsRow(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.0/28", block, withMember)
	w := newWorld(t, record)
	h := w.shown(t, record)
	for row, reason := range reasonsOf {
		if got := reason(w, h).row; got != row {
			t.Errorf("%q is of the row %q", row, got)
		}
	}
}

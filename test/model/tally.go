// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally counts what walks have come to, so that a model that does nothing is noticed.
type tally struct {
	crashes, relists, takeovers, exhausted, mismatches, leftovers, admitted, repaired int
	bound, expired, restored, conflicts, moved, reservations, retried                 int

	verdicts [superseded + 1]int
	released [modeRetain + 1]int
}

// all returns the counts by what they count.
func (t *tally) all() map[string]int {
	return map[string]int{
		"crashes":               t.crashes,
		"relists":               t.relists,
		"take-overs":            t.takeovers,
		"told exhausted":        t.exhausted,
		"void records":          t.mismatches,
		"left-over answers":     t.leftovers,
		"own claims admitted":   t.admitted,
		"own claims bound":      t.bound,
		"own claims repeated":   t.retried,
		"records repaired":      t.repaired,
		"records cooled":        t.released[modeRelease],
		"records retained":      t.released[modeRetain],
		"records thawed":        t.expired,
		"claims arrived":        t.restored,
		"told duplicate":        t.conflicts,
		"claims moved away":     t.moved,
		"holds":                 t.reservations,
		"judgements won":        t.verdicts[won],
		"judgements lost":       t.verdicts[lost],
		"judgements blocked":    t.verdicts[blocked],
		"judgements superseded": t.verdicts[superseded],
	}
}

// String lists the counts in a fixed order.
func (t *tally) String() string {
	counts := t.all()
	parts := make([]string, 0, len(counts))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(parts, ", ")
}

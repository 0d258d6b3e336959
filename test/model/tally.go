// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally counts what the walks have reached, so that a model that does nothing is noticed.
type tally struct {
	crashes, relists, takeovers, exhausted, mismatches, leftovers, admitted, repaired int
	bound, expired, restored, conflicts, moved, reservations, late, retried, kept     int
	committed, refused, namesTaken, several, strays, removed                          int

	verdicts [superseded + 1]int
	released [modeRetain + 1]int
}

// all returns the counts by name.
func (t *tally) all() map[string]int {
	return map[string]int{
		"crashes":                  t.crashes,
		"relists":                  t.relists,
		"takeovers":                t.takeovers,
		"exhaustion reported":      t.exhausted,
		"mismatched records":       t.mismatches,
		"leftover answers deleted": t.leftovers,
		"Weir claims admitted":     t.admitted,
		"Weir claims bound":        t.bound,
		"Weir claims retried":      t.retried,
		"records repaired":         t.repaired,
		"records cooled":           t.released[modeRelease],
		"records retained":         t.released[modeRetain],
		"records expired":          t.expired,
		"claims restored":          t.restored,
		"conflicts reported":       t.conflicts,
		"addresses kept by pools":  t.kept,
		"claims moved away":        t.moved,
		"commits by status":        t.committed,
		"commits refused":          t.refused,
		"names of answers taken":   t.namesTaken,
		"restored with several":    t.several,
		"strays removed":           t.strays,
		"answers removed by force": t.removed,
		"reservations":             t.reservations,
		"late reservations gone":   t.late,
		"judgements won":           t.verdicts[won],
		"judgements lost":          t.verdicts[lost],
		"judgements blocked":       t.verdicts[blocked],
		"judgements superseded":    t.verdicts[superseded],
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

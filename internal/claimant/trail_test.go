// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// forcedTrailOf has the members of all releases by force.
var forcedTrailOf = sync.OnceValue(func() *memory.Trail { return memory.NewTrail("ForceReleased", "member") })

// TestWhatTheTrailSaysOfABlockThatIsForced: that an operator has released it, if that is so. Of a block that could not be released it says
// nothing, and who asked is told the error. Nor does it say so of one that no member may use.
func TestWhatTheTrailSaysOfABlockThatIsForced(t *testing.T) {
	for sentence, test := range map[string]struct {
		member  string
		failing int
		cools   bool
		want    []string
	}{
		"a member's block":                        {member: "edge-a", want: []string{"edge-a"}},
		"a member's block, with a cooldown":       {member: "edge-a", cools: true, want: []string{"edge-a"}},
		"a member's block that cannot be changed": {member: "edge-a", failing: 1},
		"a member's block that cannot be deleted": {member: "edge-a", failing: 2},
		"a member's block that cannot cool down":  {member: "edge-a", cools: true, failing: 1},
		"a block that no member may use":          {},
	} {
		t.Run(sentence, func(t *testing.T) {
			told := forcedTrailOf()
			record := allocations.Named("forced", "10.0.0.0/28", block, allocations.DelegatedTo(test.member), allocations.Confirmed)
			w := newWorld(t, record)
			if !test.cools {
				w.free(t)
			}
			h := w.shown(t, record)
			told.Of("ns/forced")
			w.failAt = test.failing
			if _, err := w.Release(t.Context(), h, reasonsOf[blockForced](w, h)); errors.Is(err, errFailed) != (test.failing > 0) || err != nil && test.failing == 0 {
				t.Errorf("released: %v", err)
			}
			if got := told.Of("ns/forced"); !slices.Equal(got, test.want) {
				t.Errorf("told of members %q, want %q", got, test.want)
			}
		})
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// forcedTrail has the members that audit lines on releases by force name, by record.
type forcedTrail struct {
	mu      sync.Mutex
	members map[string][]string
}

// forcedTrailOf is that of all tests of the package: a process has one log.
var forcedTrailOf = sync.OnceValue(func() *forcedTrail {
	f := &forcedTrail{members: map[string][]string{}}
	logf.SetLogger(funcr.NewJSON(f.add, funcr.Options{}))
	return f
})

func (f *forcedTrail) add(text string) {
	var line struct{ Msg, Allocation, Member string }
	if err := json.Unmarshal([]byte(text), &line); err != nil || line.Msg != "ForceReleased" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[line.Allocation] = append(f.members[line.Allocation], line.Member)
}

// of takes the members that are named for a record.
func (f *forcedTrail) of(record string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	members := f.members[record]
	delete(f.members, record)
	return members
}

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
			told.of("ns/forced")
			w.failAt = test.failing
			if _, err := w.Release(t.Context(), h, reasonsOf[blockForced](w, h)); errors.Is(err, errFailed) != (test.failing > 0) || err != nil && test.failing == 0 {
				t.Errorf("released: %v", err)
			}
			if got := told.of("ns/forced"); !slices.Equal(got, test.want) {
				t.Errorf("told of members %q, want %q", got, test.want)
			}
		})
	}
}

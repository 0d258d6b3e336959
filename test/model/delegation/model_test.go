// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"testing"
)

const (
	// walks are made with all rules, and mostWalks at most without one.
	walks     = 3_000
	mostWalks = 10_000
	steps     = 1000
)

// walk returns the step after which an address has two live claims; 0 for none.
func walk(w *world) (found int) {
	for n := 1; n <= steps; n++ {
		w.step()
		if _, _, is := w.double(); is {
			return n
		}
	}
	return 0
}

// TestNoAddressHasTwoClaims: whatever the walks do, each kind of step among it.
func TestNoAddressHasTwoClaims(t *testing.T) {
	t.Parallel()
	done := map[string]int{}
	for seed := range uint64(walks) {
		w := newWorld(seed, "")
		if n := walk(w); n != 0 {
			t.Fatalf("seed %d: an address has two claims after step %d", seed, n)
		}
		for name, count := range w.steps {
			done[name] += count
		}
	}
	const kinds = 22 // all but those that a rule forbids: repair and change
	if len(done) != kinds {
		t.Errorf("%d kinds of steps came to something, want %d: %v", len(done), kinds, done)
	}
	t.Log(fmt.Sprint(done))
}

// TestEachRuleIsNecessary: without it, an address has two claims.
func TestEachRuleIsNecessary(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 12; n++ {
		rule := fmt.Sprintf("P%d", n)
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(mostWalks) {
				if n := walk(newWorld(seed, rule)); n != 0 {
					t.Logf("two claims after walk %d, step %d", seed+1, n)
					return
				}
			}
			t.Errorf("no address has two claims in %d walks", mostWalks)
		})
	}
}

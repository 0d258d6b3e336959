// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"slices"
	"testing"
)

// controllers are the packages of controllers.
var controllers = []string{"internal/claim", "internal/ipclaim", "internal/pool"}

// belowControllers are the contracts that controllers fulfil, and what only needs those.
var belowControllers = []string{"internal/door", "internal/pools", "internal/entitlement", "internal/clusterapi", "internal/admission", "providers"}

// TestContractsAreBelowTheControllers checks that what only needs a contract knows no controller, nor anything that does.
func TestContractsAreBelowTheControllers(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, p := range packages(t) {
		i := slices.IndexFunc(belowControllers, func(dir string) bool { return under(p.name(), dir) })
		if i < 0 {
			continue
		}
		found[belowControllers[i]] = true
		for _, dep := range p.ownDeps() {
			if slices.Contains(controllers, dep) {
				t.Errorf("%s depends on the controller %s", p.name(), dep)
			}
		}
	}
	if len(found) != len(belowControllers) {
		t.Errorf("found only %v", found)
	}
}

// TestControllersDoNotKnowEachOther checks that.
func TestControllersDoNotKnowEachOther(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, dep := range p.ownDeps() {
			if slices.Contains(controllers, p.name()) && slices.Contains(controllers, dep) {
				t.Errorf("%s depends on the controller %s", p.name(), dep)
			}
		}
	}
}

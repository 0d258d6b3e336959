// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// TestOnlyTheWayOutProvesWhatIsGivenBack: what backs an address outside of the cluster is deleted
// for an external.Proof, and that is made where records are released.
func TestOnlyTheWayOutProvesWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	for path, file := range productionFiles(t) {
		if filepath.Base(filepath.Dir(path)) == "claimant" {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			selected, ok := node.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"ClaimReleased", "AddressReleased", "PoolReleased"}, selected.Sel.Name) {
				t.Errorf("%s makes an external.Proof; only package claimant may", path)
			}
			return true
		})
	}
}

// TestNeutronIsChangedInThreeFiles: floating IPs are created, and then tagged, in acquire.go, taken in
// stock.go, and deleted or described in giveback.go, each for what was judged there.
func TestNeutronIsChangedInThreeFiles(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"Create in acquire.go": 1, "Tag in acquire.go": 1, "Describe in stock.go": 1, "Describe in giveback.go": 3, "Delete in giveback.go": 1,
	}
	found := map[string]int{}
	for path, file := range productionFiles(t) {
		if filepath.Base(filepath.Dir(path)) != "openstack" {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			selected, ok := node.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Create", "Tag", "Describe", "Delete"}, selected.Sel.Name) {
				found[selected.Sel.Name+" in "+filepath.Base(path)]++
			}
			return true
		})
	}
	if !maps.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

// TestAddressesAreAcquiredInOneFile: what is chosen outside is recorded, and told to one claim, in
// the order of internal/claim/outside.go.
func TestAddressesAreAcquiredInOneFile(t *testing.T) {
	t.Parallel()
	allowed := filepath.Join("..", "..", "internal", "claim", "outside.go")
	found := map[string]int{}
	for path, file := range productionFiles(t) {
		ast.Inspect(file, func(node ast.Node) bool {
			selected, ok := node.(*ast.SelectorExpr)
			if !ok || selected.Sel.Name != "Acquire" && selected.Sel.Name != "Adopt" {
				return true
			}
			found[selected.Sel.Name]++
			if path != allowed {
				t.Errorf("%s calls %s", path, selected.Sel.Name)
			}
			return true
		})
	}
	if found["Acquire"] != 1 || found["Adopt"] != 1 {
		t.Errorf("found %v", found)
	}
}

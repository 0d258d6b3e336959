// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/ast"
	"path/filepath"
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
			if ok && (selected.Sel.Name == "ClaimReleased" || selected.Sel.Name == "AddressReleased") {
				t.Errorf("%s makes an external.Proof; only package claimant may", path)
			}
			return true
		})
	}
}

// TestNeutronIsChangedInTwoFiles: floating IPs are created in acquire.go, and deleted or described
// in giveback.go, for what was judged there.
func TestNeutronIsChangedInTwoFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{"Create": "acquire.go", "Delete": "giveback.go", "Describe": "giveback.go", "Tag": ""}
	found := 0
	for path, file := range productionFiles(t) {
		if filepath.Base(filepath.Dir(path)) != "openstack" {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			selected, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if allowed, isChange := files[selected.Sel.Name]; isChange {
				found++
				if filepath.Base(path) != allowed {
					t.Errorf("%s calls %s", path, selected.Sel.Name)
				}
			}
			return true
		})
	}
	if found != 3 {
		t.Errorf("found %d calls that change something", found)
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

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/ast"
	"path/filepath"
	"testing"
)

// TestWhatAPoolIsCarvedFromIsReadInOnePlace: a copy that was delegated to this cluster names a
// parent and has none. Package poolspec knows that, and Registry.Says tells all others. The checker
// knows it by itself.
func TestWhatAPoolIsCarvedFromIsReadInOnePlace(t *testing.T) {
	t.Parallel()
	found := 0
	for path, file := range productionFiles(t) {
		dir := filepath.Base(filepath.Dir(path))
		isPoolspec := dir == "poolspec"
		ast.Inspect(file, func(node ast.Node) bool {
			selected, ok := node.(*ast.SelectorExpr)
			switch {
			case !ok || selected.Sel.Name != "ParentRef":
			case isPoolspec:
				found++
			case dir != "v1alpha1" && dir != "fsck":
				t.Errorf("%s reads spec.parentRef", path)
			}
			return true
		})
	}
	if found == 0 {
		t.Error("nothing reads spec.parentRef")
	}
}

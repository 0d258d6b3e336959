// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// claimantFile is the parsed source of that name in package claimant.
func claimantFile(t *testing.T, name string) *ast.File {
	t.Helper()
	file := productionFiles(t)[filepath.Join("..", "..", "internal", "claimant", name)]
	if file == nil {
		t.Fatalf("there is no internal/claimant/%s", name)
	}
	return file
}

// proofTypes are the types in proofs.go that embed what all proofs have in common, and that.
func proofTypes(t *testing.T) map[string]bool {
	t.Helper()
	types := map[string]bool{"ofClaim": true, "ofRecord": true}
	ast.Inspect(claimantFile(t, "proofs.go"), func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if fields, isStruct := spec.Type.(*ast.StructType); isStruct {
			for _, field := range fields.Fields.List {
				if of, isNamed := field.Type.(*ast.Ident); isNamed && len(field.Names) == 0 && types[of.Name] {
					types[spec.Name.Name] = true
				}
			}
		}
		return false
	})
	return types
}

// literalOf returns the name of the type of a composite literal; "" if it has none, or no elements.
func literalOf(node ast.Node) string {
	literal, ok := node.(*ast.CompositeLit)
	if !ok || len(literal.Elts) == 0 {
		return ""
	}
	switch of := literal.Type.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	}
	return ""
}

// TestProofsAreMadeInOneFile: outside of package claimant the compiler sees to it, for their fields
// are not exported.
func TestProofsAreMadeInOneFile(t *testing.T) {
	t.Parallel()
	types := proofTypes(t)
	if len(types) < 10 {
		t.Fatalf("found no proofs: %v", types)
	}
	for path, file := range productionFiles(t) {
		if filepath.Base(filepath.Dir(path)) != "claimant" || filepath.Base(path) == "proofs.go" {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if name := literalOf(node); types[name] {
				t.Errorf("%s makes a proof, %s; only proofs.go may", path, name)
			}
			return true
		})
	}
}

// TestProofsAreMadeOfLiveReads: what an Exit reads by is a field Live, and nothing but its method
// Observe makes an Observation.
func TestProofsAreMadeOfLiveReads(t *testing.T) {
	t.Parallel()
	exits := 0
	for path, file := range productionFiles(t) {
		ast.Inspect(file, func(node ast.Node) bool {
			switch literalOf(node) {
			case "Observation":
				if filepath.Base(path) != "observation.go" {
					t.Errorf("%s makes an Observation; only Exit.Observe may", path)
				}
			case "Exit":
				exits++
				for _, element := range node.(*ast.CompositeLit).Elts {
					field, value := keyed(element)
					if reader, ok := value.(*ast.SelectorExpr); field == "Live" && (!ok || reader.Sel.Name != "Live") {
						t.Errorf("%s makes an Exit that does not read by a field Live", path)
					}
				}
			}
			return true
		})
	}
	if exits == 0 {
		t.Error("nothing makes an Exit")
	}
}

func keyed(element ast.Expr) (field string, value ast.Expr) {
	pair, ok := element.(*ast.KeyValueExpr)
	if !ok {
		return "", nil
	}
	if name, ok := pair.Key.(*ast.Ident); ok {
		field = name.Name
	}
	return field, pair.Value
}

// TestEachReasonIsInTheTable checks docs/design/ledger.md against the reasons of the code, and the
// proofs that they take.
func TestEachReasonIsInTheTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "design", "ledger.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, declared := range claimantFile(t, "reasons.go").Decls {
		reason, ok := declared.(*ast.FuncDecl)
		if !ok || reason.Recv != nil || !reason.Name.IsExported() {
			continue
		}
		found++
		proof := "none"
		if taken := reason.Type.Params.List; len(taken) > 0 {
			proof = fmt.Sprintf("`%s`", taken[0].Type)
			if !strings.Contains(string(page), "\n| "+proof+" |") {
				t.Errorf("the table of proofs lacks %s", proof)
			}
		}
		if row := fmt.Sprintf("\n| `%s` | %s", reason.Name, proof); !strings.Contains(string(page), row) {
			t.Errorf("the table of reasons lacks %q", strings.TrimSpace(row))
		}
	}
	if found < 10 {
		t.Errorf("found %d reasons", found)
	}
}

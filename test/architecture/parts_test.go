// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/types"
	"path/filepath"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/hack/moduletypes"
)

// mostMethods is how many methods a part of the book may have, promoted ones among them.
const mostMethods = 45

// bookTypes are the structs that package book declares.
func bookTypes(t *testing.T) map[*types.TypeName]*types.Struct {
	t.Helper()
	root := filepath.Join("..", "..")
	packages, err := moduletypes.New(root).Folder(filepath.Join(root, "internal", "book"), false)
	if err != nil {
		t.Fatal(err)
	}
	structs := map[*types.TypeName]*types.Struct{}
	scope := packages[0].Scope()
	for _, name := range scope.Names() {
		of, isType := scope.Lookup(name).(*types.TypeName)
		if !isType {
			continue
		}
		if fields, isStruct := of.Type().Underlying().(*types.Struct); isStruct {
			structs[of] = fields
		}
	}
	if len(structs) == 0 {
		t.Fatal("internal/book declares no structs")
	}
	return structs
}

// namedIn returns the name of the type that a field holds, or points at, or has elements of; nil if
// that has none.
func namedIn(t types.Type) *types.TypeName {
	switch t := t.(type) {
	case *types.Named:
		return t.Obj()
	case *types.Pointer:
		return namedIn(t.Elem())
	case *types.Slice:
		return namedIn(t.Elem())
	case *types.Map:
		return namedIn(t.Elem())
	}
	return nil
}

// TestPartsOfTheBookAreFields checks that no struct of the book is embedded in another, and that no
// type but Book, which passes questions on to its parts, has more methods than a reader can hold.
func TestPartsOfTheBookAreFields(t *testing.T) {
	t.Parallel()
	structs := bookTypes(t)
	for of, fields := range structs {
		for field := range fields.Fields() {
			if structs[namedIn(field.Type())] != nil && field.Embedded() {
				t.Errorf("%s embeds %s", of.Name(), field.Name())
			}
		}
		if n := len(moduletypes.Methods(of.Type())); n > mostMethods && of.Name() != "Book" {
			t.Errorf("%s has %d methods, more than %d", of.Name(), n, mostMethods)
		}
	}
}

// TestPartsOfTheBookUseOnlyThoseAboveThem checks that what a part has in its fields does not lead
// back to it.
func TestPartsOfTheBookUseOnlyThoseAboveThem(t *testing.T) {
	t.Parallel()
	structs := bookTypes(t)
	var leadsTo func(from, to *types.TypeName, seen map[*types.TypeName]bool) bool
	leadsTo = func(from, to *types.TypeName, seen map[*types.TypeName]bool) bool {
		if structs[from] == nil || seen[from] {
			return false
		}
		seen[from] = true
		for field := range structs[from].Fields() {
			if next := namedIn(field.Type()); next == to || leadsTo(next, to, seen) {
				return true
			}
		}
		return false
	}
	for of := range structs {
		if leadsTo(of, of, map[*types.TypeName]bool{}) {
			t.Errorf("the fields of %s lead back to it", of.Name())
		}
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

func TestMethodsOf(t *testing.T) {
	t.Parallel()
	sources := map[string]string{
		"a.go": "package p\ntype A struct{ *B; C }\nfunc (A) Own() {}\nfunc (*A) own() {}\n" +
			"type B struct{ C }\nfunc (*B) Get() {}\nfunc (*B) Own() {}\ntype C interface{ Close() }\ntype D A\n",
		"zz_generated.deepcopy.go": "package p\nfunc (*A) DeepCopy() {}\n",
	}
	files := token.NewFileSet()
	parsed := make([]*ast.File, 0, len(sources))
	for name, source := range sources {
		file, err := parser.ParseFile(files, name, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	p, err := new(types.Config).Check("p", files, parsed, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]methods{
		"A": {declared: 2, promoted: 2, exported: 3},
		"B": {declared: 2, promoted: 1, exported: 3},
		"D": {promoted: 3, exported: 3},
	} {
		named := p.Scope().Lookup(name).(*types.TypeName) //nolint:forcetypeassert // they are types
		if got := methodsOf(named, files); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

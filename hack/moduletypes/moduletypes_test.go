// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package moduletypes

import (
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// sources are a module in which claim.Reconciler embeds a type of another package, and one of
// another module.
var sources = map[string]string{
	"book/book.go":        "package book\ntype Book struct{ *rows; Name string }\ntype rows struct{ n int }\nfunc (*rows) Len() int { return 0 }\n",
	"claim/claim.go":      "package claim\nimport (\"elsewhere.org/client\"; \"" + Path + "/book\")\ntype Reconciler struct{ book.Book; client.Client }\nfunc (Reconciler) own() {}\n",
	"claim/claim_test.go": "package claim\nfunc TestOwn() {}\n",
	"claim/x_test.go":     "package claim_test\nfunc TestOther() {}\n",
	"out/old.go":          "package old\n",
	"testdata/x.go":       "package x\n",
}

func write(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for path, source := range sources {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestMembersArePromotedFromOtherPackages(t *testing.T) {
	t.Parallel()
	root := write(t)
	packages, err := New(root).Folder(filepath.Join(root, "claim"), false)
	if err != nil {
		t.Fatal(err)
	}
	reconciler := packages[0].Scope().Lookup("Reconciler").Type()
	want := []string{"Book", "Client", "Len", "Name", "n", "own", "rows"}
	if got := slices.Sorted(maps.Keys(Members(reconciler))); !slices.Equal(got, want) {
		t.Errorf("members: got %q, want %q", got, want)
	}
	names := func(all []types.Object) (names []string) {
		for _, object := range all {
			names = append(names, object.Name())
		}
		return names
	}
	if got := names(Methods(reconciler)); !slices.Equal(got, []string{"Len", "own"}) {
		t.Errorf("methods: got %q", got)
	}
}

func TestFolderWithTests(t *testing.T) {
	t.Parallel()
	root := write(t)
	packages, err := New(root).Folder(filepath.Join(root, "claim"), true)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, p := range packages {
		for _, name := range p.Scope().Names() {
			declared[name] = true
		}
	}
	if got := slices.Sorted(maps.Keys(declared)); !slices.Equal(got, []string{"Reconciler", "TestOther", "TestOwn"}) {
		t.Errorf("got %q", got)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	root := write(t)
	got, err := Folders(root)
	want := []string{filepath.Join(root, "book"), filepath.Join(root, "claim")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

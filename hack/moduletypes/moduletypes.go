// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package moduletypes reads what the module's packages declare, from source. It leaves out the
// bodies of functions, and what packages of other modules declare: a type from there has no fields
// and methods. So it needs neither compiled packages nor seconds.
package moduletypes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Path is the module's path.
const Path = "github.com/weir-ipam/cluster-api-ipam-provider-weir"

// Module reads packages. Each is read once.
type Module struct {
	// Files has the positions of what is declared.
	Files    *token.FileSet
	root     string
	packages map[string]*types.Package
}

// New returns the module in a folder.
func New(root string) *Module {
	return &Module{Files: token.NewFileSet(), root: root, packages: map[string]*types.Package{}}
}

// Import implements types.Importer. Packages of other modules are empty.
func (m *Module) Import(path string) (*types.Package, error) {
	if p := m.packages[path]; p != nil {
		return p, nil
	}
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	if folder, ok := strings.CutPrefix(path+"/", Path+"/"); ok {
		files, err := m.parse(filepath.Join(m.root, folder), func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
		if err != nil {
			return nil, err
		}
		p = m.check(path, files)
	}
	p.MarkComplete()
	m.packages[path] = p
	return p, nil
}

// Folder returns the package in a folder, and where tests is set also that package with its tests,
// and the package of its external tests.
func (m *Module) Folder(folder string, tests bool) ([]*types.Package, error) {
	relative, err := filepath.Rel(m.root, folder)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(Path+"/"+filepath.ToSlash(relative), "/.")
	p, err := m.Import(path)
	if err != nil || !tests {
		return []*types.Package{p}, err
	}
	files, err := m.parse(folder, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	byName := map[string][]*ast.File{}
	for _, file := range files {
		byName[file.Name.Name] = append(byName[file.Name.Name], file)
	}
	all := []*types.Package{p}
	for _, files := range byName {
		all = append(all, m.check(path, files))
	}
	return all, nil
}

// parse reads the Go files of a folder whose names are wanted.
func (m *Module) parse(folder string, isWanted func(name string) bool) ([]*ast.File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".go") || !isWanted(entry.Name()) {
			continue
		}
		file, err := parser.ParseFile(m.Files, filepath.Join(folder, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// check returns what files declare. There are errors wherever other modules' types are needed.
func (m *Module) check(path string, files []*ast.File) *types.Package {
	config := types.Config{Importer: m, IgnoreFuncBodies: true, Error: func(error) {}}
	p, _ := config.Check(path, m.Files, files, nil)
	return p
}

// Folders returns the folders of Go packages in a folder and below it, without what is built (out)
// and what is no package for "go list" either.
func Folders(root string) ([]string, error) {
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && isNoPackage(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			if files, _ := filepath.Glob(filepath.Join(path, "*.go")); len(files) > 0 {
				folders = append(folders, path)
			}
		}
		return nil
	})
	return folders, err
}

func isNoPackage(folder string) bool {
	return folder == "out" || folder == "testdata" || strings.HasPrefix(folder, ".")
}

// Members returns the fields and methods of a type by name, promoted ones among them.
func Members(t types.Type) map[string]types.Object {
	members := map[string]types.Object{}
	addFields(members, t)
	for _, method := range Methods(t) {
		members[method.Name()] = method
	}
	return members
}

// addFields adds a type's fields, and those of the structs that it embeds.
func addFields(members map[string]types.Object, t types.Type) {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	structure, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for field := range structure.Fields() {
		if members[field.Name()] == nil {
			members[field.Name()] = field
			if field.Embedded() {
				addFields(members, field.Type())
			}
		}
	}
}

// Methods returns the methods of a type and of pointers to it, promoted ones among them.
func Methods(t types.Type) []types.Object {
	if _, isPointer := t.(*types.Pointer); !isPointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	var methods []types.Object
	for method := range types.NewMethodSet(t).Methods() {
		methods = append(methods, method.Obj())
	}
	return methods
}

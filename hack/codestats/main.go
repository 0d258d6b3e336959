// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command codestats measures the production code of folders of Go packages:
// lines of code for each package, lengths of functions, and the types with the
// most methods. A type's methods are those declared on it, and those promoted
// from what it embeds, of whatever package of the module. A line of code has
// something on it that is no comment; tests and generated files are left out.
//
//	codestats [FOLDER...]    default: internal
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/hack/moduletypes"
)

// mostMethods is how many types are shown.
const mostMethods = 10

func main() {
	folders := os.Args[1:]
	if len(folders) == 0 {
		folders = []string{"internal"}
	}
	s := stats{lines: map[string]int{}, methods: map[string]methods{}}
	for _, folder := range folders {
		if err := errors.Join(s.readFolder(folder), s.countMethods(folder)); err != nil {
			fmt.Fprintln(os.Stderr, "codestats:", err)
			os.Exit(1)
		}
	}
	if len(s.functions) == 0 {
		fmt.Fprintln(os.Stderr, "codestats: no functions in", strings.Join(folders, ", "))
		os.Exit(1)
	}
	s.print()
}

// stats are what was counted: lines by package, methods by type (package.Type), and the lengths of
// all functions.
type stats struct {
	lines     map[string]int
	methods   map[string]methods
	functions []int
}

// methods counts those of a type.
type methods struct{ declared, promoted, exported int }

func (m methods) reachable() int { return m.declared + m.promoted }

func (s *stats) readFolder(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			isGenerated(path) {
			return err
		}
		return s.readFile(path)
	})
}

func isGenerated(path string) bool { return strings.HasPrefix(filepath.Base(path), "zz_generated") }

func (s *stats) readFile(path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	code := codeLines(source)
	pkg := filepath.Dir(path)
	s.lines[pkg] += len(code)
	for _, decl := range file.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first, last := files.Position(function.Pos()).Line, files.Position(function.End()).Line
		from, _ := slices.BinarySearch(code, first)
		to, _ := slices.BinarySearch(code, last+1)
		s.functions = append(s.functions, to-from)
	}
	return nil
}

// codeLines returns the numbers of the lines that have code on them, in order.
func codeLines(source []byte) []int {
	var lexer scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	lexer.Init(file, source, nil, 0)
	var lines []int
	for {
		position, tok, literal := lexer.Scan()
		if tok == token.EOF {
			return slices.Compact(lines)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(position)
		for line := first; line <= first+strings.Count(literal, "\n"); line++ {
			lines = append(lines, line)
		}
	}
}

// countMethods counts the methods of the types in a folder and below it.
func (s *stats) countMethods(folder string) error {
	folders, err := moduletypes.Folders(folder)
	if err != nil {
		return err
	}
	module := moduletypes.New(".")
	for _, folder := range folders {
		packages, err := module.Folder(folder, false)
		if err != nil {
			return err
		}
		for _, name := range packages[0].Scope().Names() {
			if named, ok := packages[0].Scope().Lookup(name).(*types.TypeName); ok && !named.IsAlias() {
				s.methods[folder+"."+name] = methodsOf(named, module.Files)
			}
		}
	}
	return nil
}

// methodsOf counts the methods of a type. What is declared in another place than on the type is
// promoted.
func methodsOf(named *types.TypeName, files *token.FileSet) methods {
	var m methods
	for _, method := range moduletypes.Methods(named.Type()) {
		if isGenerated(files.Position(method.Pos()).Filename) {
			continue
		}
		if method.Exported() {
			m.exported++
		}
		if receiverOf(method) == named {
			m.declared++
		} else {
			m.promoted++
		}
	}
	return m
}

// receiverOf returns the type that a method is declared on.
func receiverOf(method types.Object) *types.TypeName {
	receiver := method.Type().(*types.Signature).Recv().Type() //nolint:forcetypeassert // methods have signatures
	if pointer, ok := receiver.(*types.Pointer); ok {
		receiver = pointer.Elem()
	}
	if named, ok := receiver.(*types.Named); ok {
		return named.Obj()
	}
	return nil
}

func (s *stats) print() {
	total := 0
	for _, pkg := range byCount(s.lines, func(n int) int { return n }) {
		fmt.Printf("%6d lines of code in %s\n", s.lines[pkg], pkg)
		total += s.lines[pkg]
	}
	fmt.Printf("%6d lines of code in all\n", total)
	slices.Sort(s.functions)
	at := func(percent int) int { return s.functions[(len(s.functions)-1)*percent/100] }
	fmt.Printf("%6d functions: median %d, p90 %d, maximum %d lines\n", len(s.functions), at(50), at(90), at(100))
	for _, of := range byCount(s.methods, methods.reachable)[:min(mostMethods, len(s.methods))] {
		m := s.methods[of]
		fmt.Printf("%6d methods of %s: %d declared on it, %d promoted; %d exported\n", m.reachable(), of, m.declared, m.promoted, m.exported)
	}
}

// byCount returns the keys, the largest count first.
func byCount[V any](values map[string]V, count func(V) int) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(count(values[b]), count(values[a])), strings.Compare(a, b))
	})
}

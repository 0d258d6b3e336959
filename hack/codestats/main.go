// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command codestats measures the production code of folders of Go packages:
// lines of code for each package, lengths of functions, and methods of the
// types that have the most. A line of code has something on it that is no
// comment; tests and generated files are left out.
//
//	codestats [FOLDER...]    default: internal
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostMethods is how many types are shown.
const mostMethods = 5

func main() {
	folders := os.Args[1:]
	if len(folders) == 0 {
		folders = []string{"internal"}
	}
	s := stats{lines: map[string]int{}, methods: map[string]int{}, exported: map[string]int{}}
	for _, folder := range folders {
		if err := s.readFolder(folder); err != nil {
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

// stats are what was counted: lines by package, methods by type (package.Type), and the lengths of all functions.
type stats struct {
	lines, methods, exported map[string]int
	functions                []int
}

func (s *stats) readFolder(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(entry.Name(), "zz_generated") {
			return err
		}
		return s.readFile(path)
	})
}

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
		if receiver := receiverOf(function); receiver != "" {
			s.methods[pkg+"."+receiver]++
			if function.Name.IsExported() {
				s.exported[pkg+"."+receiver]++
			}
		}
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

// receiverOf returns the name of the type that a method is of.
func receiverOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	of := function.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func (s *stats) print() {
	total := 0
	for _, pkg := range byCount(s.lines) {
		fmt.Printf("%6d lines of code in %s\n", s.lines[pkg], pkg)
		total += s.lines[pkg]
	}
	fmt.Printf("%6d lines of code in all\n", total)
	slices.Sort(s.functions)
	at := func(percent int) int { return s.functions[(len(s.functions)-1)*percent/100] }
	fmt.Printf("%6d functions: median %d, p90 %d, maximum %d lines\n", len(s.functions), at(50), at(90), at(100))
	for _, of := range byCount(s.methods)[:min(mostMethods, len(s.methods))] {
		fmt.Printf("%6d methods of %s, %d exported\n", s.methods[of], of, s.exported[of])
	}
}

// byCount returns the keys, the largest count first.
func byCount(counts map[string]int) []string {
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	return keys
}

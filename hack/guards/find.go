// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kind is what a guard is.
type kind string

const (
	// operand of && counts as true, of || as false.
	operand kind = "operand"
	// condition of an if is never met.
	condition kind = "if"
	// alternative of a switch without a tag is never met.
	alternative kind = "case"
	// liveRead goes to the cache instead: to the field Client beside Live.
	liveRead kind = "live"
	// precondition of a write is left out.
	precondition kind = "version"
)

// guard is one place of a source that can be taken away.
type guard struct {
	number   int
	file     string
	line     int
	function string
	kind     kind
	text     string
}

func (g guard) String() string {
	return fmt.Sprintf("%s:%d %s %s `%s`", g.file, g.line, g.function, g.kind, g.text)
}

// source is a Go file with its guards.
type source struct {
	file   string
	pkg    string
	guards []guard

	text     []byte
	files    *token.FileSet
	function string
	first    int
	edits    []edit
	// flattened are the operations that are part of a longer one of the same operator, and assigned what is assigned to.
	flattened, assigned map[ast.Node]bool
}

// edit puts code around a part of the text.
type edit struct {
	from, to      int
	before, after string
}

// readSource finds the guards of a file. Their numbers follow those that were given before.
func readSource(root, file string, given int) (*source, error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil, err
	}
	s := &source{
		file: filepath.ToSlash(file), text: text, files: token.NewFileSet(), first: given,
		flattened: map[ast.Node]bool{}, assigned: map[ast.Node]bool{},
	}
	parsed, err := parser.ParseFile(s.files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s.pkg = parsed.Name.Name
	for _, decl := range parsed.Decls {
		s.function = nameOf(decl)
		ast.Inspect(decl, s.visit)
	}
	return s, nil
}

// nameOf is the name of a function or method, or of what else is declared first.
func nameOf(decl ast.Decl) string {
	function, isFunction := decl.(*ast.FuncDecl)
	switch {
	case !isFunction:
		return firstName(decl)
	case function.Recv == nil:
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if star, isStar := receiver.(*ast.StarExpr); isStar {
		receiver = star.X
	}
	name, _ := receiver.(*ast.Ident)
	if name == nil {
		return function.Name.Name
	}
	return name.Name + "." + function.Name.Name
}

func firstName(decl ast.Decl) string {
	if general, _ := decl.(*ast.GenDecl); general != nil && len(general.Specs) > 0 {
		if value, isValue := general.Specs[0].(*ast.ValueSpec); isValue {
			return value.Names[0].Name
		}
	}
	return "-"
}

func (s *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		s.never(condition, n.Cond)
	case *ast.SwitchStmt:
		s.alternatives(n)
	case *ast.BinaryExpr:
		s.operands(n)
	case *ast.SelectorExpr:
		if n.Sel.Name == "Live" && !s.assigned[n] {
			s.add(liveRead, n, s.textOf(n), "guardsPick(%d, ", ", "+s.textOf(n.X)+".Client)")
		}
	case *ast.CompositeLit:
		s.preconditions(n)
	case *ast.AssignStmt:
		s.assignment(n)
	case *ast.CallExpr:
		s.lockedPatch(n)
	}
	return true
}

// never adds a condition that is not met without the guard.
func (s *source) never(what kind, cond ast.Expr) {
	s.add(what, cond, s.textOf(cond), "!guardsOff(%d) && (", ")")
}

func (s *source) alternatives(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, clause := range n.Body.List {
		if clause, isClause := clause.(*ast.CaseClause); isClause {
			for _, cond := range clause.List {
				s.never(alternative, cond)
			}
		}
	}
}

func (s *source) operands(n *ast.BinaryExpr) {
	if n.Op != token.LAND && n.Op != token.LOR || s.flattened[n] {
		return
	}
	for _, x := range s.flatten(n, n.Op) {
		text := s.textOf(x) + "` of `" + s.textOf(n)
		if n.Op == token.LAND {
			s.add(operand, x, text, "(guardsOff(%d) || (", "))")
		} else {
			s.add(operand, x, text, "(!guardsOff(%d) && (", "))")
		}
	}
}

// flatten returns the operands of a chain of one operator.
func (s *source) flatten(x ast.Expr, op token.Token) []ast.Expr {
	binary, isBinary := x.(*ast.BinaryExpr)
	if !isBinary || binary.Op != op {
		return []ast.Expr{x}
	}
	s.flattened[binary] = true
	return append(s.flatten(binary.X, op), s.flatten(binary.Y, op)...)
}

// preconditions are those of a delete, and those in a patch that is written as a map.
func (s *source) preconditions(n *ast.CompositeLit) {
	selector, _ := n.Type.(*ast.SelectorExpr)
	isPreconditions := selector != nil && selector.Sel.Name == "Preconditions"
	for _, element := range n.Elts {
		pair, isPair := element.(*ast.KeyValueExpr)
		if !isPair {
			continue
		}
		if _, isField := pair.Key.(*ast.Ident); isField && isPreconditions || isVersion(pair.Key) {
			s.leftOut(pair, pair.Value)
		}
	}
}

// assignment finds the version, or UID, that a patch names.
func (s *source) assignment(n *ast.AssignStmt) {
	for i, left := range n.Lhs {
		s.assigned[left] = true
		if len(n.Lhs) != len(n.Rhs) {
			continue
		}
		if _, isLiteral := n.Rhs[i].(*ast.BasicLit); isLiteral {
			continue
		}
		index, isIndex := left.(*ast.IndexExpr)
		if isIndex && isVersion(index.Index) || s.isMetadataVersion(left) {
			s.leftOut(left, n.Rhs[i])
		}
	}
}

// isVersion reports whether a key of a map names what a write is conditional on.
func isVersion(key ast.Expr) bool {
	literal, isLiteral := key.(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return false
	}
	name, err := strconv.Unquote(literal.Value)
	return err == nil && (name == "resourceVersion" || name == "uid")
}

func (s *source) isMetadataVersion(x ast.Expr) bool {
	text := s.textOf(x)
	return strings.HasSuffix(text, ".Metadata.UID") || strings.HasSuffix(text, ".Metadata.ResourceVersion")
}

func (s *source) leftOut(what ast.Node, value ast.Expr) {
	s.add(precondition, value, s.textOf(what), "guardsNone(%d, ", ")")
}

// lockedPatch is a patch that names the version of what it was made from.
func (s *source) lockedPatch(n *ast.CallExpr) {
	called := s.textOf(n.Fun)
	if len(n.Args) > 0 && (called == "lockedMerge" || called == "client.MergeFromWithOptions") {
		s.add(precondition, n, s.textOf(n), "guardsPick(%d, ", ", client.MergeFrom("+s.textOf(n.Args[0])+"))")
	}
}

// add adds a guard. Before has its number as %d. Of several that look alike in a function the later ones are numbered.
func (s *source) add(what kind, n ast.Node, text, before, after string) {
	number := s.first + len(s.guards) + 1
	g := guard{number: number, file: s.file, line: s.files.Position(n.Pos()).Line, function: s.function, kind: what, text: text}
	for again := 2; slices.ContainsFunc(s.guards, func(other guard) bool { return other.key() == g.key() }); again++ {
		g.text = fmt.Sprintf("%s (%d)", text, again)
	}
	s.guards = append(s.guards, g)
	s.edits = append(s.edits, edit{s.offset(n.Pos()), s.offset(n.End()), fmt.Sprintf(before, number), after})
}

func (s *source) offset(p token.Pos) int { return s.files.Position(p).Offset }

// textOf is the code of a node in one line.
func (s *source) textOf(n ast.Node) string {
	return strings.Join(strings.Fields(string(s.text[s.offset(n.Pos()):s.offset(n.End())])), " ")
}

// woven returns the text with a switch at each guard.
func (s *source) woven() []byte {
	type piece struct {
		at, length int
		closes     bool
		text       string
	}
	pieces := make([]piece, 0, 2*len(s.edits))
	for _, e := range s.edits {
		pieces = append(pieces, piece{e.from, e.to - e.from, false, e.before}, piece{e.to, e.to - e.from, true, e.after})
	}
	slices.SortStableFunc(pieces, func(a, b piece) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.closes != b.closes && a.closes:
			return -1
		case a.closes != b.closes:
			return 1
		case a.closes: // the inner one closes first
			return a.length - b.length
		}
		return b.length - a.length
	})
	var out []byte
	last := 0
	for _, p := range pieces {
		out = append(append(out, s.text[last:p.at]...), p.text...)
		last = p.at
	}
	return append(out, s.text[last:]...)
}

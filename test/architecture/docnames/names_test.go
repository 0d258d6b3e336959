// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package docnames

import (
	"go/ast"
	"go/parser"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/hack/moduletypes"
)

// names are what the module's packages declare, their tests included.
type names struct {
	packages map[string][]*types.Package
	types    map[string][]types.Type
	// imports are the names of other packages that the module imports: what they declare is not
	// known.
	imports map[string]bool
	// functions has methods, too, and members has the fields and methods of all types, promoted
	// ones among them.
	functions, members map[string]bool
	// fields are the names that fields of API types have in YAML.
	fields map[string]bool
}

func newNames() *names {
	return &names{
		packages: map[string][]*types.Package{}, types: map[string][]types.Type{}, imports: map[string]bool{},
		functions: map[string]bool{}, members: map[string]bool{}, fields: map[string]bool{},
	}
}

func loadNames(t *testing.T) *names {
	t.Helper()
	folders, err := moduletypes.Folders(root)
	if err != nil {
		t.Fatal(err)
	}
	n, module := newNames(), moduletypes.New(root)
	for _, folder := range folders {
		declared, err := module.Folder(folder, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range declared {
			n.add(p)
		}
	}
	return n
}

// add takes in a package of the module.
func (n *names) add(p *types.Package) {
	n.packages[p.Name()] = append(n.packages[p.Name()], p)
	for _, imported := range p.Imports() {
		if !strings.HasPrefix(imported.Path(), moduletypes.Path) {
			n.imports[imported.Name()] = true
		}
	}
	for _, name := range p.Scope().Names() {
		switch object := p.Scope().Lookup(name).(type) {
		case *types.Func:
			n.functions[name] = true
		case *types.TypeName:
			n.types[name] = append(n.types[name], object.Type())
			for member := range moduletypes.Members(object.Type()) {
				n.members[member], n.functions[member] = true, true
			}
			if strings.HasPrefix(p.Path(), moduletypes.Path+"/api/") {
				n.addFields(object.Type())
			}
		}
	}
}

// addFields takes in the names of an API type's fields.
func (n *names) addFields(t types.Type) {
	structure, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i := range structure.NumFields() {
		name, _, _ := strings.Cut(reflect.StructTag(structure.Tag(i)).Get("json"), ",")
		n.fields[name] = true
	}
}

// codeNames returns the names that a span selects or calls, as chains: `a.B(c.D).E` has [a B E] and
// [c D]. A span is a Go expression, or an assignment such as `x, err := a.B()`; "(...)" stands for
// any arguments. What is no such thing, or neither selects nor calls, has none.
func codeNames(span string) [][]string {
	if _, right, ok := strings.Cut(span, " := "); ok {
		span = right
	}
	parsed, err := parser.ParseExpr(strings.ReplaceAll(span, "(...)", "()"))
	if err != nil {
		return nil
	}
	var chains [][]string
	switch parsed.(type) {
	case *ast.SelectorExpr, *ast.CallExpr, *ast.CompositeLit:
		ast.Walk(chainVisitor{&chains}, parsed)
	}
	return chains
}

// chainVisitor collects chains of names.
type chainVisitor struct{ chains *[][]string }

// Visit implements ast.Visitor.
func (v chainVisitor) Visit(node ast.Node) ast.Visitor {
	switch e := node.(type) {
	case *ast.SelectorExpr, *ast.CallExpr:
		*v.chains = append(*v.chains, v.chain(e.(ast.Expr))) //nolint:forcetypeassert // both are
		return nil
	}
	return v
}

// chain returns the names of an expression. The chains of arguments are collected on the way. An
// expression that has no name is "".
func (v chainVisitor) chain(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.Ident:
		return []string{e.Name}
	case *ast.SelectorExpr:
		return append(v.chain(e.X), e.Sel.Name)
	case *ast.CallExpr:
		for _, argument := range e.Args {
			ast.Walk(v, argument)
		}
		return v.chain(e.Fun)
	default:
		ast.Walk(v, e)
		return []string{""}
	}
}

func isUpper(name string) bool { return name != "" && unicode.IsUpper(rune(name[0])) }

// isName reports whether a chain is a name of code, and not the path of a field or a group:
//
//   - a single name, since it is called;
//   - if a part after its first begins with an upper-case letter;
//   - `T.m` of two parts, unless m is an object's spec, status or metadata;
//   - `p.f` of two parts if p is a package or a type of the module, but for paths of API fields.
func (n *names) isName(chain []string) bool {
	first, rest := chain[0], chain[1:]
	switch {
	case len(rest) == 0 || slices.ContainsFunc(rest, isUpper):
		return true
	case len(rest) > 1:
		return false
	case isUpper(first):
		return !slices.Contains([]string{"spec", "status", "metadata"}, rest[0])
	case n.fields[first] && (n.fields[rest[0]] || n.packages[first] == nil):
		return false
	default:
		return n.packages[first] != nil || n.types[first] != nil
	}
}

// has reports whether a chain exists. Its first part is a package or a type. A name that is no
// package of the module may also be another package's, of which nothing is known, or a variable's:
// then the others are members of any of the module's types.
func (n *names) has(chain []string) bool {
	first, rest := chain[0], chain[1:]
	if len(rest) == 0 {
		return n.functions[first] || n.types[first] != nil
	}
	for _, p := range n.packages[first] {
		if object := p.Scope().Lookup(rest[0]); object != nil && hasMembers(object.Type(), rest[1:]) {
			return true
		}
	}
	for _, t := range n.types[first] {
		if hasMembers(t, rest) {
			return true
		}
	}
	if n.packages[first] != nil || isUpper(first) || !isUpper(rest[0]) {
		return false
	}
	return n.imports[first] || !slices.ContainsFunc(rest, func(name string) bool { return !n.members[name] })
}

// hasMembers reports whether a type has a member of the first name, whose type has the next.
func hasMembers(t types.Type, chain []string) bool {
	if len(chain) == 0 {
		return true
	}
	if signature, ok := t.(*types.Signature); ok && signature.Results().Len() > 0 {
		t = signature.Results().At(0).Type()
	}
	member := moduletypes.Members(t)[chain[0]]
	return member != nil && hasMembers(member.Type(), chain[1:])
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// eventsOnly are constants that no condition has.
var eventsOnly = sets.New("BlockForceReleasedReason", "FloatingIPMissingReason", "FloatingIPReleasedReason", "FloatingIPsLeftReason", "SiblingCreatedReason")

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestEachReasonOfTheAPIIsExplained, and what is explained is a constant of the API.
func TestEachReasonOfTheAPIIsExplained(t *testing.T) {
	t.Parallel()
	declared := sets.New[string]()
	ast.Inspect(parse(t, "../../api/v1alpha1/conditions.go"), func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && strings.HasSuffix(spec.Names[0].Name, "Reason") {
			declared.Insert(spec.Names[0].Name)
		}
		return true
	})
	explained := sets.New[string]()
	for _, path := range []string{"claims.go", "pools.go"} {
		ast.Inspect(parse(t, path), func(node ast.Node) bool {
			field, ok := node.(*ast.KeyValueExpr)
			if !ok || field.Key.(*ast.Ident).Name != "Name" {
				return true
			}
			constant, ok := field.Value.(*ast.SelectorExpr)
			if !ok {
				t.Errorf("%s: a name of a reason is no constant of the API", path)
				return true
			}
			if constant.X.(*ast.Ident).Name == "ipamv1" {
				explained.Insert(constant.Sel.Name)
			}
			return true
		})
	}
	if len(declared) == 0 {
		t.Fatal("found no reason in the API")
	}
	if missing := declared.Difference(explained).Difference(eventsOnly); len(missing) > 0 {
		t.Errorf("not explained: %v", sets.List(missing))
	}
}

// TestReasonsAreFoundOnce with a meaning, and with something to do if Ready is false.
func TestReasonsAreFoundOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range All {
		for i := range c.Reasons {
			r := &c.Reasons[i]
			key := string(c.Subject) + " " + c.Type + " " + r.Name
			if seen[key] || Find(c.Subject, c.Type, r.Name) != r {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
			if !strings.HasSuffix(r.Means, ".") || c.Means == "" || r.Status == "" {
				t.Errorf("%s lacks a meaning or a status", key)
			}
			if c.Type == "Ready" && r.IsGood() != (r.Status == metav1.ConditionTrue) {
				t.Errorf("%s: a reason of Ready is good news if Ready is True", key)
			}
		}
	}
	if Find(Pools, "Ready", "Allocated") != nil || Find(Claims, "Ready", "") != nil {
		t.Error("found a reason that is none of the condition's")
	}
}

// TestReadyOfClaimsSendsToNoProvidersPage: claims of any kind of pool have these reasons, and a pool without a cloud has nothing to do with one.
func TestReadyOfClaimsSendsToNoProvidersPage(t *testing.T) {
	t.Parallel()
	found := 0
	for _, c := range All {
		if c.Subject != Claims || c.Type != "Ready" {
			continue
		}
		for _, r := range c.Reasons {
			found++
			if strings.HasPrefix(r.See, "guides/openstack.md") {
				t.Errorf("%s sends to %s", r.Name, r.See)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d reasons were read", found)
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// TestPagesThatReasonsNameExist with their headings.
func TestPagesThatReasonsNameExist(t *testing.T) {
	t.Parallel()
	named := map[string]bool{Unreported.See: true}
	for _, c := range All {
		for _, r := range c.Reasons {
			named[r.See] = true
		}
	}
	delete(named, "")
	for _, see := range slices.Sorted(maps.Keys(named)) {
		path, anchor, hasAnchor := strings.Cut(see, "#")
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", path))
		if err != nil {
			t.Error(err)
			continue
		}
		headings := heading.FindAllStringSubmatch(string(text), -1)
		anchors := make([]string, 0, len(headings))
		for _, match := range headings {
			anchors = append(anchors, strings.ReplaceAll(strings.ToLower(strings.NewReplacer(":", "", ",", "", "`", "").Replace(match[1])), " ", "-"))
		}
		if hasAnchor && !slices.Contains(anchors, anchor) {
			t.Errorf("docs/%s has no heading %q", path, anchor)
		}
	}
}

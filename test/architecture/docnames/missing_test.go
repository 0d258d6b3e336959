// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package docnames

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

const claimSource = `package claim

type Reconciler struct {
	*store
	Options Options
}

type store struct{ rows []int }

func (s *store) release() error { return nil }

type Options struct{ Doors []string }

func New(o Options) *Reconciler { return nil }

func TestRelease() {}
`

func TestMissing(t *testing.T) {
	t.Parallel()
	code := newNames()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "claim.go", claimSource, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim, err := new(types.Config).Check("claim", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	code.add(claim)
	code.imports["netip"], code.fields["network"] = true, true
	tests := map[string][]string{
		// Names that exist.
		"Reconciler.release": nil, "Reconciler.rows": nil, "claim.Reconciler.release": nil, "claim.New": nil, "claim.store": nil,
		"reconciler.Options.Doors": nil, "claim.New(claim.Options{}).Options": nil, "release()": nil, "netip.Addr.String": nil,
		"TestRelease": nil, "go test -run TestRelease ./hack/...": nil, "hack/mutants/*.patch": nil, "claim.go": nil, "docs/testing.md": nil,
		// Names that do not.
		"Reconciler.retain": {"Reconciler.retain"}, "claim.release": {"claim.release"}, "claim.Retain": {"claim.Retain"},
		"Ledger.Reserve": {"Ledger.Reserve"}, "x, err := claim.Old(...)": {"claim.Old"}, "New(reconciler.Gone)": {"reconciler.Gone"},
		"retain(x)": {"retain"}, "TestGone": {"TestGone"}, "gone.go": {"gone.go"}, "internal/gone": {"internal/gone"},
		"go run ./hack/gone -x": {"./hack/gone"}, "Reconciler.Options.Gone": {"Reconciler.Options.Gone"},
		// No names of code.
		"spec.cidr": nil, "network.devices": nil, "status.conditions": nil, "IPPool.spec": nil, "IPPool.ipam.metal3.io": nil, "tls.crt": nil,
		"ipam.weir.dev/project: blue": nil, "kubectl get ippools -A": nil, "claim.yaml": nil, "--leader-elect": nil, "10.0.0.0/8": nil,
		"config/<name>": nil, "Gone": nil, "a list, and b.C": nil, "out/test-e2e.json": nil, "clientConfig.caBundle": nil,
	}
	for span, want := range tests {
		if got := missing(span, code, map[string]bool{"claim.go": true}); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", span, got, want)
		}
	}
}

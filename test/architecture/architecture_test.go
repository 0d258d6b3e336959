// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package architecture checks which way the module's packages import each
// other, over what the compiler sees and not over single import lines.
package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weir-ipam/cluster-api-ipam-provider-weir"

// purePackages know no Kubernetes, no context and no clock: time enters as a
// value.
var purePackages = []string{"internal/ipspace", "internal/allocator", "internal/pile", "internal/pooltree"}

// pkg is a package of the module, as "go list -json" shows it.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// name returns the package's path within the module; "" is its main package.
func (p pkg) name() string { return inModule(p.ImportPath) }

func inModule(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

func isModule(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// under reports whether a package path within the module is dir or below it.
func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,Deps", module+"/...").Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var all []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("decoding packages: %v", err)
		}
		all = append(all, p)
	}
}

// ownDeps returns what the package depends on within the module.
func (p pkg) ownDeps() []string {
	var deps []string
	for _, dep := range p.Deps {
		if isModule(dep) {
			deps = append(deps, inModule(dep))
		}
	}
	return deps
}

func TestPurePackagesStayPure(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !slices.Contains(purePackages, p.name()) {
			continue
		}
		for _, imported := range p.Imports {
			if imported == "context" || imported == "time" {
				t.Errorf("%s is pure and imports %s", p.name(), imported)
			}
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, "k8s.io/") || strings.HasPrefix(dep, "sigs.k8s.io/") {
				t.Errorf("%s is pure and depends on %s", p.name(), dep)
			}
			if isModule(dep) && !slices.Contains(purePackages, inModule(dep)) {
				t.Errorf("%s is pure and depends on %s, which is not", p.name(), inModule(dep))
			}
		}
	}
}

func TestAPIDependsOnNothingOfTheModule(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !under(p.name(), "api") {
			continue
		}
		for _, dep := range p.ownDeps() {
			if !under(dep, "api") {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
}

// TestProvidersAreLeaves checks that providers do not know each other and that
// internal packages, but for the wiring in setup, do not know providers.
func TestProvidersAreLeaves(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		isInternal := under(p.name(), "internal") && !under(p.name(), "internal/setup")
		for _, dep := range p.ownDeps() {
			if !under(dep, "providers") {
				continue
			}
			if isInternal || provider(p.name()) != "" && provider(p.name()) != provider(dep) {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
}

// provider returns the provider that a package belongs to, or "".
func provider(name string) string {
	rest, ok := strings.CutPrefix(name, "providers/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

func TestSetupIsImportedByMainOnly(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.name() == "" || under(p.name(), "internal/setup") || under(p.name(), "test") {
			continue
		}
		if slices.Contains(p.ownDeps(), "internal/setup") {
			t.Errorf("%s depends on internal/setup", p.name())
		}
	}
}

func TestTestPackagesAreImportedByTestsOnly(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if under(p.name(), "test") {
			continue
		}
		for _, dep := range p.ownDeps() {
			if under(dep, "test") {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
}

// TestCheckerIsIndependent keeps the framework, with its checker, from sharing
// the code that it checks.
func TestCheckerIsIndependent(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.name() != "test/framework" {
			continue
		}
		for _, dep := range p.ownDeps() {
			if !under(dep, "test") {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
}

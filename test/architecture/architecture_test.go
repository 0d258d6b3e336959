// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package architecture checks which way the module's packages import each
// other, over what the compiler sees and not over single import lines.
package architecture

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weir-ipam/cluster-api-ipam-provider-weir"

// purePackages know no Kubernetes, no context and no clock: time enters as a
// value.
var purePackages = []string{
	"internal/excerpt", "internal/ipspace", "internal/allocator", "internal/pile", "internal/pooltree", "internal/foreign",
}

// serialPackages assume that their caller serialises calls: they know the API's types, but no lock, context
// or client.
var serialPackages = []string{"internal/records", "internal/book"}

// pkg is a package of the module, as "go list -json" shows it.
type pkg struct {
	ImportPath  string
	Dir         string
	Imports     []string
	Deps        []string
	TestGoFiles []string
	TestImports []string
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
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,Imports,Deps,TestGoFiles,TestImports", module+"/...").Output()
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

// TestNoTestFrameworkIsLinked checks what the released programs are linked of.
func TestNoTestFrameworkIsLinked(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.name() != "" && p.name() != "cmd/kubectl-weir" {
			continue
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, "github.com/onsi/") || dep == "testing" {
				t.Errorf("%q depends on %s", p.name(), dep)
			}
		}
	}
}

func TestSerialPackagesHaveNoLockContextOrClient(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !slices.Contains(serialPackages, p.name()) {
			continue
		}
		for _, imported := range p.Imports {
			isClient := under(imported, "k8s.io/client-go") || under(imported, "sigs.k8s.io/controller-runtime")
			if imported == "context" || under(imported, "sync") || isClient {
				t.Errorf("%s is to be serial and imports %s", p.name(), imported)
			}
		}
		for _, dep := range p.ownDeps() {
			if !under(dep, "api") && !slices.Contains(purePackages, dep) && !slices.Contains(serialPackages, dep) {
				t.Errorf("%s is to be serial and depends on %s", p.name(), dep)
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

// TestOneFormOfClaimsKnowsClusterAPIs checks that no other package of internal knows Cluster API's claims: the rest works on forms.
func TestOneFormOfClaimsKnowsClusterAPIs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		isElsewhere := under(p.name(), "internal") && p.name() != "internal/clusterapi"
		if isElsewhere && slices.Contains(p.Imports, "sigs.k8s.io/cluster-api/api/ipam/v1beta2") {
			t.Errorf("%s imports the types of IPAddressClaims", p.name())
		}
	}
}

// TestProvidersAreLeaves checks that providers do not know each other, and that internal packages, but for the wiring in setup and the list of
// doors, do not import providers.
func TestProvidersAreLeaves(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		isWiring := under(p.name(), "internal/setup") || p.name() == "internal/doors"
		for _, imported := range p.Imports {
			if isModule(imported) && under(inModule(imported), "providers") && under(p.name(), "internal") && !isWiring {
				t.Errorf("%s imports %s", p.name(), imported)
			}
		}
		for _, dep := range p.ownDeps() {
			if under(dep, "providers") && provider(p.name()) != "" && provider(p.name()) != provider(dep) {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
}

// TestDoorsAreOpenedAndRehearsedOnly checks that no other internal package reaches providers through the list of doors.
func TestDoorsAreOpenedAndRehearsedOnly(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		isUser := under(p.name(), "internal/setup") || p.name() == "internal/rehearsal"
		if under(p.name(), "internal") && !isUser && slices.ContainsFunc(p.Imports, func(i string) bool { return isModule(i) && inModule(i) == "internal/doors" }) {
			t.Errorf("%s imports the list of doors", p.name())
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

// TestThePluginKnowsNoController checks that kubectl weir reads objects, and shares with the manager
// only what a spec means, and the rehearsal of decisions.
func TestThePluginKnowsNoController(t *testing.T) {
	t.Parallel()
	all := packages(t)
	i := slices.IndexFunc(all, func(p pkg) bool { return p.name() == "internal/rehearsal" })
	if i < 0 {
		t.Fatal("there is no rehearsal")
	}
	known := append([]string{
		"internal/plugin", "internal/survey", "internal/trial", "internal/reasons", "internal/fsck", "internal/kinds", "internal/poolspec", "internal/audit",
		"internal/demand", "internal/atlas", "providers/metal3/capm3", "providers/openstack/neutron",
		"internal/rehearsal",
	}, slices.Concat(purePackages, all[i].ownDeps())...)
	found := 0
	for _, p := range all {
		if p.name() != "cmd/kubectl-weir" {
			continue
		}
		found++
		for _, dep := range p.ownDeps() {
			if !under(dep, "api") && !slices.Contains(known, dep) {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
	if found == 0 {
		t.Error("there is no plugin")
	}
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

// TestCheckerIsIndependent keeps the checker, and the framework with the history's, from sharing the
// code that they check.
func TestCheckerIsIndependent(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range packages(t) {
		if p.name() != "test/framework" && p.name() != "internal/fsck" {
			continue
		}
		found++
		for _, dep := range p.ownDeps() {
			if p.name() == "internal/fsck" || !under(dep, "test") && dep != "internal/fsck" {
				t.Errorf("%s depends on %s", p.name(), dep)
			}
		}
	}
	if found != 2 {
		t.Errorf("found %d of the framework and the checker", found)
	}
}

// TestSuitesPrintTheirSpecs checks that suites of Ginkgo import test/suite, which prints a line for each spec: hack/testsummary
// shows what they cost.
func TestSuitesPrintTheirSpecs(t *testing.T) {
	t.Parallel()
	suites := 0
	for _, p := range packages(t) {
		if !runsSpecs(t, p) {
			continue
		}
		suites++
		if !slices.Contains(p.TestImports, module+"/test/suite") {
			t.Errorf("%s calls RunSpecs and does not import test/suite", p.name())
		}
	}
	if suites == 0 {
		t.Error("found no suite")
	}
}

// runsSpecs reports whether a package's tests are a suite of Ginkgo.
func runsSpecs(t *testing.T, p pkg) bool {
	t.Helper()
	return slices.ContainsFunc(p.TestGoFiles, func(name string) bool {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(source), "\tRunSpecs(")
	})
}

// TestKindsAreComparedWithTheirGroups finds comparisons of the bare names of kinds: IPPool, IPClaim and IPAddress exist in several
// groups. Package kinds and the methods GroupKind of references are for that.
func TestKindsAreComparedWithTheirGroups(t *testing.T) {
	t.Parallel()
	for path, file := range productionFiles(t) {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && (isKindName(n.X) || isKindName(n.Y)) {
					t.Errorf("%s compares the names of kinds", path)
				}
			case *ast.SwitchStmt:
				if isKindName(n.Tag) {
					t.Errorf("%s switches on the name of a kind", path)
				}
			}
			return true
		})
	}
}

// isKindName says whether an expression is the bare name of a kind: a field Kind, or one of the API's constants.
func isKindName(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name := selector.Sel.Name
	owner, _ := selector.X.(*ast.Ident)
	isConstant := owner != nil && (owner.Name == "ipamv1" || owner.Name == "clusterv1") && strings.HasSuffix(name, "Kind")
	return name == "Kind" || isConstant
}

// productionFiles are the parsed sources of internal and providers, by path, without tests.
func productionFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, dir := range []string{"internal", "providers"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			files[path] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestThereIsOneWayOutOfTheLedger checks that nothing but claimant.Exit releases or deletes a record: what is outside of the cluster is given
// back there.
func TestThereIsOneWayOutOfTheLedger(t *testing.T) {
	t.Parallel()
	for path, file := range productionFiles(t) {
		if strings.Contains(path, "internal/claimant/exit.go") {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if method, ok := node.(*ast.SelectorExpr); ok && method.Sel.Name == "Out" {
				t.Errorf("%s calls Ledger.Out; only claimant.Exit may", path)
			}
			return true
		})
	}
}

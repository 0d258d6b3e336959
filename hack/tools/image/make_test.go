// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"
)

// settings stand for what git says of the commit: a copy of the tree has no git.
var settings = []string{"REVISION=0a1b2c", "SOURCE_DATE_EPOCH=1764200000", "VERSION=v0.1.0", "NOTES=Unreleased", "ARCHS=amd64 arm64"}

// plugins returns the platforms that the plugin is packed for. Cold, each takes a minute: at the gate it is one, at other sizes all are.
func plugins() []string {
	if os.Getenv("WEIR_SUITE_SIZE") == "gate" || os.Getenv("WEIR_SUITE_SIZE") == "" {
		return []string{runtime.GOOS + "/" + runtime.GOARCH}
	}
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
}

// tool returns the path of a program that the Makefile builds from a pinned module.
func tool(t *testing.T, tree, name string) string {
	t.Helper()
	path := filepath.Join(tree, "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("run 'make tools' first: %v", err)
	}
	return path
}

// makeRelease runs make in a tree, with a tool of another one, and returns the folder of the release.
func makeRelease(t *testing.T, tree, kustomize string) string {
	t.Helper()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{
		"--silent", "release", "OUT=" + out, "BIN=" + t.TempDir(), "KUSTOMIZE=" + kustomize, "PLUGINS=" + strings.Join(plugins(), " "),
	}, settings...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = tree, &stderr
	if text, err := cmd.Output(); err != nil {
		t.Fatalf("%v: %s%s", err, text, stderr.String())
	}
	return filepath.Join(out, "ipam-weir", "v0.1.0")
}

// filesOf returns what is in a folder, by name.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// copyOf copies the files that git knows to another folder.
func copyOf(t *testing.T, tree string) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = tree
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name := range strings.FieldsSeq(string(names)) {
		content, err := os.ReadFile(filepath.Join(tree, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err = os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err = os.WriteFile(path, content, 0o700); err != nil { //nolint:gosec // scripts are among them
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheReleaseIsTheSameFromTwoFoldersAndInstalls(t *testing.T) {
	tree, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	kustomize := tool(t, tree, "kustomize")
	dir := makeRelease(t, tree, kustomize)
	files, again := filesOf(t, dir), filesOf(t, makeRelease(t, copyOf(t, tree), kustomize))
	if !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("two releases of one commit differ:\n%s\n%s", files["SHA256SUMS"], again["SHA256SUMS"])
	}
	checkNames(t, files)
	checkSums(t, files)
	t.Run("krew", func(t *testing.T) { checkKrew(t, files) })
	t.Run("clusterctl", func(t *testing.T) { checkClusterctl(t, dir, tool(t, tree, "clusterctl")) })
	t.Run("image", func(t *testing.T) { checkImage(t, filepath.Join(dir, "image.tar")) })
}

// checkNames sees to it that nothing is missing, and nothing there that nobody knows of.
func checkNames(t *testing.T, files map[string][]byte) {
	t.Helper()
	want := []string{
		"LICENSE", "RELEASE_NOTES.md", "SHA256SUMS", "cluster-template-metal3.yaml", "cluster-template-openstack.yaml", "cluster-template-proxmox.yaml",
		"cluster-template-vsphere.yaml", "image.tar",
		"ipam-components-edge.yaml", "ipam-components-in-cluster.yaml", "ipam-components-metal3-in-cluster.yaml", "ipam-components-metal3.yaml",
		"ipam-components-openstack.yaml", "ipam-components.yaml",
		"manager-linux-amd64", "manager-linux-arm64", "manager_linux_amd64.spdx.json", "manager_linux_arm64.spdx.json",
		"metadata.yaml", "weir-hub-apiserver.yaml", "weir-hub-host.yaml", "weir-monitoring.yaml", "weir.yaml",
	}
	for _, platform := range plugins() {
		name := "kubectl-weir_" + strings.ReplaceAll(platform, "/", "_")
		want = append(want, name+".tar.gz", name+".spdx.json")
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("the release has %v, want %v", got, want)
	}
}

// checkSums holds the sums against the files.
func checkSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	var want strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != "SHA256SUMS" {
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(files[name]), name)
		}
	}
	if got := string(files["SHA256SUMS"]); got != want.String() {
		t.Errorf("the sums are\n%s, want\n%s", got, want.String())
	}
}

// checkKrew does with krew's manifest what krew does: it compares the sum of the archive that the address names, unpacks it, moves the
// files, and runs the program.
func checkKrew(t *testing.T, files map[string][]byte) {
	t.Helper()
	var manifest struct {
		Spec struct {
			Version   string
			Platforms []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
				Files            []struct{ From, To string }
			}
		}
	}
	if err := yaml.Unmarshal(files["weir.yaml"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Spec.Platforms) != len(plugins()) {
		t.Errorf("krew knows %d platforms", len(manifest.Spec.Platforms))
	}
	for _, p := range manifest.Spec.Platforms {
		if want := source + "/releases/download/v0.1.0/"; !strings.HasPrefix(p.URI, want) {
			t.Errorf("%s does not begin with %s", p.URI, want)
		}
		packed := files[path.Base(p.URI)]
		if sum := fmt.Sprintf("%x", sha256.Sum256(packed)); sum != p.SHA256 {
			t.Errorf("%s has sum %s, and krew expects %s", p.URI, sum, p.SHA256)
		}
		zip, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		_, unzipped, _ := unpacked(t, zip)
		root := t.TempDir()
		for _, f := range p.Files {
			if content := unzipped[f.From]; len(content) == 0 || f.To != "." {
				t.Errorf("%s has no %s", p.URI, f.From)
			} else if err = os.WriteFile(filepath.Join(root, f.From), content, 0o700); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
		}
		if p.Selector.MatchLabels["os"] != runtime.GOOS || p.Selector.MatchLabels["arch"] != runtime.GOARCH {
			continue
		}
		text, err := exec.CommandContext(t.Context(), filepath.Join(root, p.Bin), "--version").CombinedOutput()
		if err != nil || !strings.Contains(string(text), manifest.Spec.Version) {
			t.Errorf("%s --version prints %s, %v", p.Bin, text, err)
		}
	}
}

// checkClusterctl has clusterctl read each set of components from the folder, as its local repository.
func checkClusterctl(t *testing.T, dir, clusterctl string) {
	t.Helper()
	for _, set := range []string{
		"ipam-components.yaml", "ipam-components-metal3.yaml", "ipam-components-in-cluster.yaml", "ipam-components-metal3-in-cluster.yaml",
		"ipam-components-openstack.yaml",
	} {
		home := t.TempDir()
		config := filepath.Join(home, "clusterctl.yaml")
		text := fmt.Sprintf("providers:\n- {name: weir, type: IPAMProvider, url: \"file://%s/latest/%s\"}\n", filepath.Dir(dir), set)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), clusterctl, "generate", "provider", "--ipam", "weir", "--describe", "--config", config)
		cmd.Env = append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+home)
		shown, err := cmd.CombinedOutput()
		fields := strings.Join(strings.Fields(string(shown)), " ")
		if want := "Version: v0.1.0 File: " + set + " TargetNamespace: weir-system"; err != nil || !strings.Contains(fields, want) {
			t.Errorf("clusterctl prints %s, %v, want %s", shown, err, want)
		}
		if want := "ghcr.io/weir-ipam/cluster-api-ipam-provider-weir:v0.1.0"; !strings.HasSuffix(fields, want) {
			t.Errorf("the image of %s is not %s: %s", set, want, shown)
		}
	}
}

// checkImage runs the manager of the image for this platform.
func checkImage(t *testing.T, archive string) {
	t.Helper()
	image, _ := read(t, archive, runtime.GOARCH)
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	_, files, _ := unpacked(t, content)
	root := t.TempDir()
	if err = os.WriteFile(filepath.Join(root, "manager"), files["manager"], 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--help": "--feature-gates", "--version": "v0.1.0"} {
		if shown := runAlone(t, root, flag); !strings.Contains(shown, want) {
			t.Errorf("manager %s prints %q", flag, shown)
		}
	}
}

// runAlone runs the manager with no other file than itself, as in a container; who is not root cannot hide the others.
func runAlone(t *testing.T, root, flag string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "manager"), flag)
	if os.Geteuid() == 0 {
		cmd = exec.CommandContext(t.Context(), "/manager", flag)
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	}
	cmd.Env = []string{"PATH=/"}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

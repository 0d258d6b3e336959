// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAVersionIsOneOfTheModuleAndHasASeries(t *testing.T) {
	t.Parallel()
	metadata := file(t, "metadata.yaml", "releaseSeries:\n- {major: 0, minor: 1, contract: v1beta2}\n- {major: 0, minor: 2}\n- {major: 2, minor: 0, contract: v1beta2}\n")
	first, second := file(t, "go.mod", "module example.com/weir\n\ngo 1.26.0\n"), file(t, "go.mod", "module example.com/weir/v2\n")
	for name, c := range map[string]struct{ version, mod, want string }{
		"the first":                {"v0.1.0", first, ""},
		"a patch":                  {"v0.1.12", first, ""},
		"a candidate":              {"v0.1.1-rc.0", first, ""},
		"a later major":            {"v2.0.0", second, ""},
		"no version":               {"", first, `"" is no version`},
		"without v":                {"0.1.0", first, "is no version"},
		"a leading zero":           {"v0.01.0", first, "is no version"},
		"no series":                {"v0.3.0", first, "lacks the series of v0.3.0"},
		"a series without":         {"v0.2.0", first, "lacks the series of v0.2.0"},
		"a major of another path":  {"v2.0.0", first, "is no version of the module example.com/weir"},
		"a version before v2":      {"v0.1.0", second, "is no version of the module example.com/weir/v2"},
		"a file without a module":  {"v0.1.0", metadata, "has no module"},
		"a module that is missing": {"v0.1.0", "missing", "no such file"},
	} {
		err := checkVersion(c.version, c.mod, metadata)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

const changelog = `# Changelog

## Unreleased

### Added

## v0.2.0 - 2026-12-01

What to do on upgrade: [read](docs/guides/upgrade.md#in-place).

### Fixed

- A bug ([issue](https://example.com/1), [below](#v010)).

## v0.1.0

- First.
`

func TestNotesAreASectionOfTheChangelog(t *testing.T) {
	t.Parallel()
	got, err := notesOf(changelog, "v0.2.0", "v0.2.0")
	want := "# Weir v0.2.0\n\nWhat to do on upgrade: [read](" + repository + "/blob/v0.2.0/docs/guides/upgrade.md#in-place).\n\n" +
		"### Fixed\n\n- A bug ([issue](https://example.com/1), [below](#v010)).\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, section := range []string{"Unreleased", "v0.3.0", "v0.2"} {
		if _, err := notesOf(changelog, section, "v0.3.0"); err == nil || !strings.Contains(err.Error(), "has no entries") {
			t.Errorf("%s: %v", section, err)
		}
	}
}

// packed packs two binaries whose content is their platform.
func packed(t *testing.T) (release, []archive) {
	t.Helper()
	t.Chdir("../..")
	r := release{version: "v0.1.0", created: time.Unix(1764200000, 0).UTC(), plugins: t.TempDir(), dir: t.TempDir()}
	for _, platform := range []string{"linux_amd64", "windows_arm64"} {
		if err := os.WriteFile(filepath.Join(r.plugins, "kubectl-weir_"+platform), []byte(platform), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archives, err := r.packPlugins()
	if err != nil {
		t.Fatal(err)
	}
	return r, archives
}

func TestTheSameBinariesGiveTheSameArchives(t *testing.T) {
	r, archives := packed(t)
	if again, err := r.packPlugins(); err != nil || !slices.Equal(again, archives) {
		t.Errorf("packed once more: %v, %v, before: %v", again, err, archives)
	}
}

// TestKrewKnowsEachArchive: on Windows the program has another name.
func TestKrewKnowsEachArchive(t *testing.T) {
	r, archives := packed(t)
	manifest, err := krewManifest(r.version, archives)
	if err != nil {
		t.Fatal(err)
	}
	var plugin krewPlugin
	if err = yaml.UnmarshalStrict(manifest, &plugin); err != nil || len(plugin.Spec.Platforms) != 2 {
		t.Fatalf("%v: %s", err, manifest)
	}
	for i, bin := range []string{"kubectl-weir", "kubectl-weir.exe"} {
		p := plugin.Spec.Platforms[i]
		sum, err := sumOf(filepath.Join(r.dir, archives[i].name))
		if err != nil || p.SHA256 != sum || p.Bin != bin || p.Files[0].From != bin || p.Selector.MatchLabels["os"] != archives[i].os {
			t.Errorf("%+v, of sum %s, %v", p, sum, err)
		}
	}
}

func TestAFolderWithoutPluginsIsRefused(t *testing.T) {
	t.Parallel()
	r := release{plugins: t.TempDir(), dir: t.TempDir()}
	if _, err := r.packPlugins(); err == nil || !strings.Contains(err.Error(), "has no kubectl-weir_OS_ARCH") {
		t.Errorf("%v", err)
	}
}

func TestSumsAreThoseOfAllFilesButTheirOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b", "a", sumsFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := sumsOf(dir)
	want := "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if err != nil || string(sums) != want {
		t.Errorf("got %q, %v", sums, err)
	}
	if err = os.Mkdir(filepath.Join(dir, "folder"), 0o750); err != nil {
		t.Fatal(err)
	}
	if sums, err = sumsOf(dir); err == nil {
		t.Errorf("a folder in a release is summed: %s", sums)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	if err := run([]string{"-version", "v0.1.0"}); err == nil || !strings.Contains(err.Error(), "are required") {
		t.Errorf("%v", err)
	}
}

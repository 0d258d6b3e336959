// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/spdx/tools-golang/spdx"
)

// The test's own binary is built by Go, as a manager is.
func binary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// copied returns the path of a copy in another folder, of another time and mode.
func copied(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err = os.WriteFile(other, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return other
}

func flagsOf(more ...string) []string {
	return append([]string{"-version", "v0.1.0", "-revision", "0a1b2c", "-created", "1764200000"}, more...)
}

// unpacked returns the files of a tar file, and their names in their order.
func unpacked(t *testing.T, r io.Reader) (names []string, files map[string][]byte, headers []*tar.Header) {
	t.Helper()
	files = map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names, files, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		names, files[header.Name], headers = append(names, header.Name), content, append(headers, header)
	}
}

func TestTheSameBinariesGiveTheSameArchive(t *testing.T) {
	t.Parallel()
	archives := make([][]byte, 0, 2)
	for _, path := range []string{binary(t), copied(t, binary(t))} {
		output := filepath.Join(t.TempDir(), "image.tar")
		if err := run(t.Context(), flagsOf("-output", output, "linux/amd64="+path, "linux/arm64="+path)); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, content)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of the same binaries differ")
	}
	names, _, _ := unpacked(t, bytes.NewReader(archives[0]))
	if !slices.IsSorted(names) || !slices.Contains(names, "oci-layout") || !slices.Contains(names, "index.json") {
		t.Errorf("the entries are %v", names)
	}
}

func TestAnImageHasTheManagerAndNothingElse(t *testing.T) {
	t.Parallel()
	output := filepath.Join(t.TempDir(), "image.tar")
	if err := run(t.Context(), flagsOf("-output", output, "linux/amd64="+binary(t), "linux/arm64="+binary(t))); err != nil {
		t.Fatal(err)
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		image, referrers := read(t, output, architecture)
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != architecture || config.OS != "linux" || config.Config.User != "65532:65532" ||
			!slices.Equal(config.Config.Entrypoint, []string{"/manager"}) || config.Created.Unix() != 1764200000 ||
			config.Config.Labels["org.opencontainers.image.revision"] != "0a1b2c" {
			t.Errorf("the configuration is %+v", config)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		names, files, headers := unpacked(t, content)
		want, err := os.ReadFile(binary(t))
		if err != nil || !slices.Equal(names, []string{"manager"}) || !bytes.Equal(files["manager"], want) {
			t.Errorf("the layer has %v, %v", names, err)
		}
		if h := headers[0]; h.Mode != 0o755 || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 1764200000 {
			t.Errorf("the file is %+v", h)
		}
		if len(referrers) != 1 {
			t.Errorf("%d SBOMs refer to the image of %s", len(referrers), architecture)
		}
	}
}

// read returns the image of a platform out of an archive, and what refers to it.
func read(t *testing.T, archive, architecture string) (image v1.Image, referrers []v1.Image) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, files, _ := unpacked(t, file)
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := top.IndexManifest()
	if err != nil || manifests.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v0.1.0" {
		t.Fatalf("the index has no tag: %+v, %v", manifests, err)
	}
	index, err := top.ImageIndex(manifests.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(platforms.Manifests, func(d v1.Descriptor) bool { return d.Platform.Architecture == architecture })
	image, err = index.Image(platforms.Manifests[i].Digest)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifests.Manifests[1:] {
		referrer, err := top.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := referrer.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if manifest.Subject != nil && manifest.Subject.Digest == platforms.Manifests[i].Digest {
			referrers = append(referrers, referrer)
		}
	}
	return image, referrers
}

func TestARegistryListsTheSBOM(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true)))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/weir/manager:v0.1.0"
	if err := run(t.Context(), flagsOf("-push", reference, "linux/amd64="+binary(t))); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(tag, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	referrers, err := remote.Referrers(tag.Context().Digest(digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := referrers.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the registry lists %+v, %v", manifest, err)
	}
	sbom, err := remote.Image(tag.Context().Digest(manifest.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := sbom.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	checkDocument(t, content)
}

// checkDocument sees to it that the document lists the modules of the binary, and returns it.
func checkDocument(t *testing.T, content io.Reader) spdx.Document {
	t.Helper()
	var doc spdx.Document
	if err := json.NewDecoder(content).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) == 0 || len(doc.Packages) != len(info.Deps)+2 || len(doc.Relationships) != len(info.Deps)+2 {
		t.Errorf("%d packages and %d relationships for %d modules", len(doc.Packages), len(doc.Relationships), len(info.Deps))
	}
	for _, dependency := range info.Deps {
		if !slices.ContainsFunc(doc.Packages, func(p *spdx.Package) bool {
			return p.PackageName == dependency.Path && p.PackageVersion == dependency.Version
		}) {
			t.Errorf("%s %s is missing", dependency.Path, dependency.Version)
		}
	}
	return doc
}

func TestTheDocumentsOfAProgramAreFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := run(t.Context(), flagsOf("-program", "kubectl-weir", "-sbom", dir, "linux/amd64="+binary(t), "windows/arm64="+binary(t))); err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{"linux_amd64", "windows_arm64"} {
		content, err := os.ReadFile(filepath.Join(dir, "kubectl-weir_"+platform+".spdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "kubectl-weir-v0.1.0-" + strings.ReplaceAll(platform, "_", "-"); checkDocument(t, bytes.NewReader(content)).DocumentName != want {
			t.Errorf("the document of %s is not called %s", platform, want)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"no binary":            flagsOf("-output", "x"),
		"-version, and one":    {"linux/amd64=x"},
		`"amd64=x" is not`:     flagsOf("-output", "x", "amd64=x"),
		`"linux/amd64" is not`: flagsOf("-output", "x", "linux/amd64"),
		"no such file":         flagsOf("-output", "x", "linux/amd64=missing"),
	} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

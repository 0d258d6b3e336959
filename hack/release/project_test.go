// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// root is the repository's folder, seen from this package.
const root = "../.."

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// makefileVersion returns the version that the Makefile releases.
func makefileVersion(t *testing.T) string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, "Makefile"), "\nVERSION ?= ")
	version, _, _ := strings.Cut(rest, "\n")
	if !found {
		t.Fatal("the Makefile has no VERSION")
	}
	return version
}

// TestTheRepositoryIsReadyForItsVersion holds the version that the Makefile names against go.mod and metadata.yaml.
func TestTheRepositoryIsReadyForItsVersion(t *testing.T) {
	t.Parallel()
	if err := checkVersion(makefileVersion(t), filepath.Join(root, "go.mod"), filepath.Join(root, "metadata.yaml")); err != nil {
		t.Error(err)
	}
}

// TestTheOperatorsSampleFetchesTheRelease: the version, and a file of it that `make release` writes.
func TestTheOperatorsSampleFetchesTheRelease(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(read(t, "config/samples/operator/ipamprovider.yaml"), "\n---\n")
	var provider struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Version     string
			FetchConfig struct{ URL string }
		}
	}
	if err := yaml.Unmarshal([]byte(text), &provider); err != nil {
		t.Fatal(err)
	}
	if got, want := provider.Spec.FetchConfig.URL, repository+"/releases/latest/ipam-components.yaml"; got != want {
		t.Errorf("fetches %s, want %s", got, want)
	}
	if got, want := provider.Spec.Version, makefileVersion(t); got != want {
		t.Errorf("installs %s, want %s", got, want)
	}
	if m := provider.Metadata; m.Name != "weir" || m.Namespace != "weir-system" {
		t.Errorf("is %s in namespace %s: the roles name weir-system", m.Name, m.Namespace)
	}
}

// TestTiltBuildsTheImageOfTheDeployment, of files that are there.
func TestTiltBuildsTheImageOfTheDeployment(t *testing.T) {
	t.Parallel()
	var provider struct {
		Name   string
		Config struct {
			Image, Label string
			Deps         []string `json:"live_reload_deps"`
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, "tilt-provider.yaml")), &provider); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(read(t, "config/manager/manager.yaml"), " "+provider.Config.Image+":") {
		t.Errorf("the Deployment does not run %s", provider.Config.Image)
	}
	if !strings.Contains(read(t, "clusterctl-settings.json"), `"`+provider.Name+`"`) {
		t.Errorf("clusterctl-settings.json does not name %s", provider.Name)
	}
	for _, dep := range provider.Config.Deps {
		if _, err := os.Stat(filepath.Join(root, dep)); err != nil {
			t.Error(err)
		}
	}
}

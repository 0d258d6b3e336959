// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestClusterctlKnowsAllKinds checks that clusterctl move finds Weir's kinds however they were installed: it passes over those whose
// CustomResourceDefinition lacks its label, with all objects of them. A pool that it passes over frees the addresses of the claims that it moves.
func TestClusterctlKnowsAllKinds(t *testing.T) {
	t.Parallel()
	definitions := 0
	err := filepath.WalkDir(filepath.Join("..", "..", "config"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("\nkind: CustomResourceDefinition\n")) {
			return err
		}
		definitions++
		folder := filepath.Dir(filepath.Dir(path))
		if labels := labelsOf(t, folder, filepath.Join("bases", filepath.Base(path))); !slices.Contains(labels, "clusterctl.cluster.x-k8s.io=") {
			t.Errorf("%s is rendered with the labels %v", path, labels)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if definitions < 9 {
		t.Errorf("found only %d definitions", definitions)
	}
}

// TestNamespacedPoolsTakeAlong checks that clusterctl moves what a pool of a namespace owns with it, as package preflight has it: the IPAddress of a
// claim that is only labelled to move. A pool without namespace stays, and does not.
func TestNamespacedPoolsTakeAlong(t *testing.T) {
	t.Parallel()
	const moves, takesAlong = "clusterctl.cluster.x-k8s.io/move", "clusterctl.cluster.x-k8s.io/move-hierarchy"
	for file, want := range map[string]string{
		"crd/bases/ipam.weir.dev_ippools.yaml": takesAlong, "incluster/crd/bases/ipam.cluster.x-k8s.io_inclusterippools.yaml": takesAlong,
		"crd/bases/ipam.weir.dev_globalippools.yaml": moves, "incluster/crd/bases/ipam.cluster.x-k8s.io_globalinclusterippools.yaml": moves,
	} {
		path := filepath.Join("..", "..", "config", filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		definition := &metav1.PartialObjectMetadata{}
		if err := yaml.Unmarshal(text, definition); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		labels := labelsOf(t, filepath.Dir(filepath.Dir(path)), filepath.Join("bases", filepath.Base(path)))
		for key, value := range definition.Labels {
			labels = append(labels, key+"="+value)
		}
		isOther := func(label string) bool { return label != moves+"=" && label != takesAlong+"=" }
		if found := slices.DeleteFunc(labels, isOther); !slices.Equal(found, []string{want + "="}) {
			t.Errorf("%s has %v, want %s", file, found, want)
		}
	}
}

// labelsOf returns the labels that a folder's kustomization gives to a file; none if it does not have the file.
func labelsOf(t *testing.T, folder, file string) (labels []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kustomization := struct {
		Resources []string
		Labels    []struct{ Pairs map[string]string }
	}{}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	if !slices.Contains(kustomization.Resources, filepath.ToSlash(file)) {
		return nil
	}
	for _, given := range kustomization.Labels {
		for key, value := range given.Pairs {
			labels = append(labels, key+"="+value)
		}
	}
	return labels
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fieldOwner = client.FieldOwner("weir-test-framework")

// ReadManifests returns the objects of YAML files, in order. A folder stands
// for its *.yaml files without kustomization.yaml, not for those of its
// subfolders.
func ReadManifests(paths ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading manifests: %w", err)
			}
			parsed, err := ParseManifests(data)
			if err != nil {
				return nil, fmt.Errorf("parsing %s: %w", file, err)
			}
			objects = append(objects, parsed...)
		}
	}
	return objects, nil
}

func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("finding manifests: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing manifests of %s: %w", path, err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return filepath.Base(file) == "kustomization.yaml"
	}), nil
}

// ParseManifests returns the objects of a YAML stream; empty documents are
// skipped.
func ParseManifests(data []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("decoding document %d: %w", len(objects)+1, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Apply applies objects server-side, CRDs first and waiting until these are
// served. The objects' order is kept otherwise.
func Apply(ctx context.Context, cfg *rest.Config, objects ...*unstructured.Unstructured) error {
	crds, others := splitCRDs(objects)
	if err := installCRDs(ctx, cfg, crds); err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	for _, object := range others {
		if err := apply(ctx, c, object); err != nil {
			return err
		}
	}
	return nil
}

// apply applies one object. An API server that is too slow for it, on a machine that has too much to do, is asked again.
func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	isSlow := func(err error) bool {
		return ctx.Err() == nil && (apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err))
	}
	err := retry.OnError(retry.DefaultBackoff, isSlow, func() error {
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
	})
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	return nil
}

func splitCRDs(objects []*unstructured.Unstructured) (crds, others []*unstructured.Unstructured) {
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, object)
		} else {
			others = append(others, object)
		}
	}
	return crds, others
}

// hasLabel reports whether an object carries a label value.
func hasLabel(object metav1.Object, key, value string) bool {
	return object.GetLabels()[key] == value
}

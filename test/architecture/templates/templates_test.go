// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package templates tests that the kinds' own schemas admit what is in templates/ and config/samples/operator, as an API server checks it: Weir's kinds and Metal3's from
// config/, Cluster API's from its module, and the consumers' from testdata. Rules in CEL and webhooks are not part of it.
package templates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const root = "../../.."

// values are those of the templates' variables that are no plain word.
var values = map[string]string{
	"CLUSTER_NAME": "c", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.0", "CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
	"CONTROL_PLANE_ENDPOINT_IP": "192.0.2.10", "NODE_FIRST_ADDRESS": "192.0.2.20", "NODE_LAST_ADDRESS": "192.0.2.99", "NODE_PREFIX": "24",
	"NODE_ADDRESSES": "192.0.2.20-192.0.2.99", "NODE_GATEWAY": "192.0.2.1", "NODE_DNS": "192.0.2.53", "IMAGE_CHECKSUM_TYPE": "sha256",
	"IMAGE_FORMAT": "qcow2", "TEMPLATE_VMID": "100", "OPENSTACK_EXTERNAL_NETWORK_ID": "e9b0a0c5-5b2c-4f61-9b1c-0c7a5d2d9c11",
}

func TestSchemasAdmitTemplates(t *testing.T) {
	t.Parallel()
	var files []string
	for _, folder := range []string{"templates", "config/samples/operator"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
		if err != nil || len(found) == 0 {
			t.Fatalf("found %v: %v", found, err)
		}
		files = append(files, found...)
	}
	schemas := schemasIn(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			for _, object := range objectsIn(t, file) {
				kind := object.GroupVersionKind()
				if kind.Group == "" { // a Secret, a Namespace
					continue
				}
				if mistakes := mistakesIn(t, object, schemas[kind]); len(mistakes) > 0 {
					t.Errorf("%s %s: %s", kind.Kind, object.GetName(), strings.Join(mistakes, "; "))
				}
			}
		})
	}
}

// mistakesIn returns what the schema has against an object, and the fields that it does not know.
func mistakesIn(t *testing.T, object *unstructured.Unstructured, props *apiextensions.JSONSchemaProps) (mistakes []string) {
	t.Helper()
	if props == nil {
		return []string{"is of a kind without a schema here"}
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range validation.ValidateCustomResource(nil, object.Object, validator) {
		mistakes = append(mistakes, mistake.Error())
	}
	structural, err := schema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}
	unknown := pruning.PruneWithOptions(object.Object, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		mistakes = append(mistakes, path+": is no field")
	}
	return mistakes
}

// objectsIn reads a file in which every variable has a value.
func objectsIn(t *testing.T, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	expanded := os.Expand(string(text), func(name string) string {
		if value, ok := values[name]; ok {
			return value
		}
		return strings.ToLower(name)
	})
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(expanded), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("%s: %v", file, err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// schemasIn returns the schemas of all kinds that templates may have.
func schemasIn(t *testing.T) map[apiruntime.GroupVersionKind]*apiextensions.JSONSchemaProps {
	t.Helper()
	clusterAPI, err := moduleFolder(t.Context(), "sigs.k8s.io/cluster-api")
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[apiruntime.GroupVersionKind]*apiextensions.JSONSchemaProps{}
	for _, folder := range []string{
		"testdata", filepath.Join(root, "config", "crd", "bases"), filepath.Join(root, "config", "metal3", "crd", "bases"),
		filepath.Join(clusterAPI, "core", "config", "crd", "bases"),
		filepath.Join(clusterAPI, "bootstrap", "kubeadm", "config", "crd", "bases"),
		filepath.Join(clusterAPI, "controlplane", "kubeadm", "config", "crd", "bases"),
	} {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("found no CRDs in %s: %v", folder, err)
		}
		for _, file := range files {
			addSchemas(t, file, schemas)
		}
	}
	return schemas
}

func addSchemas(t *testing.T, file string, schemas map[apiruntime.GroupVersionKind]*apiextensions.JSONSchemaProps) {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(text, 4096)
	for {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := decoder.Decode(crd); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i := range crd.Spec.Versions {
			version := &crd.Spec.Versions[i]
			props := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, props, nil); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			schemas[apiruntime.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = props
		}
	}
}

func moduleFolder(ctx context.Context, module string) (string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

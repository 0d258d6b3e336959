// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
)

// kinds are the types by the name of their sample in testdata, which has every field, and the plural in the name of their CRD.
var kinds = map[string]struct {
	plural string
	new    func() client.Object
}{
	"ippool":    {"ippools", func() client.Object { return &m3v1.IPPool{} }},
	"ipclaim":   {"ipclaims", func() client.Object { return &m3v1.IPClaim{} }},
	"ipaddress": {"ipaddresses", func() client.Object { return &m3v1.IPAddress{} }},
}

func sample(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict(text, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func crd(t *testing.T, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "metal3", "crd", "bases", "ipam.metal3.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// generic returns an object as JSON has it.
func generic(t *testing.T, value any) map[string]any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestSamplesSurviveARoundTrip(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := generic(t, sample(t, name))
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			object := kind.new()
			if err := yaml.UnmarshalStrict(text, object); err != nil { // an unknown field is an error
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, generic(t, object)); diff != "" {
				t.Errorf("decoded and encoded again: %s", diff)
			}
			if diff := cmp.Diff(want, generic(t, object.DeepCopyObject())); diff != "" {
				t.Errorf("copied: %s", diff)
			}
		})
	}
}

// TestSamplesHaveEveryField keeps the other tests of samples honest.
func TestSamplesHaveEveryField(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := crd(t, kind.plural).Spec.Versions[0].Schema.OpenAPIV3Schema
			for _, part := range []string{"spec", "status"} {
				if properties, ok := schema.Properties[part]; ok {
					missing(t, part, &properties, sample(t, name)[part])
				}
			}
		})
	}
}

// missing reports the properties of a schema that a value lacks. Of a list, the items together must have all.
func missing(t *testing.T, path string, schema *apiextensionsv1.JSONSchemaProps, values ...any) {
	t.Helper()
	for name, property := range schema.Properties {
		var below []any
		for _, value := range values {
			if m, ok := value.(map[string]any); ok && m[name] != nil {
				below = append(below, m[name])
			}
		}
		if len(below) == 0 {
			t.Errorf("no sample has %s.%s", path, name)
		}
		missing(t, path+"."+name, &property, below...)
	}
	if schema.Items != nil {
		var items []any
		for _, value := range values {
			list, _ := value.([]any)
			items = append(items, list...)
		}
		missing(t, path+"[]", schema.Items.Schema, items...)
	}
}

// fields are those of Metal3's CRDs, and status.conditions: type, bounds and default of each, and what an object must have.
const fields = `
ippools spec: object, required [namePrefix]
ippools spec.allocationStrategy: string, enum ["sequential" "random"], default "sequential"
ippools spec.clusterName: string
ippools spec.dnsServers: array
ippools spec.dnsServers[]: string, address
ippools spec.gateway: string, address
ippools spec.namePrefix: string, minLength 1
ippools spec.pools: array
ippools spec.pools[]: object
ippools spec.pools[].dnsServers: array
ippools spec.pools[].dnsServers[]: string, address
ippools spec.pools[].end: string, address
ippools spec.pools[].gateway: string, address
ippools spec.pools[].prefix: integer, maximum 128
ippools spec.pools[].start: string, address
ippools spec.pools[].subnet: string, subnet
ippools spec.preAllocations: object
ippools spec.preAllocations[]: string, address
ippools spec.prefix: integer, maximum 128
ippools status: object
ippools status.availableIPCount: integer, format int64
ippools status.capacity: integer, format int64
ippools status.capacityCapped: boolean
ippools status.conditions: array, maxItems 32
ippools status.indexes: object
ippools status.indexes[]: string, address
ippools status.lastUpdated: string, format date-time
ipclaims spec: object, required [pool]
ipclaims spec.pool: object, reference
ipclaims status: object
ipclaims status.address: object, reference
ipclaims status.conditions: array, maxItems 32
ipclaims status.errorMessage: string
ipaddresses spec: object, required [address claim pool]
ipaddresses spec.address: string, address
ipaddresses spec.claim: object, reference
ipaddresses spec.dnsServers: array
ipaddresses spec.dnsServers[]: string, address
ipaddresses spec.gateway: string, address
ipaddresses spec.pool: object, reference
ipaddresses spec.prefix: integer, maximum 128
`

func TestFieldsAreMetal3s(t *testing.T) {
	t.Parallel()
	var got []string
	for _, kind := range kinds {
		schema := crd(t, kind.plural).Spec.Versions[0].Schema.OpenAPIV3Schema
		if len(schema.Required) > 0 {
			t.Errorf("%s: required %v", kind.plural, schema.Required)
		}
		for _, part := range []string{"spec", "status"} {
			if properties, ok := schema.Properties[part]; ok {
				got = append(got, describe(t, kind.plural+" "+part, &properties)...)
			}
		}
	}
	want := strings.Split(strings.TrimSpace(fields), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// describe lists the fields of a schema, one a line, but not those of conditions and references.
func describe(t *testing.T, path string, s *apiextensionsv1.JSONSchemaProps) []string {
	t.Helper()
	words := []string{s.Type}
	add := func(word string, isSo bool) {
		if isSo {
			words = append(words, word)
		}
	}
	add("address", strings.HasPrefix(s.Pattern, "((^(") && !strings.Contains(s.Pattern, "/"))
	add("subnet", strings.HasPrefix(s.Pattern, "((^(") && strings.Contains(s.Pattern, "/"))
	add("format "+s.Format, s.Format != "")
	add("minLength "+text(t, s.MinLength), s.MinLength != nil)
	add("maximum "+text(t, s.Maximum), s.Maximum != nil)
	add("minimum "+text(t, s.Minimum), s.Minimum != nil)
	add("maxItems "+text(t, s.MaxItems), s.MaxItems != nil)
	values := make([]string, 0, len(s.Enum))
	for _, value := range s.Enum {
		values = append(values, string(value.Raw))
	}
	add("enum ["+strings.Join(values, " ")+"]", len(values) > 0)
	add("default "+text(t, s.Default), s.Default != nil)
	add("required ["+strings.Join(s.Required, " ")+"]", len(s.Required) > 0)
	_, isReference := s.Properties["fieldPath"]
	add("reference", isReference && s.XMapType != nil && *s.XMapType == "atomic" && len(s.Properties) == 7)
	lines := []string{path + ": " + strings.Join(words, ", ")}
	if isReference || strings.HasSuffix(path, ".conditions") {
		return lines
	}
	for name, property := range s.Properties {
		lines = append(lines, describe(t, path+"."+name, &property)...)
	}
	if s.Items != nil {
		lines = append(lines, describe(t, path+"[]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil {
		lines = append(lines, describe(t, path+"[]", s.AdditionalProperties.Schema)...)
	}
	return lines
}

func text(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// TestNamesAreMetal3s: the columns are Metal3's, too, and Ready after them.
func TestNamesAreMetal3s(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		category, shortNames, columns string
		hasStatus                     bool
	}{
		"ippools": {
			"cluster-api", "ipp ippool m3ipp m3ippool m3ippools metal3ipp metal3ippool metal3ippools",
			"Cluster Age Capacity Available IPs Capacity Capped Ready", true,
		},
		"ipclaims":    {"cluster-api", "ipc ipclaim m3ipc m3ipclaim m3ipclaims metal3ipc metal3ipclaim metal3ipclaims", "Age Ready", true},
		"ipaddresses": {"metal3", "ipa ipaddress m3ipa m3ipaddress m3ipaddresses metal3ipa metal3ipaddress metal3ipaddresses", "Age", false},
	}
	for plural, test := range tests {
		t.Run(plural, func(t *testing.T) {
			t.Parallel()
			spec := crd(t, plural).Spec
			columns := make([]string, 0, len(spec.Versions[0].AdditionalPrinterColumns))
			for _, column := range spec.Versions[0].AdditionalPrinterColumns {
				columns = append(columns, column.Name)
			}
			got := []string{strings.Join(spec.Names.Categories, " "), strings.Join(spec.Names.ShortNames, " "), strings.Join(columns, " ")}
			if diff := cmp.Diff([]string{test.category, test.shortNames, test.columns}, got); diff != "" {
				t.Error(diff)
			}
			if subresources := spec.Versions[0].Subresources; (subresources != nil && subresources.Status != nil) != test.hasStatus {
				t.Errorf("has a status of its own: %t", !test.hasStatus)
			}
			if spec.Scope != apiextensionsv1.NamespaceScoped || spec.Conversion != nil || len(spec.Versions) != 1 {
				t.Errorf("scope %s, conversion %v, %d versions", spec.Scope, spec.Conversion, len(spec.Versions))
			}
		})
	}
}

func TestSchemeKnowsAllKinds(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := m3v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{m3v1.IPPoolKind, m3v1.IPClaimKind, m3v1.IPAddressKind} {
		for _, name := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(m3v1.GroupVersion.WithKind(name)) {
				t.Errorf("%s is not known", name)
			}
		}
	}
}

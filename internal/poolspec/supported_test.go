// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// TestKubectlExplainSaysWhatIsNotSupported: who reads a field's description must not learn from a refusal that it does nothing yet.
func TestKubectlExplainSaysWhatIsNotSupported(t *testing.T) {
	t.Parallel()
	ref := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "pool"}
	_, errs := poolspec.Resolve(&ipamv1.IPPoolSpec{Expansion: &ipamv1.Expansion{}}, ref)
	var refused []string
	for _, err := range errs {
		if err.Detail == poolspec.NotSupported {
			refused = append(refused, strings.TrimPrefix(err.Field, "spec."))
		}
	}
	for _, kind := range []string{"ippools", "globalippools"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "ipam.weir.dev_"+kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			t.Fatal(err)
		}
		said := notSupportedIn(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], "")
		slices.Sort(said)
		slices.Sort(refused)
		if len(refused) == 0 || !slices.Equal(said, refused) {
			t.Errorf("%s: the CRD says of %v that they are not supported yet, refused are %v", kind, said, refused)
		}
	}
}

// notSupportedIn returns the paths of the fields whose descriptions say that they are not supported
// yet.
func notSupportedIn(schema apiextensionsv1.JSONSchemaProps, path string) (said []string) {
	for name, field := range schema.Properties {
		description := strings.Join(strings.Fields(strings.ToLower(field.Description)), " ") // the lines are wrapped
		if strings.Contains(description, poolspec.NotSupported) {
			said = append(said, path+name)
		}
		said = append(said, notSupportedIn(field, path+name+".")...)
	}
	return said
}

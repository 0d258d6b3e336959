// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package otherdoor

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// InstallCRDs installs the door's CRDs. They take whatever the types have.
func InstallCRDs(_ context.Context, config *rest.Config) error {
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(plurals))
	for kind, plural := range plurals {
		crds = append(crds, crd(kind, plural))
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		return fmt.Errorf("installing the CRDs of %s: %w", groupVersion.Group, err)
	}
	return nil
}

var plurals = map[string]string{IPPoolKind.Kind: "ippools", IPClaimKind.Kind: "ipclaims", IPAddressKind.Kind: "ipaddresses"}

func crd(kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: groupVersion.Version, Served: true, Storage: true,
		Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", XPreserveUnknownFields: ptr.To(true),
		}},
	}
	if kind == IPAddressKind.Kind {
		version.Subresources = nil
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + groupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: plural[:len(plural)-1]},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		},
	}
}

// Rules are the rights that a manager with the door needs.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{groupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}}}
}

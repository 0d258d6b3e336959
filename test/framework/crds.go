// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	clusterAPIModule = "sigs.k8s.io/cluster-api"
	crdTimeout       = 2 * time.Minute
)

// InstallCRDs applies the CRDs in files and folders and returns when all of
// them are served. Other objects in the files are left out.
func InstallCRDs(ctx context.Context, cfg *rest.Config, paths ...string) error {
	objects, err := ReadManifests(paths...)
	if err != nil {
		return err
	}
	crds, _ := splitCRDs(objects)
	return installCRDs(ctx, cfg, crds)
}

// InstallCAPICRDs installs Cluster API's core CRDs, see CAPICRDs.
func InstallCAPICRDs(ctx context.Context, cfg *rest.Config) error {
	crds, err := CAPICRDs()
	if err != nil {
		return err
	}
	return installTyped(ctx, cfg, crds)
}

func installTyped(ctx context.Context, cfg *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	objects := make([]*unstructured.Unstructured, 0, len(crds))
	for _, crd := range crds {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return fmt.Errorf("converting CRD %s: %w", crd.Name, err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return installCRDs(ctx, cfg, objects)
}

// InstallV1Beta1Claims has IPAddressClaims of InstallCAPICRDs served as v1beta1, too. Objects look
// as in v1beta2, and as in Cluster API's v1beta1 spec.poolRef.apiGroup may be any text.
func InstallV1Beta1Claims(ctx context.Context, cfg *rest.Config) error {
	crds, err := CAPICRDs()
	if err != nil {
		return err
	}
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Names.Kind != "IPAddressClaim"
	})
	for _, crd := range crds {
		older := crd.Spec.Versions[0].DeepCopy()
		older.Name, older.Storage = "v1beta1", false
		pool := older.Schema.OpenAPIV3Schema.Properties["spec"].Properties["poolRef"].Properties
		group := pool["apiGroup"]
		group.Pattern = ""
		pool["apiGroup"] = group
		crd.Spec.Versions = append(crd.Spec.Versions, *older)
	}
	return installTyped(ctx, cfg, crds)
}

// InstallCAPM3CRDs installs the kinds of CAPM3 that lead from a claim to its host. They take whatever is written, and nobody acts on them.
func InstallCAPM3CRDs(ctx context.Context, cfg *rest.Config) error {
	const group, version = "infrastructure.cluster.x-k8s.io", "v1beta1"
	return installCRDs(ctx, cfg, []*unstructured.Unstructured{
		permissiveCRD(group, version, "Metal3Data", "metal3datas"), permissiveCRD(group, version, "Metal3DataClaim", "metal3dataclaims"),
		permissiveCRD(group, version, "Metal3Machine", "metal3machines"),
	})
}

// InstallCAPOCRDs installs the kind of CAPO that owns a claim for a floating IP, and CAPO's own pool. They take whatever is written, and no
// controller acts on them.
func InstallCAPOCRDs(ctx context.Context, cfg *rest.Config) error {
	return installCRDs(ctx, cfg, []*unstructured.Unstructured{
		permissiveCRD("infrastructure.cluster.x-k8s.io", "v1alpha1", "OpenStackServer", "openstackservers"),
		permissiveCRD("infrastructure.cluster.x-k8s.io", "v1alpha1", "OpenStackFloatingIPPool", "openstackfloatingippools"),
	})
}

func permissiveCRD(group, version, kind, plural string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": plural, "singular": strings.ToLower(kind), "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
}

// CAPICRDs returns the CRDs of Cluster API's core provider (clusters, machines,
// ipaddressclaims, ipaddresses, ...) from the module that go.mod names. They
// serve their storage version only, v1beta2: the others need the core
// provider's conversion webhook.
func CAPICRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	dir, err := clusterAPIDir()
	if err != nil {
		return nil, err
	}
	objects, err := ReadManifests(filepath.Join(dir, "core", "config", "crd", "bases"))
	if err != nil {
		return nil, err
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(objects))
	for _, object := range objects {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			return nil, fmt.Errorf("converting CRD %s: %w", object.GetName(), err)
		}
		crds = append(crds, servingStorageOnly(crd))
	}
	return crds, nil
}

// clusterAPIDir is the folder of Cluster API's module.
func clusterAPIDir() (string, error) {
	root, err := RepoRoot()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", clusterAPIModule)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w", clusterAPIModule, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// servingStorageOnly reduces the CRD to what works without a conversion webhook
// and labels it as the core provider's release does.
func servingStorageOnly(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version}
			break
		}
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	if crd.Labels == nil {
		crd.Labels = map[string]string{}
	}
	crd.Labels["cluster.x-k8s.io/provider"] = "cluster-api"
	crd.Labels["cluster.x-k8s.io/v1beta2"] = "v1beta2"
	return crd
}

func installCRDs(ctx context.Context, cfg *rest.Config, crds []*unstructured.Unstructured) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	for _, crd := range crds {
		crd = crd.DeepCopy()
		unstructured.RemoveNestedField(crd.Object, "status")
		if err := apply(ctx, c, crd); err != nil {
			return err
		}
	}
	for _, crd := range crds {
		if err := waitServed(ctx, c, crd.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// waitServed waits until the CRD is established and its objects can be listed:
// the API server serves a kind a moment after it calls it established.
func waitServed(ctx context.Context, c client.Client, name string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, crdTimeout, true, func(ctx context.Context) (bool, error) {
		last = served(ctx, c, name)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for CRD %s: %w: %w", name, err, last)
	}
	return nil
}

func served(ctx context.Context, c client.Client, name string) error {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := c.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
		return fmt.Errorf("reading CRD: %w", err)
	}
	typed := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, typed); err != nil {
		return fmt.Errorf("converting CRD: %w", err)
	}
	for _, version := range typed.Spec.Versions {
		if !version.Served {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: typed.Spec.Group, Version: version.Name, Kind: typed.Spec.Names.ListKind,
		})
		if err := c.List(ctx, list, client.Limit(1)); err != nil {
			return fmt.Errorf("listing %s: %w", version.Name, err)
		}
	}
	return nil
}

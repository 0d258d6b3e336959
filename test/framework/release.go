// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

const (
	componentsFile = "ipam-components.yaml"
	// Metal3Components is the set of components for Metal3's kinds, for Clusterctl.ChooseComponents and ReadManifests.
	Metal3Components = "ipam-components-metal3.yaml"
	// InClusterComponents is the set for the in-cluster provider's pools.
	InClusterComponents = "ipam-components-in-cluster.yaml"
	// BothComponents is the set for Metal3's kinds and the in-cluster provider's pools.
	BothComponents = "ipam-components-metal3-in-cluster.yaml"
	// OpenStackComponents is the set for floating IPs.
	OpenStackComponents = "ipam-components-openstack.yaml"
	// EdgeComponents is the set for members without Cluster API and cert-manager.
	EdgeComponents = "ipam-components-edge.yaml"
)

// ReleaseDir returns the folder that `make release-manifests` wrote last.
func ReleaseDir() (string, error) {
	root, err := RepoRoot()
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(root, "out", "ipam-weir", "*", componentsFile))
	if err != nil || len(files) == 0 {
		return "", errors.Join(errors.New("finding the release: run 'make release-manifests' first"), err)
	}
	return filepath.Dir(slices.MaxFunc(files, byAge)), nil
}

func byAge(a, b string) int { return modified(a).Compare(modified(b)) }

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func releaseObjects(components string) ([]*unstructured.Unstructured, error) {
	dir, err := ReleaseDir()
	if err != nil {
		return nil, err
	}
	return ReadManifests(filepath.Join(dir, components))
}

func splitWebhooks(objects []*unstructured.Unstructured) (others, webhooks []*unstructured.Unstructured) {
	for _, object := range objects {
		if slices.Contains(webhookKinds, object.GetKind()) {
			webhooks = append(webhooks, object)
		} else {
			others = append(others, object)
		}
	}
	return others, webhooks
}

// InstallRelease installs the built release, and the kinds of cert-manager that
// it uses. Its webhook configurations come with PointWebhooks: before a manager
// runs they would refuse all pools. Nobody makes pods of its Deployment.
func InstallRelease(ctx context.Context, cfg *rest.Config) error {
	return installComponents(ctx, cfg, componentsFile)
}

// InstallComponents returns a step that installs another of the built release's sets of components.
func InstallComponents(components string) Step {
	return func(ctx context.Context, cfg *rest.Config) error { return installComponents(ctx, cfg, components) }
}

func installComponents(ctx context.Context, cfg *rest.Config, components string) error {
	objects, err := releaseObjects(components)
	if err != nil {
		return err
	}
	if err := InstallCertManagerCRDs(ctx, cfg); err != nil {
		return err
	}
	others, _ := splitWebhooks(objects)
	return Apply(ctx, cfg, others...)
}

// InstallWeirCRDs installs Weir's CRDs and the namespace of its managers. There
// are no roles and no policies: managers are administrators.
func InstallWeirCRDs(ctx context.Context, cfg *rest.Config) error {
	root, err := RepoRoot()
	if err != nil {
		return err
	}
	if err := InstallCRDs(ctx, cfg, filepath.Join(root, "config", "crd", "bases")); err != nil {
		return fmt.Errorf("installing Weir's CRDs: %w", err)
	}
	return Apply(ctx, cfg, &unstructured.Unstructured{Object: namespaceOf(ManagerNamespace)})
}

// InstallMetal3Policies installs the policies on the kinds of ipam.metal3.io, as Weir ships them but for the prefix of their names.
func InstallMetal3Policies(ctx context.Context, cfg *rest.Config) error {
	return installPolicies(ctx, cfg, "metal3")
}

// InstallInClusterPolicies installs the policies on the in-cluster provider's pools, and on what names them, in the same way.
func InstallInClusterPolicies(ctx context.Context, cfg *rest.Config) error {
	return installPolicies(ctx, cfg, "incluster")
}

func installPolicies(ctx context.Context, cfg *rest.Config, set string) error {
	root, err := RepoRoot()
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "config", set, "policy")
	policies, err := ReadManifests(folder)
	if err != nil {
		return err
	}
	return Apply(ctx, cfg, policies...)
}

// InstallInClusterCRDs installs the in-cluster provider's kinds of pools, as Weir ships them.
func InstallInClusterCRDs(ctx context.Context, cfg *rest.Config) error {
	root, err := RepoRoot()
	if err != nil {
		return err
	}
	return InstallCRDs(ctx, cfg, filepath.Join(root, "config", "incluster", "crd", "bases"))
}

// InstallMetal3CRDs installs the kinds of ipam.metal3.io, as Weir ships them.
func InstallMetal3CRDs(ctx context.Context, cfg *rest.Config) error {
	root, err := RepoRoot()
	if err != nil {
		return err
	}
	if err := InstallCRDs(ctx, cfg, filepath.Join(root, "config", "metal3", "crd", "bases")); err != nil {
		return fmt.Errorf("installing the CRDs of ipam.metal3.io: %w", err)
	}
	return nil
}

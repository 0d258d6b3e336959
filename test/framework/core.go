// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	coreManager = "core-manager"
	coreTimeout = 3 * time.Minute
)

// InstallProviderCRDs returns a step that installs kinds of another provider in the version v1beta1, by their plurals. They take whatever is
// written. Cluster API's core manager follows them, as kinds of its contract v1beta2.
func InstallProviderCRDs(group string, kinds map[string]string) Step {
	return func(ctx context.Context, cfg *rest.Config) error {
		crds := make([]*unstructured.Unstructured, 0, len(kinds))
		for kind, plural := range kinds {
			crd := permissiveCRD(group, "v1beta1", kind, plural)
			crd.SetLabels(map[string]string{clusterv1.GroupVersion.String(): "v1beta1"})
			crds = append(crds, crd)
		}
		return installCRDs(ctx, cfg, crds)
	}
}

// StartCoreManager starts Cluster API's own core manager, with its webhooks, and waits until the API server has these complete what is created.
// It needs InstallCAPICRDs, and ends with this process.
func (s *Site) StartCoreManager(ctx context.Context) (*Daemon, error) {
	ctx, cancel := context.WithTimeout(ctx, coreTimeout)
	defer cancel()
	webhooks, err := FreePort()
	if err != nil {
		return nil, err
	}
	health, err := FreePort()
	if err != nil {
		return nil, err
	}
	path, err := Binary(coreManager)
	if err != nil {
		return nil, err
	}
	daemon, err := StartDaemon(DaemonOptions{
		Name: coreManager, Path: path, LogPath: s.LogPath(coreManager), Env: []string{"NO_PROXY=*", "no_proxy=*"},
		Args: []string{
			"--kubeconfig=" + s.KubeconfigPath(), "--leader-elect=false",
			"--insecure-diagnostics", "--diagnostics-address=0", "--health-addr=" + hostPort(health),
			fmt.Sprintf("--webhook-port=%d", webhooks), "--webhook-cert-dir=" + s.WebhookCerts(),
			// The CRDs have one version.
			"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
		},
	})
	if err != nil {
		return nil, err
	}
	err = daemon.Wait(ctx, httpProbe(http.DefaultClient, "http://"+hostPort(health)+"/readyz"))
	if err == nil {
		err = s.installCoreWebhooks(ctx, hostPort(webhooks))
	}
	if err != nil {
		return nil, errors.Join(err, daemon.Stop())
	}
	return daemon, nil
}

// installCoreWebhooks installs the core manager's webhook configurations, and returns when the API server calls them.
func (s *Site) installCoreWebhooks(ctx context.Context, address string) error {
	dir, err := clusterAPIDir()
	if err != nil {
		return err
	}
	configurations, err := ReadManifests(filepath.Join(dir, "core", "config", "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	for _, configuration := range configurations {
		configuration.SetName("capi-" + configuration.GetName())
		if err = RedirectWebhooks(configuration, s.ca, "https://"+address); err != nil {
			return err
		}
	}
	if err = Apply(ctx, s.Config(), configurations...); err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		last = s.probeCoreWebhooks(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the webhooks of %s: %w", coreManager, errors.Join(err, last))
	}
	return nil
}

// probeCoreWebhooks creates a MachineDeployment, with nothing stored, whose selector the webhooks fill in.
func (s *Site) probeCoreWebhooks(ctx context.Context) error {
	probe := &unstructured.Unstructured{Object: object{"spec": object{
		"clusterName": probeName, "selector": object{},
		"template": object{"spec": object{
			"clusterName": probeName, "bootstrap": object{"dataSecretName": probeName},
			"infrastructureRef": object{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "None", "name": probeName},
		}},
	}}}
	probe.SetGroupVersionKind(schema.GroupVersionKind{Group: clusterv1.GroupVersion.Group, Version: "v1beta2", Kind: "MachineDeployment"})
	probe.SetNamespace("default")
	probe.SetName(probeName)
	if err := s.client.Create(ctx, probe, client.DryRunAll); err != nil {
		return fmt.Errorf("creating a MachineDeployment: %w", err)
	}
	if labels, _, _ := unstructured.NestedMap(probe.Object, "spec", "selector", "matchLabels"); len(labels) == 0 {
		return errors.New("a MachineDeployment is created without a selector")
	}
	return nil
}

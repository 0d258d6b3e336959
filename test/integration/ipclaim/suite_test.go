// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipclaim tests Weir's own claims and pools carved from pools on a real API server with a real garbage collector: webhooks,
// controllers and ledger together, the manager running in this process.
//
//   - creates_test.go: what the create call answers, and pools and claims after it.
//   - refused_test.go: what a quota refuses, after the webhooks have answered or without them.
//   - clusters_test.go: claims whose Cluster is paused, missing or moved.
//   - arrival_test.go: claims and pools that are restored.
//   - hazards_test.go: managers whose cache is old, by the hazards of docs/design.
//   - odd_test.go: a status that cannot be read, second records, and copies of others' claims.
package ipclaim

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// withoutWebhooks labels the namespaces of which no webhook is asked.
const withoutWebhooks = "example.com/without-webhooks"

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k client.Client
)

func TestIPClaim(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "IPClaim")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs},
	})
	k = client.WithFieldOwner(site.Client(), "spec")
	certs := GinkgoT().TempDir()
	bundle, err := framework.ServingCerts(certs)
	Expect(err).NotTo(HaveOccurred())
	webhooks := suite.RunManager(site, certs)
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	configurations, err := framework.ReadManifests(root + "/config/webhook/manifests.yaml")
	Expect(err).NotTo(HaveOccurred())
	for _, c := range configurations {
		Expect(framework.RedirectWebhooks(c, bundle, "https://"+webhooks)).To(Succeed())
		exempt(c)
	}
	Expect(framework.Apply(ctx, site.Config(), configurations...)).To(Succeed())
	Eventually(func() string { // the API server takes its time to notice them
		pool := newPool("default", "probe", ipamv1.IPPoolSpec{CIDR: "192.0.2.0/24"})
		_ = k.Create(ctx, pool, client.DryRunAll)
		return string(pool.Spec.IPFamily)
	}, "1m", "100ms").Should(Equal("IPv4"))
}, NodeTimeout(3*time.Minute))

// exempt has a configuration's webhooks leave namespaces alone that are labelled withoutWebhooks.
func exempt(configuration *unstructured.Unstructured) {
	GinkgoHelper()
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	Expect(err).NotTo(HaveOccurred())
	for _, webhook := range webhooks {
		webhook.(map[string]any)["namespaceSelector"] = map[string]any{
			"matchExpressions": []any{map[string]any{"key": withoutWebhooks, "operator": "DoesNotExist"}},
		}
	}
	Expect(unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")).To(Succeed())
}

// newNamespace makes a namespace of the spec's own.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	return suite.Namespace(ctx, k, nil)
}

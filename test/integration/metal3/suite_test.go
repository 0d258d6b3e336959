// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3 tests the kinds of ipam.metal3.io on a real API server.
//
//   - crds_test.go: what their CRDs accept, refuse, keep and set. No manager runs on that API server.
//   - policies_test.go: who may change what.
//   - claims_test.go: Metal3's IPClaims and IPAddresses.
//   - clusterapi_test.go: IPAddressClaims of Metal3's pools, and what Metal3's own controller has made.
//   - capm3_test.go: what CAPM3 does with claims, step by step, and the network data that a host gets.
//   - written_test.go: which pools and claims are refused when they are written.
//   - late_test.go: what a manager stores when another one has answered the claim.
//   - parents_test.go: pools that are carved from a GlobalIPPool.
//   - pools_test.go: the life of a pool: which addresses it has, conditions, Cluster, address space, deletion.
package metal3

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	// site has a manager, and idle has none.
	site, idle *framework.Site
	// k and raw write there as kubectl does: unknown fields are an error.
	k, raw client.Client
	// logged is the log of the manager in this process.
	logged *suite.Journal
	// samples is the folder of samples with every field.
	samples string
)

func TestMetal3(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Metal3")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	logged = suite.StartJournal()
	idle = suite.StartSite(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallMetal3CRDs}, Scheme: scheme})
	raw = strict(idle)
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{
			framework.InstallWeirCRDs, framework.InstallCAPICRDs, framework.InstallMetal3CRDs, framework.InstallMetal3Policies,
			framework.InstallCAPM3CRDs,
		},
		Scheme: scheme,
	})
	k = strict(site)
	komega.SetClient(k)
	certs := GinkgoT().TempDir()
	bundle, err := framework.ServingCerts(certs)
	Expect(err).NotTo(HaveOccurred())
	webhooks := suite.RunManagerWith(site, certs, func(o *setup.Options) { o.FeatureGates = map[string]string{"Metal3": "true"} })
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	suite.GuardPools(ctx, site, filepath.Join(root, "config", "metal3", "webhook", "pools.yaml"), bundle, "https://"+webhooks)
	samples = filepath.Join(root, "api", "metal3", "v1alpha1", "testdata")
}, NodeTimeout(10*time.Minute))

func strict(on *framework.Site) client.Client {
	return client.WithFieldOwner(client.WithFieldValidation(on.Client(), metav1.FieldValidationStrict), "spec")
}

func scheme() (*runtime.Scheme, error) {
	s, err := setup.Scheme()
	if err != nil {
		return nil, err
	}
	return s, m3v1.AddToScheme(s)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package incluster follows the guide "From the in-cluster provider to Weir, and back" command by command, with the real clusterctl and managers
// as processes, on a site as the in-cluster provider leaves it. Its manager is not to be had: a stand-in of its components is installed, and
// what it would read and write is done by the suite.
//
//   - takeover_test.go: there, back, and there again.
//   - plugin_test.go: what kubectl weir shows of the pools, while Weir serves them and while it does not.
//   - site_test.go: the site.
//   - upstream_test.go: the in-cluster provider's components, and what its manager reads and writes.
package incluster

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	patience = "3m"
	interval = "100ms"
)

var (
	site  *framework.Site
	admin *suite.Administrator
)

func TestInCluster(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "In-cluster take-over")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallCertManagerCRDs}, Scheme: scheme})
	admin = suite.NewAdministrator(site, "from-in-cluster.md", framework.InClusterComponents, provider)
}, NodeTimeout(3*time.Minute))

var _ = AfterEach(func() { suite.Evidence(site) })

// scheme has Weir's kinds and the in-cluster provider's.
func scheme() (*runtime.Scheme, error) {
	s, err := setup.Scheme()
	if err != nil {
		return nil, err
	}
	return s, icv1.AddToScheme(s)
}

func claimOf(ns, name, kind, pool string) *ipamv1beta2.IPAddressClaim {
	claim := &ipamv1beta2.IPAddressClaim{}
	claim.Namespace, claim.Name = ns, name
	claim.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: icv1.GroupVersion.Group, Kind: kind, Name: pool}
	return claim
}

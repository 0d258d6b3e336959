// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash kills a manager process at each of its writes, on every path that it walks, and lets another one go on.
//
//   - crash_test.go: the specs, one for each path and kind of pool.
//   - writes_test.go: that the kind of pool changes no write, where the gate walks a path with one kind.
//   - paths_test.go: the paths of Cluster API's claims and of pools.
//   - own_test.go: the paths of Weir kinds, create calls included.
//   - metal3_test.go: the paths of Metal3's kinds, whose commit is the status of the claim.
//   - other_test.go: the paths of another front door, and its objects beside those of all paths.
package crash

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// clusterName is what copies are delegated to the managers' cluster by.
const clusterName = "edge-z"

var (
	site   *framework.Site
	config *rest.Config
	k      client.Client
	// binary is Weir's manager with another front door beside its own.
	binary string
	// managerArgs open every door.
	managerArgs = []string{"--feature-gates=Metal3=true,Federation=true", "--cluster-name=" + clusterName}
)

func TestCrash(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = size.Of[time.Duration](1, 2, 12) * time.Hour // Ginkgo's own is an hour
	RunSpecs(t, "Crash", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs, framework.InstallMetal3CRDs, otherdoor.InstallCRDs},
		Scheme:  scheme,
	})
	config, k = site.Config(), site.Client()
	var err error
	binary, err = framework.Binary("other-manager")
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func() {
	suite.Evidence(site)
	Expect(site.KillManagers()).To(Succeed())
})

var _ = AfterSuite(func() {
	framework.Account(fmt.Sprintf("a manager process was killed at %d points", killed))
})

// healthy runs a manager that nothing happens to while do is done. It soon gives up what was reserved for nobody.
func healthy(ctx context.Context, do func(*framework.Manager)) {
	GinkgoHelper()
	m, err := site.StartManager(ctx, framework.ManagerOptions{
		Name: "healthy", Binary: binary, Args: append([]string{"--repair-grace=1s"}, managerArgs...),
	})
	Expect(err).NotTo(HaveOccurred())
	do(m)
	Expect(m.Kill()).To(Succeed())
}

func scheme() (*runtime.Scheme, error) {
	s, err := otherdoor.Scheme()
	return s, errors.Join(err, m3v1.AddToScheme(s))
}

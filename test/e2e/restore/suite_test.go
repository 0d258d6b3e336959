// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore wipes a cluster and restores it from a backup of all objects without status, in random orders, and shows that every
// claim ends with the address that it had, that nothing is handed out meanwhile that is somebody's, and that what collides with
// others is told and not renumbered.
//
//   - orders_test.go: backups restored in random orders end in the same state.
//   - conflicts_test.go: a backup restored onto a cluster that hands out already.
//   - arrivals_test.go: claims and addresses restored without the rest.
//   - inventory_test.go, backup_test.go: what is backed up, and how.
package restore

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// orders is how many random orders are restored.
var orders = size.Of(1, 2, 50)

var (
	site *framework.Site
	// k is the administrator's.
	k       client.Client
	manager *framework.Manager
)

func TestRestore(t *testing.T) {
	RegisterFailHandler(Fail)
	format.MaxLength = 20000
	config, reporter := GinkgoConfiguration()
	config.Timeout = time.Duration(10+5*orders) * time.Minute
	RunSpecs(t, "Restore", config, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options:    framework.Options{ControllerManager: true},
		Components: framework.BothComponents, Install: []framework.Step{framework.InstallCAPICRDs},
		Scheme: suite.SchemeWithBoth,
	})
	manager = suite.StartManager(ctx, site, "--feature-gates=Metal3=true,InCluster=true")
	Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed())
	k = site.Client()
}, NodeTimeout(3*time.Minute))

var _ = AfterEach(func() { suite.Evidence(site) })

// The specs are about one inventory, which the first one makes: they run in order.
var _ = Describe("A backup of all objects without status", Ordered, func() {
	var saved *backup

	BeforeAll(func(ctx SpecContext) {
		settle(ctx)
		saved = takeBackup(ctx)
	}, NodeTimeout(3*time.Minute))

	for i := range orders {
		It("is restored in any order to the same state", func(ctx SpecContext) { saved.expectRestored(ctx, orderNumber(i)) },
			SpecTimeout(5*time.Minute))
	}

	It("is restored onto a cluster that hands out already, loses nothing, and every conflict is told on both sides", func(ctx SpecContext) {
		saved.expectConflicts(ctx)
	}, SpecTimeout(8*time.Minute))

	It("may lack a part: claims wait for their addresses, and addresses are kept for their claims", func(ctx SpecContext) {
		expectArrivals(ctx)
	}, SpecTimeout(5*time.Minute))
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hierarchy shows pools that are carved from pools: a manager process carves
// them on a real API server, inside the create call.
package hierarchy

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/scene"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "1m"

var (
	site    *framework.Site
	k       client.WithWatch
	manager *framework.Manager
)

func TestHierarchy(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Hierarchy of pools")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	site, err = framework.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
		Scheme:  setup.Scheme,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(site.Stop)
	k = site.Client()
	manager, err = site.StartManager(ctx, framework.ManagerOptions{Args: []string{"--repair-grace=3s"}})
	Expect(err).NotTo(HaveOccurred())
	Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed())
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		site.ShowLogs(GinkgoWriter)
		return
	}
	scene.AtRest(ctx, site)
}, NodeTimeout(2*time.Minute))

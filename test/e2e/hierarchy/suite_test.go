// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hierarchy shows pools that are carved from pools: a manager process carves
// them on a real API server, inside the create call.
//
//   - tree_test.go: chains, capacity, exclusions above, dry runs, replaced and deleted children.
//   - refusals_test.go: which children are refused, and that nothing of them is stored or recorded.
//   - visibility_test.go: who may carve from which pool, and of what length.
//   - overlap_test.go: roots that overlap, created at once or one after the other.
//   - protect_test.go: parents that are deleted before their children, and whole trees at once.
//   - bypassed_test.go: children that come past the webhooks.
package hierarchy

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
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
	site, manager = suite.Start(ctx, "--repair-grace=3s")
	k = site.Client()
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		site.ShowLogs(GinkgoWriter)
		return
	}
	suite.AtRest(ctx, site.Config())
}, NodeTimeout(2*time.Minute))

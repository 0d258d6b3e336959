// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation shows what a hub holds for its members, with a manager process, the release's policies, and what deletes and
// collects objects in a real cluster. There are no members: specs write what one reports.
//
//   - vanished_test.go: pools and namespaces that vanish, and pools that are made again under their names.
//   - released_test.go: what ends a hold without a report.
//   - reported_test.go: what members report, and when that ends a hold.
//   - refused_test.go: what is left of creates that the API server refuses.
//   - expanded_test.go: further pools beside one that runs low, with three managers.
//   - helpers_test.go: the pools of a spec, and what is expected of them.
package delegation

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "2m"

var (
	site    *framework.Site
	k       client.WithWatch
	manager *framework.Manager
)

func TestDelegation(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Delegation")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site, manager = suite.Start(ctx, "--feature-gates=Federation=true", "--repair-grace=2s")
	k = site.Client()
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func(ctx SpecContext) {
	suite.Evidence(site)
	report, err := fsck.Check(ctx, site.Config())
	Expect(err).NotTo(HaveOccurred())
	suite.Safe(report)
}, NodeTimeout(time.Minute))

var _ = AfterSuite(func(ctx SpecContext) { suite.AtRest(ctx, site.Config()) }, NodeTimeout(6*time.Minute))

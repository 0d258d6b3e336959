// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package weirkinds shows what becomes of Weir's own kinds: a manager process answers IPClaims and carves pools from pools on a real API
// server, inside the create call.
//
// IPClaims:
//   - lifecycle_test.go: create, status, changes and deletion of a claim.
//   - sizes_test.go: prefixes of every length, and of the client's choice.
//   - selector_test.go: claims that choose their pool by labels.
//   - claims_visibility_test.go: which GlobalIPPool answers which client, with what lengths, and what a refusal shows of others.
//   - retain_test.go: prefixes that are retained for the next claim of the name.
//   - exhaustion_test.go: full pools.
//   - claims_refusals_test.go: which claims are refused, and that nothing of them is stored or recorded.
//   - rejected_test.go: what a quota refuses after Weir has answered.
//   - applied_test.go: manifests that kubectl applies at once, also with IPAddresses that are not Weir's.
//   - dryrun_test.go: dry runs, generated names, and names that are taken or impossible.
//   - events_test.go: reads the events about an object.
//   - draining_test.go: a namespace that is deleted.
//   - claims_bypassed_test.go: claims that come past the webhooks, and while no manager runs.
//
// Pools:
//   - tree_test.go: chains, capacity, exclusions above, dry runs, replaced and deleted children.
//   - pools_refusals_test.go: which children are refused, and that nothing of them is stored or recorded.
//   - pools_visibility_test.go: who may carve from which pool, and of what length.
//   - overlap_test.go: roots that overlap, created at once or one after the other.
//   - protect_test.go: parents that are deleted before their children, and whole trees at once.
//   - pools_bypassed_test.go: children that come past the webhooks.
package weirkinds

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
const patience = "3m"

var (
	site    *framework.Site
	k       client.WithWatch
	manager *framework.Manager
)

func TestWeirKinds(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Weir's own kinds")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site, manager = suite.Start(ctx, "--repair-grace=3s")
	k = site.Client()
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func(ctx SpecContext) {
	suite.Evidence(site)
	agree(ctx)
	report, err := fsck.Check(ctx, site.Config())
	Expect(err).NotTo(HaveOccurred())
	suite.Safe(report)
}, NodeTimeout(5*time.Minute))

// What a spec leaves over is named by its namespace. Repair needs its grace only once for all of them.
var _ = AfterSuite(func(ctx SpecContext) {
	suite.AtRest(ctx, site.Config())
	countAgreed()
}, NodeTimeout(10*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package move moves Clusters with the real clusterctl between two real control planes, garbage collectors included, with Weir
// on both, and shows that every claim keeps its address and that no address is handed out twice on either side.
//
//   - move_test.go: there and back with claims of all kinds of pools.
//   - cases_test.go: a target that has the pool already, and a pool that is given another home.
//   - preflight_test.go: what Movable names stays, and clusterctl waits for it.
//   - stopped_test.go, paused_test.go: Weir is down on the source; a Cluster is paused for hours.
//   - killed_test.go, copied_test.go: clusterctl is killed; it goes through a directory.
//   - metal3_test.go: Metal3's kinds, there and back, a pool of them that stays, and one that is carved.
//   - incluster_test.go: the in-cluster provider's pools, there and back; a global one hands out on one side only.
//   - openstack_test.go, interrupted_test.go: pools of floating IPs, there and back; clusterctl is killed, the cloud away; through a directory.
//   - orphaned_test.go: the claims' Cluster is missing.
//   - cluster_test.go: tenants, their Clusters, pools and claims.
//   - checks_test.go, history_test.go: what must hold on both sides, each second and at each moment.
package move

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const version = "v0.1.0"

// side is a management cluster with Weir.
type side struct {
	*framework.Site
	ctl     *framework.Clusterctl
	manager *framework.Manager
	history *framework.History
}

// left and right are where Clusters move to and fro.
var left, right *side

func TestMove(t *testing.T) {
	RegisterFailHandler(Fail)
	format.MaxLength = 20000
	RunSpecs(t, "Move")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	left, right = startSide(ctx), startSide(ctx)
}, NodeTimeout(10*time.Minute))

var _ = AfterEach(func() { suite.Evidence(left.Site, right.Site) })

var _ = Describe("clusterctl move", func() {
	BeforeEach(lookOn)
	BeforeEach(followOn)

	It("claims of all pool kinds move there and back with their addresses, and both sides go on", thereAndBack, SpecTimeout(16*time.Minute))
	It("a pool is at home where somebody with the right says", home, SpecTimeout(10*time.Minute))
	It("a Cluster that is paused for hours keeps all it has, and gives up only then what it must", pausedForLong, SpecTimeout(10*time.Minute))
	It("a move that is killed while it creates goes on when it is called again; what was being deleted lives again", killedCreating, SpecTimeout(12*time.Minute))
	It("Metal3's claims move there and back with their pool, if that is of their Cluster", metal3Moves, SpecTimeout(12*time.Minute))
	It("claims of floating IPs move there and back, with their pool and its Secret; in the cloud nothing is created, deleted or unbound", floatingIPsMove, SpecTimeout(12*time.Minute))
	It("claims whose Cluster is missing wait with what they have; one that goes then gives up what was held for it", orphaned, SpecTimeout(12*time.Minute))
	size.FromLong(func() {
		It("a target that has the global pool already, and the release of what is held", bothHave, SpecTimeout(12*time.Minute))
		It("what a pool's condition names is what stays, and clusterctl waits until that is mended or allowed", preflight, SpecTimeout(16*time.Minute))
		It("a move while Weir is down on the source stops and frees nothing", stopped, SpecTimeout(12*time.Minute))
		It("a pool of Metal3's that is carved moves with what it has of its parent, which stays at home", metal3Carved, SpecTimeout(12*time.Minute))
		It("claims of the in-cluster provider's pools move there and back; a global pool hands out at its home", inClusterMoves, SpecTimeout(12*time.Minute))
		It("claims of floating IPs of a GlobalIPPool move there and back with what they have; the pool stays on both sides", globalFloatingIPsMove, SpecTimeout(12*time.Minute))
		It("a move of floating IPs that is killed, while it creates and while it deletes, changes nothing in the cloud; the target takes over when that answers", floatingIPsKilled, SpecTimeout(12*time.Minute))
		It("floating IPs that are copied through a directory are the target's; what is deleted on the source releases nothing", floatingIPsCopied, SpecTimeout(12*time.Minute))
		It("a move that is killed while it deletes is finished by hand", killedDeleting, SpecTimeout(12*time.Minute))
		It("a move through a directory leaves two owners until one of them is removed", copied, SpecTimeout(12*time.Minute))
		It("a pool of Metal3's that is of no Cluster stays, and holds what its claims have", metal3Stays, SpecTimeout(12*time.Minute))
	})
})

func startSide(ctx context.Context) *side {
	GinkgoHelper()
	s := &side{Site: suite.StartSite(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallCertManagerCRDs}, Scheme: suite.SchemeWithBoth})}
	var err error
	s.ctl, err = s.Clusterctl(version)
	Expect(err).NotTo(HaveOccurred())
	Expect(s.ctl.ChooseComponents(framework.BothComponents)).To(Succeed())
	_, err = s.ctl.Init(ctx, version)
	Expect(err).NotTo(HaveOccurred())
	Expect(s.StartControllerManager(ctx)).To(Succeed())
	s.manager = startManager(ctx, s)
	Expect(s.PointWebhooks(ctx, s.manager.WebhookAddress())).To(Succeed())
	s.history, err = framework.FollowHistory(ctx, s.EtcdURL())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.history.Stop)
	return s
}

// startManager starts a manager with all gates open.
func startManager(ctx context.Context, s *side, args ...string) *framework.Manager {
	GinkgoHelper()
	return suite.StartManager(ctx, s.Site,
		append([]string{"--feature-gates=Metal3=true,InCluster=true,OpenStack=true", "--openstack-endpoint-allow=http://127.0.0.1"}, args...)...)
}

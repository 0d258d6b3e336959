// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package federation delegates pools of a hub to two member clusters, with managers as processes at all three, and a propagator that
// carries the pools as Karmada does.
//
//   - delegating_test.go: what the hub answers, records and refuses.
//   - above_test.go: what pools above keep back, which members do not know.
//   - serving_test.go: what a member hands out of its copy, also while the hub is away.
//   - copies_test.go: copies that a member refuses, and those that it does not serve.
//   - handing_back_test.go: what members do with blocks that the hub takes back.
//   - settings_test.go: managers without the gate, without a name, and with another's.
//   - reports_test.go: what members report, as the hub shows it, with and without Karmada's API and the right to read it.
//   - expansion_test.go: a pool that is expanded, whose claims know its label only.
//   - storm_test.go: thousands of claims while the hub is stopped.
//   - failures_test.go: the table of failures, whose rows happen at random; failure_rows_test.go: each row; failure_rest_test.go: how it ends.
//   - closing_test.go: pools that are deleted at the hub, which waits for their members.
//   - vanished_test.go: pools that vanish at the hub, and are made again under their names.
//   - restored_test.go: members that are rebuilt, or restored from a backup, and pools that are restored at the hub.
//   - metal3_test.go: Metal3's claims at a member.
//   - world_test.go: the pools and claims of a spec.
//   - checks_test.go: what must hold of all three clusters, at each look.
package federation

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "2m"

// Flags of managers.
const (
	federationGate = "--feature-gates=Federation=true"
	memberGates    = "--feature-gates=Federation=true,Metal3=true"
	// shortGrace is how long records of creates that came to nothing stay, which the suite waits for at its end.
	shortGrace = "--repair-grace=10s"
)

// cluster is the hub or a member.
type cluster struct {
	*framework.Site
	// name is what pools are delegated to it by; "" for the hub.
	name string
	// flags are what its manager has unless a spec is about them.
	flags   []string
	manager *framework.Manager
}

var (
	hub, edgeA, edgeB *cluster
	// placement carries delegated pools to the members.
	placement *propagator.Propagator
	// delegations are the hub's, for the checker.
	delegations *fsck.Hub
)

func TestFederation(t *testing.T) {
	RegisterFailHandler(Fail)
	format.MaxLength = 20000
	config, reporter := GinkgoConfiguration()
	config.Timeout = size.Of[time.Duration](1, 2, 3) * time.Hour // Ginkgo's own is an hour
	RunSpecs(t, "Federation", config, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	hub = startCluster(ctx, "", framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
	}, federationGate, shortGrace)
	member := framework.SiteOptions{Components: framework.Metal3Components, Install: []framework.Step{framework.InstallCAPICRDs}}
	edgeA = startCluster(ctx, "edge-a", member, memberGates, shortGrace, "--cluster-name=edge-a")
	edgeB = startCluster(ctx, "edge-b", member, memberGates, shortGrace, "--cluster-name=edge-b")
	delegations = fsck.NewHub(hub.Config())
	placement = propagator.New(hub.Client(), map[string]client.Client{edgeA.name: edgeA.Client(), edgeB.name: edgeB.Client()},
		ipamv1.GroupVersion.WithKind(ipamv1.IPPoolKind), ipamv1.GroupVersion.WithKind(ipamv1.GlobalIPPoolKind))
	placement.Start()
	DeferCleanup(placement.Stop)
}, NodeTimeout(8*time.Minute))

func startCluster(ctx context.Context, name string, options framework.SiteOptions, flags ...string) *cluster {
	GinkgoHelper()
	options.Scheme = suite.SchemeWithMetal3
	c := &cluster{Site: suite.StartSite(ctx, options), name: name, flags: flags}
	c.serve(ctx, flags...)
	return c
}

// serve has one manager with these flags serve the cluster, in place of any other.
func (c *cluster) serve(ctx context.Context, flags ...string) {
	GinkgoHelper()
	Expect(c.KillManagers()).To(Succeed())
	c.manager = suite.StartManager(ctx, c.Site, flags...)
	Expect(c.PointWebhooks(ctx, c.manager.WebhookAddress())).To(Succeed())
}

// configs are the members' by their names.
func configs() map[string]*rest.Config {
	return map[string]*rest.Config{edgeA.name: edgeA.Config(), edgeB.name: edgeB.Config()}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout compares what kubectl weir plan predicts with what Cluster API's own core manager then does, from the size long on. The
// machines' kinds take whatever is written, and the suite does what their infrastructure providers do.
//
//   - rollout_test.go: the specs, and what is planned.
//   - shapes_test.go: how machines of vSphere, Metal3 and Proxmox name pools, and the claims that their providers make of that. Those of Proxmox name
//     the in-cluster provider's.
//   - infrastructure_test.go: what an infrastructure provider does with its machines.
//   - tally_test.go: the most that there was at one moment.
package rollout

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "5m"

const infrastructure = "infrastructure.cluster.x-k8s.io"

var site *framework.Site

func TestRollout(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Rollout")
}

// Nothing collects garbage: the suite deletes the claims of a machine itself.
var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{
		Components: framework.Metal3Components,
		Install: []framework.Step{
			framework.InstallComponents(framework.InClusterComponents), framework.InstallCAPICRDs,
			framework.InstallProviderCRDs(infrastructure, map[string]string{
				"VSphereMachineTemplate": "vspheremachinetemplates", "VSphereMachine": "vspheremachines",
				"Metal3MachineTemplate": "metal3machinetemplates", "Metal3Machine": "metal3machines", "Metal3DataTemplate": "metal3datatemplates",
				"ProxmoxMachineTemplate": "proxmoxmachinetemplates", "ProxmoxMachine": "proxmoxmachines",
			}),
			framework.InstallProviderCRDs("controlplane.cluster.x-k8s.io", map[string]string{"HostedControlPlane": "hostedcontrolplanes"}),
		},
		Scheme: suite.SchemeWithMetal3,
	})
	manager := suite.StartManager(ctx, site, "--feature-gates=Metal3=true,InCluster=true")
	Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed())
	core, err := site.StartCoreManager(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(core.Stop)
}, NodeTimeout(5*time.Minute))

var _ = AfterEach(func() { suite.Evidence(site) })

var _ = Describe("kubectl weir plan", func() {
	size.FromLong(func() {
		DescribeTable("has predicted the addresses of a Cluster, and of a rollout in which it grows", rollsOut,
			Entry("of vSphere", vsphere),
			Entry("of Metal3", metal3),
			Entry("of Proxmox", proxmox),
		)
	})
})

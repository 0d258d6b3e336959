// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack tests pools of floating IPs on a real API server with a real garbage collector,
// against a real Keystone and Neutron and against the fake.
//
// One manager runs in this process and serves what has the label watch-filter=suite. Specs that
// kill managers, or run several, start them as processes, which serve another value of that label.
//
//   - spec_test.go: the cloud, pools and claims of one spec, and what holds at the end of each.
//   - claims_test.go: the life of a claim, on every cloud; and what is refused.
//   - capo_test.go: what CAPO does with claims, step by step, on every cloud.
//   - takeover_test.go: the guide from CAPO's own pool to Weir's, and back; on the real cloud, from size
//     long on.
//   - pools_test.go: credentials, networks, pauses and deletion of pools; on the fake.
//   - end_test.go: pools that are deleted; on the fake.
//   - stock_test.go: floating IPs that exist before, or after, a claim has them; on every cloud. And the
//     subnet of new ones; on the fake.
//   - faults_test.go: lost and refused calls, a cloud that hangs, and how many calls are made; on the
//     fake.
//   - table_test.go: each call that fails each time, in each way: what is told, and that nothing is lost; on the
//     fake.
//   - names_test.go: claims of one name, and IPAddresses made by hand; on the fake.
//   - arrivals_test.go: claims that come by a move or from a backup; on every cloud, and on the fake.
//   - managers_test.go: managers that are killed, two at once, a record that loses, and one whose gate is closed; on
//     the fake.
package openstack

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	// patience is how long what must happen may take: only what never happens fails. On a busy
	// machine the real Neutron takes half a minute for a call.
	patience = "5m"
	// limit is how long a spec may take. The first one on the real cloud starts that.
	limit = 15 * time.Minute
	// suiteFilter is the watch filter of the manager in this process.
	suiteFilter = "suite"
	// loopback is the pattern that allows the endpoints of every cloud.
	loopback = "http://127.0.0.1"
)

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k client.Client
	// logged is the log of the manager in this process, and webhooks the address of its webhooks.
	logged   *suite.Journal
	webhooks string
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestOpenStack(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "OpenStack")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	logged = suite.StartJournal()
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs, framework.InstallCAPOCRDs},
	})
	k = client.WithFieldOwner(client.WithFieldValidation(site.Client(), metav1.FieldValidationStrict), "spec")
	webhooks = suite.RunManagerWith(site, site.WebhookCerts(), func(o *setup.Options) {
		o.FeatureGates, o.EndpointAllow = map[string]string{"OpenStack": "true"}, []string{loopback}
		o.WatchFilter, o.Concurrency = suiteFilter, 32
	})
	callWebhooks(ctx, webhooks)
}, NodeTimeout(limit))

var _ = AfterSuite(func() {
	if realCloud != nil {
		realCloud.member.CloseIdleConnections()
		Expect(realCloud.Stop()).To(Succeed())
	}
})

// callWebhooks has the API server call the webhooks at an address.
func callWebhooks(ctx context.Context, address string) {
	GinkgoHelper()
	bundle, err := os.ReadFile(filepath.Join(site.WebhookCerts(), "ca.crt"))
	Expect(err).NotTo(HaveOccurred())
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	configurations, err := framework.ReadManifests(root + "/config/webhook/manifests.yaml")
	Expect(err).NotTo(HaveOccurred())
	for _, c := range configurations {
		Expect(framework.RedirectWebhooks(c, bundle, "https://"+address)).To(Succeed())
	}
	Expect(framework.Apply(ctx, site.Config(), configurations...)).To(Succeed())
	Eventually(func() string { // the API server calls them a moment later
		probe := builder.IPPool("default", "probe").WithCIDR("192.0.2.0/24").WithSpace("probe").Build()
		_ = k.Create(ctx, probe, client.DryRunAll)
		return string(probe.Spec.IPFamily)
	}, patience, "100ms").Should(Equal("IPv4"))
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims tests the Cluster API front door, pools and the ledger together on a real API server with a real garbage
// collector, the manager running in this process.
//
//   - claims_test.go: the life of an IPAddressClaim, with Cluster, pause and finalizers.
//   - pools_test.go: the life of a pool: blocks, growth, deletion, conditions and events.
//   - strategies_test.go, network_test.go: allocation strategies; gateway, network and name servers.
//   - projects_test.go: visibility and what one project reads of another.
//   - kept_test.go: addresses that a pool keeps for a claim.
//   - cooldown_test.go: released addresses cool down.
//   - waitlist_test.go: how many of those that wait are woken.
//   - movable_test.go: the condition Movable, and clusterctl's block-move.
//   - namesakes_test.go, leftovers_test.go: IPAddresses and records of others or of dead claims of the name.
//   - hazards_test.go, late_test.go: managers that hang or whose cache is old, by the hazards of docs/design.
//   - cache_test.go: what the cache keeps of others' objects.
//   - audit_test.go, columns_test.go: the log, and what kubectl get prints.
package claims

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k       client.Client
	manager *running
)

func TestClaims(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Claims")
}

// running is a manager in this process.
type running struct {
	stop context.CancelFunc
	done chan error
}

func startManager() *running {
	GinkgoHelper()
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	m := &running{stop: stop, done: make(chan error, 1)}
	go func() {
		defer GinkgoRecover()
		m.done <- setup.Run(ctx, site.Config(), options(site.WebhookCerts(), port))
	}()
	return m
}

func options(certs string, port int) setup.Options {
	o := setup.Options{
		Concurrency: 8, KubeAPIQPS: -1, SyncPeriod: 10 * time.Minute,
		WebhookHost: "127.0.0.1", WebhookPort: port, WebhookCertDir: certs,
		WebhookClientCAFile: site.ClientCA(), WebhookClientName: framework.WebhookClient,
		HealthAddress: "0", PlatformProject: "platform", RepairGrace: 10 * time.Minute,
		OwnNamespace: "weir-system",
	}
	o.Manager.TLSMinVersion, o.Manager.DiagnosticsAddress, o.Manager.InsecureDiagnostics = "VersionTLS12", "0", true
	return o
}

func (m *running) end() {
	GinkgoHelper()
	m.stop()
	Eventually(m.done, "1m").Should(Receive(Succeed()))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(withTrail(klog.Background()))
	var err error
	site, err = framework.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs},
		Scheme:  setup.Scheme,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(site.Stop)
	k = site.Client()
	komega.SetClient(k)
	manager = startManager()
	DeferCleanup(func() { manager.end() })
}, NodeTimeout(2*time.Minute))

// namespaces counts the specs' namespaces.
var namespaces int

// newNamespace makes a namespace of the spec's own.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespaces++
	name := fmt.Sprintf("spec-%d", namespaces)
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claims tests the Cluster API front door, pools and the ledger together on a real API server with a real garbage
// collector, the manager running in this process.
package claims

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
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
		OwnNamespace: "weir-system", Doors: []setup.Door{otherdoor.Door()},
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
		Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs, otherdoor.InstallCRDs},
		Scheme: func() (*runtime.Scheme, error) {
			scheme, err := setup.Scheme()
			return scheme, errors.Join(err, otherdoor.AddToScheme(scheme))
		},
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

// newNamespace makes a namespace of the spec's own, with claims of another front door, which the spec must leave alone.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name := newBareNamespace(ctx)
	others := newTwins(ctx, name)
	DeferCleanup(others.areUntouched)
	return name
}

// isEnding says whether somebody has deleted a namespace.
func isEnding(ctx context.Context, name string) bool {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	err := k.Get(ctx, client.ObjectKey{Name: name}, namespace)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil || !namespace.DeletionTimestamp.IsZero()
}

func newBareNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespaces++
	name := fmt.Sprintf("spec-%d", namespaces)
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

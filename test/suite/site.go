// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	"k8s.io/apimachinery/pkg/runtime"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Start runs a control plane with Weir's release and one manager with these flags, which serves admission, until the suite ends.
func Start(ctx context.Context, args ...string) (*framework.Site, *framework.Manager) {
	GinkgoHelper()
	site := StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
	})
	manager := StartManager(ctx, site, args...)
	Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed())
	return site, manager
}

// StartSite runs a site until the suite ends, in BeforeSuite. Its clients know Weir's scheme unless the options name another.
func StartSite(ctx context.Context, options framework.SiteOptions) *framework.Site {
	GinkgoHelper()
	if options.Scheme == nil {
		options.Scheme = setup.Scheme
	}
	options.OneProcessor = true
	site, err := framework.StartSite(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(site.Stop)
	return site
}

// SchemeWithMetal3 has Weir's kinds and Metal3's.
func SchemeWithMetal3() (*runtime.Scheme, error) {
	s, err := setup.Scheme()
	if err != nil {
		return nil, err
	}
	return s, m3v1.AddToScheme(s)
}

// SchemeWithBoth has Weir's kinds, Metal3's and the in-cluster provider's.
func SchemeWithBoth() (*runtime.Scheme, error) {
	s, err := SchemeWithMetal3()
	if err != nil {
		return nil, err
	}
	return s, icv1.AddToScheme(s)
}

// StartManager runs a manager process with these flags, and waits until it is ready.
func StartManager(ctx context.Context, site *framework.Site, args ...string) *framework.Manager {
	GinkgoHelper()
	manager, err := site.StartManager(ctx, framework.ManagerOptions{Args: args})
	Expect(err).NotTo(HaveOccurred())
	return manager
}

// RunManager runs a manager in this process until the suite ends, in BeforeSuite. Its webhooks serve the certificate in the folder
// at the address that it returns. It has these front doors beside Weir's.
func RunManager(site *framework.Site, certs string, others ...doors.Door) (webhooks string) {
	GinkgoHelper()
	return RunManagerWith(site, certs, func(o *setup.Options) { o.Doors = others })
}

// RunManagerWith does so with options that are changed.
func RunManagerWith(site *framework.Site, certs string, change func(*setup.Options)) (webhooks string) {
	GinkgoHelper()
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	options := setup.Options{
		Concurrency: 8, KubeAPIQPS: -1, SyncPeriod: 10 * time.Minute,
		WebhookHost: "127.0.0.1", WebhookPort: port, WebhookCertDir: certs,
		WebhookClientCAFile: site.ClientCA(), WebhookClientName: framework.WebhookClient,
		HealthAddress: "0", PlatformProject: "platform", RepairGrace: 10 * time.Minute,
		OwnNamespace: framework.ManagerNamespace,
	}
	options.Manager.TLSMinVersion, options.Manager.DiagnosticsAddress, options.Manager.InsecureDiagnostics = "VersionTLS12", "0", true
	change(&options)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		defer GinkgoRecover()
		done <- setup.Run(ctx, site.Config(), options)
	}()
	DeferCleanup(func() {
		stop()
		Eventually(done, "1m").Should(Receive(Succeed()))
	})
	return fmt.Sprintf("127.0.0.1:%d", port)
}

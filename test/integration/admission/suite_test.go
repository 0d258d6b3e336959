// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission tests schemas and webhooks together on a real API server:
// what is refused, where the message points, and that nothing is stored. The
// webhooks run in this process over a hand-written ledger, so that a spec says
// what is in use.
//
//   - pools_test.go: pools that are created, changed and deleted, and the finalizer of claims.
//   - invalid_pools_test.go: every field of a pool that may be invalid.
//   - rights_test.go: refusals name what the user may get.
package admission

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/admission"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	site *framework.Site
	// k writes as kubectl does: unknown fields are an error.
	k       client.Client
	records = &fakeLedger{}
)

func TestAdmission(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Admission")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	site = suite.StartSite(ctx, framework.SiteOptions{
		Install: []framework.Step{framework.InstallWeirCRDs}, Namespaces: []string{"team"}, Scheme: scheme,
	})
	k = client.WithFieldOwner(client.WithFieldValidation(site.Client(), metav1.FieldValidationStrict), "spec")
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	// The webhooks stand before Cluster API's kinds do.
	startWebhooks(ctx, root+"/config/webhook/")
	Expect(framework.InstallCAPICRDs(ctx, site.Config())).To(Succeed())
}, NodeTimeout(2*time.Minute))

func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(clientgoscheme.AddToScheme(s), ipamv1.AddToScheme(s), ipamv1beta2.AddToScheme(s))
}

// startWebhooks serves the webhooks from this process and installs their
// configurations from folder.
func startWebhooks(ctx context.Context, folder string) {
	GinkgoHelper()
	certs := GinkgoT().TempDir()
	bundle, err := framework.ServingCerts(certs)
	Expect(err).NotTo(HaveOccurred())
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	manager, err := ctrl.NewManager(site.Config(), ctrl.Options{
		Scheme:        k.Scheme(),
		Metrics:       server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certs}),
	})
	Expect(err).NotTo(HaveOccurred())
	book := ledger.New(ledger.Options{Instance: "admission", Clock: clock.RealClock{}})
	rules := &tenancy.Rules{Client: k, Platform: "platform", Namespace: "weir-system"}
	registry := &pools.Registry{Client: k, Ledger: book, Rules: rules, Namespace: "weir-system"}
	entitled := &entitlement.IPClaims{Client: k, Registry: registry}
	Expect(admission.SetupWithManager(manager, admission.Options{
		Holdings: records, Ledger: book, Registry: registry, Entitled: entitled, Authenticated: true,
	})).To(Succeed())
	run, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- manager.Start(run) }()
	DeferCleanup(func() { stop(); Eventually(done, "1m").Should(Receive(Succeed())) })
	Expect(wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return manager.GetWebhookServer().StartedChecker()(nil) == nil, nil
	})).To(Succeed())
	configurations := webhookConfigurations(folder)
	for _, c := range configurations {
		Expect(framework.RedirectWebhooks(c, bundle, fmt.Sprintf("https://127.0.0.1:%d", port))).To(Succeed())
	}
	Expect(framework.Apply(ctx, site.Config(), configurations...)).To(Succeed())
}

// webhookConfigurations returns controller-gen's output with the match
// condition that kustomize patches in.
func webhookConfigurations(folder string) []*unstructured.Unstructured {
	GinkgoHelper()
	configurations, err := framework.ReadManifests(folder + "manifests.yaml")
	Expect(err).NotTo(HaveOccurred())
	patches, err := framework.ReadManifests(folder + "ipaddressclaim_patch.yaml")
	Expect(err).NotTo(HaveOccurred())
	patch := webhooksOf(patches[0])[0]
	for _, c := range configurations {
		for _, w := range webhooksOf(c) {
			if w["name"] == patch["name"] {
				w["matchConditions"] = patch["matchConditions"]
			}
		}
	}
	return configurations
}

func webhooksOf(configuration *unstructured.Unstructured) []map[string]any {
	GinkgoHelper()
	list, ok := configuration.Object["webhooks"].([]any)
	Expect(ok).To(BeTrue())
	webhooks := make([]map[string]any, len(list))
	for i := range list {
		webhooks[i], ok = list[i].(map[string]any)
		Expect(ok).To(BeTrue())
	}
	return webhooks
}

// fakeLedger is a list of records that a spec sets.
type fakeLedger struct {
	mu   sync.Mutex
	held []ledger.Holding
}

var _ admission.Holdings = &fakeLedger{}

// hold replaces the records for the time of a spec.
func (f *fakeLedger) hold(held ...ledger.Holding) {
	f.set(held)
	DeferCleanup(f.set, []ledger.Holding(nil))
}

func (f *fakeLedger) set(held []ledger.Holding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = held
}

func (f *fakeLedger) Holdings(pool ipamv1.PoolReference) []ledger.Holding {
	return f.matching(func(h ledger.Holding) bool { return h.Pool == pool && h.Purpose != ledger.ForRoot })
}

func (f *fakeLedger) Overlapping(space string, prefix netip.Prefix) []ledger.Holding {
	return f.matching(func(h ledger.Holding) bool {
		return space == ipamv1.DefaultAddressSpace && h.CIDR.Overlaps(prefix)
	})
}

func (f *fakeLedger) ForeignIn(string, []netip.Prefix) []foreign.Address { return nil }

func (f *fakeLedger) matching(match func(ledger.Holding) bool) []ledger.Holding {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []ledger.Holding
	for _, h := range f.held {
		if match(h) {
			found = append(found, h)
		}
	}
	return found
}

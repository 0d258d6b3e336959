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
//   - refused_test.go: what the API server does not store.
//   - waitlist_test.go: how many of those that wait are woken.
//   - otherdoor_test.go: a second front door beside the first, in every namespace of the suite.
//   - movable_test.go: the condition Movable, and clusterctl's block-move.
//   - namesakes_test.go, leftovers_test.go: IPAddresses and records of others or of dead claims of the name.
//   - hazards_test.go, late_test.go: managers that hang or whose cache is old, by the hazards of docs/design.
//   - byhand_test.go: IPAddresses that no claim has.
//   - foreign_test.go: addresses that other providers have handed out.
//   - cache_test.go: what the cache keeps of others' objects.
//   - audit_test.go, columns_test.go, metrics_test.go: the log, what kubectl get prints, and what Prometheus reads.
package claims

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k client.Client
)

func TestClaims(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Claims")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(withTrail(klog.Background()))
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs, otherdoor.InstallCRDs},
		Scheme:  otherdoor.Scheme,
	})
	k = site.Client()
	komega.SetClient(k)
	suite.RunManager(site, site.WebhookCerts(), otherdoor.Door())
}, NodeTimeout(2*time.Minute))

// newNamespace makes a namespace of the spec's own, with claims of another front door, which the spec must leave alone.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	name := newBareNamespace(ctx)
	others := newTwins(ctx, name)
	DeferCleanup(others.areUntouched)
	return name
}

// newBareNamespace makes a namespace of the spec's own.
func newBareNamespace(ctx context.Context) string {
	GinkgoHelper()
	return suite.Namespace(ctx, k, nil)
}

// isEnding says whether somebody has deleted a namespace.
func isEnding(ctx context.Context, name string) bool {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	err := k.Get(ctx, client.ObjectKey{Name: name}, namespace)
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err != nil || !namespace.DeletionTimestamp.IsZero()
}

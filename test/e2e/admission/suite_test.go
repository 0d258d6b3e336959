// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission has many clients get prefixes inside their create calls, from three managers behind one address, while
// managers are killed, stopped and cut off, history is compacted, and objects are stored late or never. What must hold all the
// time is looked at all the time, by the framework's checker and by the clients themselves.
//
//   - storm_test.go: 50 clients are told no prefix twice and nothing leaks, in all that trouble.
//   - collisions_test.go: how seldom creates collide without trouble, and that one client gets the lowest free address.
//   - sources_test.go, users_test.go: the pools, and the clients that take from them.
//   - replicas_test.go, latecomer_test.go: the managers, and the second webhook that delays and refuses.
//   - client_view_test.go, sightings_test.go: what clients were told, and which records were seen.
//   - tally_test.go, wire_test.go: what came of the creates, for clients and on the wire.
package admission

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// namespace is also the name of the one address space.
const namespace = "safety"

var (
	// timeout ends a run that does not get there.
	timeout = size.Of[time.Duration](20, 20, 6*60) * time.Minute

	site   *framework.Site
	config *rest.Config
	// k is the administrator's.
	k client.Client
	// known reads from a cache: the test should cost less than what it tests.
	known cache.Cache
)

func TestAdmission(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = 2 * timeout // Ginkgo's own is an hour
	RunSpecs(t, "Admission", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	site = suite.StartSite(ctx, framework.SiteOptions{
		// Without a watch cache watches come straight from etcd, so that a compaction tells at once.
		Options: framework.Options{ControllerManager: true, APIServerArgs: []string{
			"--watch-cache=false", "--request-timeout=" + requestTimeout.String(),
		}},
		Install:    []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
		Namespaces: []string{namespace},
	})
	config, k = site.Config(), site.Client()
	var err error
	known, err = cache.New(config, cache.Options{Scheme: k.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	faults.Follow(func(ctx context.Context) error { return known.Start(ctx) })
}, NodeTimeout(3*time.Minute))

var _ = AfterEach(func() { suite.Evidence(site) })

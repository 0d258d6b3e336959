// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package race runs everything at once that may go wrong while addresses are handed out: three managers without a leader and
// three ledgers in this process write at the same time, are killed, stopped and cut off, and the API server's history is
// compacted. Both front doors are open, with pools and claims of the same names and overlapping addresses. What must hold all the
// time is looked at all the time, by the framework's checker.
//
//   - race_test.go: the spec, and the four kinds of trouble.
//   - claims_test.go: the creators of claims.
//   - strangers_test.go: the ledgers in this process, and what they claim.
//   - history_test.go: that nothing was wrong at any moment.
//   - metal3_test.go: the same of Metal3's, whose commit is the status of the claim.
//   - other_test.go: the other front door's pool and claims, and that nothing of them is given up or counted for Cluster API's.
package race

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// namespace is also the name of the one address space.
const namespace = "race"

// busyPools are where everybody takes from: room for few and for many, single addresses and blocks.
// The first smallPools have room for fewer than ask.
var busyPools = []struct {
	name, cidr string
	// bits are the length of a claim's block; zero means addresses.
	bits int32
}{
	{name: "few", cidr: "192.0.2.0/28"},
	{name: "few-six", cidr: "2001:db8::/124"},
	{name: "few-blocks", cidr: "10.1.0.0/24", bits: 28},
	{name: "few-blocks-six", cidr: "2001:db8:2::/60", bits: 64},
	{name: "many", cidr: "10.0.0.0/16"},
	{name: "many-six", cidr: "2001:db8:1::/64"},
	{name: "many-blocks", cidr: "10.2.0.0/16", bits: 26},
	{name: "many-blocks-six", cidr: "2001:db8:3::/48", bits: 64},
}

const (
	smallPools = 4
	// smallShare: of so many claims, one is for each small pool.
	smallShare = 20
)

// poolFor spreads claims over the pools.
func poolFor(i int) int {
	if i%smallShare < smallPools {
		return i % smallShare
	}
	return smallPools + i%(len(busyPools)-smallPools)
}

var (
	site   *framework.Site
	config *rest.Config
	// k reads from and writes to the API server.
	k client.Client
	// claims reads claims from a cache: the test should cost less than what it tests.
	claims cache.Cache
)

func TestRace(t *testing.T) {
	RegisterFailHandler(Fail)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = timeout // Ginkgo's own is an hour
	RunSpecs(t, "Race", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	// Without a watch cache watches come straight from etcd, so that a compaction tells at once. With one they go on as
	// long as it remembers: more than a minute.
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options:    framework.Options{ControllerManager: true, APIServerArgs: []string{"--watch-cache=false"}},
		Install:    []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs, framework.InstallMetal3CRDs, otherdoor.InstallCRDs},
		Namespaces: []string{namespace},
		Scheme:     scheme,
	})
	config, k = site.Config(), site.Client()
	var err error
	claims, err = cache.New(config, cache.Options{Scheme: k.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	faults.Follow(func(ctx context.Context) error { return claims.Start(ctx) })
	createPools(ctx)
	Expect(k.Create(ctx, otherPool())).To(Succeed())
	for _, p := range metal3Pools() {
		Expect(k.Create(ctx, p)).To(Succeed())
	}
}, NodeTimeout(2*time.Minute))

func scheme() (*runtime.Scheme, error) {
	s, err := otherdoor.Scheme()
	return s, errors.Join(err, m3v1.AddToScheme(s))
}

var _ = AfterEach(func() { suite.Evidence(site) })

func createPools(ctx context.Context) {
	GinkgoHelper()
	for _, p := range busyPools {
		pool := &ipamv1.IPPool{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.name},
			Spec:       ipamv1.IPPoolSpec{CIDR: p.cidr, AddressSpace: namespace},
		}
		if p.bits != 0 {
			pool.Spec.Allocation = &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To(p.bits)}
		}
		Expect(k.Create(ctx, pool)).To(Succeed())
	}
}

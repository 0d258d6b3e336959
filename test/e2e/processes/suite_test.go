// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package processes runs managers as processes of their own against one API server, whose etcd has three members: two without leader election,
// one of which is killed on the way, a restarted one, one that lacks a right, some that serve a part of what there is. It takes away what they
// rest on, and attacks the port of their webhooks.
//
//   - leaderless_test.go: two managers without a leader, one of which is killed.
//   - admission_test.go: three managers whose webhooks share one address.
//   - lifecycle_test.go: a manager that is restarted, and one that lacks a right.
//   - movable_test.go: what the condition Movable costs, and that a restart does not change it.
//   - scoped_test.go: managers that serve a namespace or a label's value each.
//   - outages_test.go: the API server, etcd, its leader and the processor are taken away.
//   - webhooks_test.go: the way to the webhooks is cut.
//   - tenants_test.go: the namespaces of these two.
//   - forged_test.go: reviews that no API server has sent, what they store and what they learn.
//   - slow_test.go: what slow bodies take of the memory.
//   - flood_test.go: what refused creates take of the memory and the log, and forged reviews of a pool.
//   - port_test.go: the managers of these two, with a client CA and without one.
package processes

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	site   *framework.Site
	config *rest.Config
	k      client.Client
)

func TestProcesses(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Manager processes")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options:    framework.Options{ControllerManager: true, EtcdMembers: size.Of(1, 3, 3)},
		Install:    []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
		Namespaces: []string{namespace, lifecycle},
	})
	config, k = site.Config(), site.Client()
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func() {
	suite.Evidence(site)
	Expect(site.KillManagers()).To(Succeed())
})

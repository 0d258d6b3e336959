// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package processes runs managers as processes of their own against one API server: two without leader election, one of
// which is killed on the way, a restarted one, one that lacks a right, some that serve a part of what there is.
//
//   - leaderless_test.go: two managers without a leader, one of which is killed.
//   - admission_test.go: three managers whose webhooks share one address.
//   - lifecycle_test.go: a manager that is restarted, and one that lacks a right.
//   - movable_test.go: what the condition Movable costs, and that a restart does not change it.
//   - scoped_test.go: managers that serve a namespace or a label's value each.
package processes

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
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
		Options:    framework.Options{ControllerManager: true},
		Install:    []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs},
		Namespaces: []string{namespace, lifecycle},
	})
	config, k = site.Config(), site.Client()
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func() {
	suite.ShowLogs(site)
	Expect(site.KillManagers()).To(Succeed())
})

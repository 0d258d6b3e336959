// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipclaims shows what becomes of IPClaims: a manager process answers
// them on a real API server, inside the create call.
package ipclaims

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "1m"

var (
	site    *framework.Site
	k       client.WithWatch
	manager *framework.Manager
)

func TestIPClaims(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "IPClaims")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site, manager = suite.Start(ctx, "--repair-grace=3s")
	k = site.Client()
}, NodeTimeout(2*time.Minute))

var _ = AfterEach(func(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		site.ShowLogs(GinkgoWriter)
		return
	}
	suite.AtRest(ctx, site.Config())
}, NodeTimeout(2*time.Minute))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash kills a manager process at each of its writes, on every path that it walks, and lets another one go on.
package crash

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

var (
	cluster *framework.ControlPlane
	config  *rest.Config
	k       client.Client
)

func TestCrash(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Crash")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	cluster, err = framework.StartControlPlane(ctx, framework.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	config = cluster.Config()
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	Expect(framework.InstallCRDs(ctx, config, root+"/config/crd/bases")).To(Succeed())
	Expect(framework.InstallCAPICRDs(ctx, config)).To(Succeed())
	Expect(cluster.StartControllerManager(ctx)).To(Succeed())
	scheme, err := setup.Scheme()
	Expect(err).NotTo(HaveOccurred())
	k, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "weir-system"}})).To(Succeed())
}, NodeTimeout(2*time.Minute))

var _ = AfterSuite(func() {
	framework.Account(fmt.Sprintf("a manager process was killed at %d points", killed))
})

// launch starts a manager process, to be killed at the end of the spec.
func launch(name string, identity *rest.Config) *framework.ManagerProcess {
	GinkgoHelper()
	certs := GinkgoT().TempDir()
	_, err := framework.ServingCerts(certs, "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	m, err := framework.StartManager(framework.ManagerOptions{
		Name: name, Config: identity, Dir: cluster.Dir(),
		Args: []string{
			"--leader-elect=false", "--diagnostics-address=0", "--webhook-host=127.0.0.1",
			fmt.Sprintf("--webhook-port=%d", port), "--webhook-cert-dir=" + certs,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = m.Kill() })
	return m
}

// healthy runs a manager that nothing happens to while do is done.
func healthy(ctx context.Context, do func()) {
	GinkgoHelper()
	m := launch("healthy", config)
	Expect(m.WaitReady(ctx)).To(Succeed())
	do()
	Expect(m.Kill()).To(Succeed())
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package takeover follows the guide "From Metal3's IP address manager to Weir, and back" command by command, with the real clusterctl and
// managers as processes, on a site of 500 claims as Metal3's manager leaves them. That manager is not to be had: a stand-in of its components is
// installed, and what it would read and write is done by the suite.
//
//   - takeover_test.go: there, back, and there again.
//   - site_test.go: the site.
//   - upstream_test.go: Metal3's components, and what its manager reads and writes.
package takeover

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	hosts   = "hosts"
	patient = "3m"
)

var (
	site *framework.Site
	// k is the administrator's.
	k     client.Client
	admin *suite.Administrator
)

func TestTakeover(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Takeover")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{
		Install: []framework.Step{framework.InstallCertManagerCRDs}, Scheme: suite.SchemeWithMetal3,
	})
	k = site.Client()
	admin = suite.NewAdministrator(site, "metal3-migration.md", framework.Metal3Components, metal3)
}, NodeTimeout(3*time.Minute))

var _ = AfterEach(func() { suite.Evidence(site) })

// takeOver follows the guide there, and returns the manager.
func takeOver(ctx context.Context) *framework.Manager {
	GinkgoHelper()
	admin.Follow(ctx, "### 1. Stop Metal3's manager")
	admin.Follow(ctx, "### 2. Give the kinds to Weir")
	admin.Follow(ctx, "### 3. Install Weir")
	m := admin.StartInstalled(ctx)
	Eventually(func() string { return admin.Follow(ctx, "### 4. Check") }, patient, "1s").Should(Or(BeEmpty(), Equal("hosts hosts 10.9.9.9\n"))) // which is not in the pool
	return m
}

// goBack ends the manager and follows the guide back.
func goBack(ctx context.Context, m *framework.Manager, pool *m3v1.IPPool) {
	GinkgoHelper()
	admin.Follow(ctx, "### 1. Remove Weir")
	Expect(m.Stop()).To(Succeed())
	renameInTheWay(ctx, pool)
	Expect(admin.Follow(ctx, renaming)).NotTo(ContainSubstring("NOT DONE"))
	admin.Follow(ctx, renaming) // once more
	admin.Follow(ctx, "### 3. Give the kinds back")
	admin.Follow(ctx, "### 4. Install Metal3's manager")
	Expect(metal3.Silence(ctx, k)).To(Succeed())
	admin.Follow(ctx, "### 5. Remove Weir's records")
}

const renaming = "### 2. Name the addresses of IPAddressClaims as Metal3 does"

// renameInTheWay follows the guide where something else has the name of a twin: the claim keeps what it has.
func renameInTheWay(ctx context.Context, pool *m3v1.IPPool) {
	GinkgoHelper()
	own := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: hosts, Name: "weir-0"}, own)).To(Succeed())
	other := own.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: hosts, Name: nameOf(pool, own.Spec.Address)}
	other.Spec.ClaimRef.Name, other.Spec.Address = "somebody", "10.0.3.250"
	Expect(k.Create(ctx, other)).To(Succeed())
	var out string
	for _, block := range admin.Commands(renaming) {
		out, _ = admin.Shell(ctx, block) // one of them fails
	}
	Expect(strings.Count(out, "NOT DONE")).To(Equal(1), out)
	Expect(out).To(ContainSubstring("NOT DONE: hosts/weir-0\n"))
	Expect(k.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
	Expect(own.DeletionTimestamp).To(BeNil())
	Expect(k.Delete(ctx, other)).To(Succeed())
}

func namespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
}

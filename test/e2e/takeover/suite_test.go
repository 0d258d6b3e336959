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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
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
	version = "v0.1.0"
	patient = "3m"
)

var (
	site *framework.Site
	// k is the administrator's, ctl his clusterctl, guide what he follows, and notes the folder where he does so.
	k     client.Client
	ctl   *framework.Clusterctl
	guide framework.Guide
	notes string
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
	var err error
	ctl, err = site.Clusterctl(version)
	Expect(err).NotTo(HaveOccurred())
	Expect(ctl.ChooseComponents(framework.Metal3Components)).To(Succeed())
	Expect(ctl.AddMetal3(metal3Version, metal3Components()...)).To(Succeed())
	guide, err = framework.ReadGuide("metal3-migration.md")
	Expect(err).NotTo(HaveOccurred())
	notes = GinkgoT().TempDir()
}, NodeTimeout(3*time.Minute))

var _ = AfterEach(func() { suite.Evidence(site) })

// follow runs the commands of a part of the guide, and returns what the last block prints.
func follow(ctx context.Context, heading string) string {
	GinkgoHelper()
	blocks, err := guide.Commands(heading)
	Expect(err).NotTo(HaveOccurred())
	var out string
	for _, block := range blocks {
		Expect(framework.AwaitCertManagerTestGone(ctx, site.Config())).To(Succeed())
		out, err = ctl.Shell(ctx, notes, block)
		Expect(err).NotTo(HaveOccurred())
	}
	return out
}

// takeOver follows the guide there, and returns the manager.
func takeOver(ctx context.Context) *framework.Manager {
	GinkgoHelper()
	follow(ctx, "### 1. Stop Metal3's manager")
	follow(ctx, "### 2. Give the kinds to Weir")
	follow(ctx, "### 3. Install Weir")
	m := startInstalled(ctx)
	Eventually(func() string { return follow(ctx, "### 4. Check") }, patient, "1s").Should(Or(BeEmpty(), Equal("hosts hosts 10.9.9.9\n"))) // which is not in the pool
	return m
}

// startInstalled runs a manager with the rights and the gates of what clusterctl has installed, and points the webhooks at it.
func startInstalled(ctx context.Context) *framework.Manager {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: "weir-controller-manager"}, deployment)).To(Succeed())
	args := slices.DeleteFunc(slices.Clone(deployment.Spec.Template.Spec.Containers[0].Args), func(arg string) bool {
		return !strings.HasPrefix(arg, "--feature-gates=")
	})
	m := suite.StartManager(ctx, site, args...)
	Expect(site.PointWebhooks(ctx, m.WebhookAddress())).To(Succeed())
	return m
}

// goBack ends the manager and follows the guide back.
func goBack(ctx context.Context, m *framework.Manager, pool *m3v1.IPPool) {
	GinkgoHelper()
	follow(ctx, "### 1. Remove Weir")
	Expect(m.Stop()).To(Succeed())
	renameInTheWay(ctx, pool)
	Expect(follow(ctx, renaming)).NotTo(ContainSubstring("NOT DONE"))
	follow(ctx, renaming) // once more
	follow(ctx, "### 3. Give the kinds back")
	follow(ctx, "### 4. Install Metal3's manager")
	silence(ctx)
	follow(ctx, "### 5. Remove Weir's records")
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
	blocks, err := guide.Commands(renaming)
	Expect(err).NotTo(HaveOccurred())
	var out string
	for _, block := range blocks {
		out, _ = ctl.Shell(ctx, notes, block) // one of them fails
	}
	Expect(strings.Count(out, "NOT DONE")).To(Equal(1), out)
	Expect(out).To(ContainSubstring("NOT DONE: hosts/weir-0\n"))
	Expect(k.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
	Expect(own.DeletionTimestamp).To(BeNil())
	Expect(k.Delete(ctx, other)).To(Succeed())
}

// lines returns those of a file that a command has written.
func lines(name string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(notes, name))
	Expect(err).NotTo(HaveOccurred())
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func namespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	machines = "machines"
	// oldVersion and newVersion are what an upgrade is from and to; lastVersion is what comes after them.
	oldVersion  = "v0.1.0"
	newVersion  = "v0.1.1"
	lastVersion = "v0.1.2"
)

// program returns the manager of a version, as the Makefile builds it.
func program(ctx context.Context, version string) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "manager")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", path, repository)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	out, err = exec.CommandContext(ctx, path, "--version").Output()
	Expect(err).NotTo(HaveOccurred())
	Expect(string(out)).To(ContainSubstring(version))
	return path
}

// startProgram runs a manager as its Deployment would, and points the webhooks at it.
func startProgram(ctx context.Context, path string) *framework.Manager {
	GinkgoHelper()
	m, err := site.StartManager(ctx, framework.ManagerOptions{Args: []string{"--leader-elect"}, Binary: path})
	Expect(err).NotTo(HaveOccurred())
	Expect(site.PointWebhooks(ctx, m.WebhookAddress())).To(Succeed())
	return m
}

// addresses returns the addresses of the answered claims by claim name.
func addresses(ctx context.Context) map[string]string {
	GinkgoHelper()
	claims, answers := &ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}
	Expect(k.List(ctx, claims, client.InNamespace(machines))).To(Succeed())
	Expect(k.List(ctx, answers, client.InNamespace(machines))).To(Succeed())
	found := map[string]string{}
	for _, claim := range claims.Items {
		for _, answer := range answers.Items {
			if claim.Status.AddressRef.Name == answer.Name && answer.Name == claim.Name {
				found[claim.Name] = answer.Spec.Address
			}
		}
	}
	return found
}

func claimAndWait(ctx context.Context, name string, number int) {
	GinkgoHelper()
	for i := range number {
		Expect(k.Create(ctx, builder.IPAddressClaim(machines, fmt.Sprint(name, i), ipamv1.IPPoolKind, "p").Build())).To(Succeed())
	}
	Eventually(func() int {
		n := 0
		for claim := range addresses(ctx) {
			if len(claim) > len(name) && claim[:len(name)] == name {
				n++
			}
		}
		return n
	}, patience, "200ms").Should(Equal(number))
}

var _ = Describe("An installation by clusterctl", Ordered, func() {
	var (
		ctl  *framework.Clusterctl
		m    *framework.Manager
		held map[string]string
		// next is the program of both later versions.
		next string
	)

	BeforeAll(func(ctx SpecContext) {
		start(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallCertManagerCRDs}})
		var err error
		ctl, err = site.Clusterctl(oldVersion, newVersion, lastVersion)
		Expect(err).NotTo(HaveOccurred())
		current, err := framework.Binary("manager")
		Expect(err).NotTo(HaveOccurred())
		next = program(ctx, newVersion)
		out, err := ctl.Init(ctx, oldVersion) // Cluster API's controllers do not run yet
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(site.StartControllerManager(ctx)).To(Succeed())
		m = startProgram(ctx, current)
		Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: machines}})).To(Succeed())
		Expect(k.Create(ctx, builder.IPPool(machines, "p").WithCIDR("10.0.0.0/16").Build())).To(Succeed())
		grant(ctx, "forger", "", rbacv1.PolicyRule{Resources: []string{"ipallocations"}, Verbs: []string{"create"}})
		claimAndWait(ctx, "before", 10)
		held = addresses(ctx)
		Expect(framework.AwaitCertManagerTestGone(ctx, site.Config())).To(Succeed())
	}, NodeTimeout(10*time.Minute))

	It("is upgraded by clusterctl while claims are created: each is answered or refused, and none shares its prefix", func(ctx SpecContext) {
		t, ended := startTraffic(ctx, "upgrade"), make(chan error, 1)
		deployment, stopped := installed(ctx), m
		go func() { ended <- stopWithPods(ctx, deployment, stopped) }()
		out, err := ctl.Run(ctx, "upgrade", "apply", "--ipam", "weir-system/weir:"+newVersion)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(<-ended).To(Succeed())
		m = startProgram(ctx, next)
		claimAndWait(ctx, "upgraded", 3)
		t.stop("clusterctl upgrade")
		t.expectEachAnswered(ctx)
	}, SpecTimeout(10*time.Minute))

	It("is upgraded in place while claims are created: meanwhile none gets past a webhook, and no record past the policies", func(ctx SpecContext) {
		t := startTraffic(ctx, "apply")
		manifests, err := ctl.Shell(ctx, site.Dir(), "clusterctl generate provider --ipam weir:"+lastVersion)
		Expect(err).NotTo(HaveOccurred())
		objects, err := framework.ParseManifests([]byte(manifests))
		Expect(err).NotTo(HaveOccurred())
		Expect(site.ApplyInPlace(ctx, m.WebhookAddress(), objects...)).To(Succeed())
		Expect(installed(ctx).Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":" + lastVersion))
		former := m
		m = startProgram(ctx, next) // before the other one ends, as a Deployment does
		Expect(former.Stop()).To(Succeed())
		claimAndWait(ctx, "applied", 3)
		met := t.stop("apply in place")
		t.expectEachAnswered(ctx)
		Expect(met).NotTo(Or(HaveKey("IPClaims "+unguarded), HaveKey(forged)))
	}, SpecTimeout(10*time.Minute))

	It("keeps every address through upgrades and its deletion, goes on when it is installed again, and leaves nothing behind", func(ctx SpecContext) {
		for name, address := range held {
			Expect(addresses(ctx)).To(HaveKeyWithValue(name, address))
		}

		By("deleting the provider while claims live: the CRDs stay, and so do the claims")
		held = addresses(ctx)
		out, err := ctl.Run(ctx, "delete", "--ipam", "weir")
		GinkgoWriter.Println(out)
		Expect(err).NotTo(HaveOccurred())
		Expect(m.Stop()).To(Succeed())
		expectNothingInstalled(ctx)
		Expect(addresses(ctx)).To(Equal(held))

		By("installing it again: it goes on where it was")
		Expect(framework.AwaitCertManagerTestGone(ctx, site.Config())).To(Succeed())
		_, err = ctl.Run(ctx, "init", "--ipam", "weir:"+lastVersion)
		Expect(err).NotTo(HaveOccurred())
		m = startProgram(ctx, next)
		claimAndWait(ctx, "again", 2)
		for name, address := range held {
			Expect(addresses(ctx)).To(HaveKeyWithValue(name, address))
		}

		By("deleting in the documented order: claims, pools, provider with its CRDs")
		Expect(k.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(machines))).To(Succeed())
		Expect(k.DeleteAllOf(ctx, &ipamv1.IPClaim{}, client.InNamespace(machines))).To(Succeed())
		Eventually(func() int { return len(remaining(ctx)) }, patience, "1s").Should(BeZero())
		Expect(k.DeleteAllOf(ctx, &ipamv1.IPPool{}, client.InNamespace(machines))).To(Succeed())
		suite.Gone(ctx, k, &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: machines, Name: "p"}})
		_, err = ctl.Run(ctx, "delete", "--ipam", "weir", "--include-crd", "--include-namespace")
		Expect(err).NotTo(HaveOccurred())
		Expect(m.Kill()).To(Succeed())
		expectNothingInstalled(ctx)
		suite.Gone(ctx, k, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "weir-system"}})
	}, SpecTimeout(10*time.Minute))
})

// remaining returns the claims, IPAddresses and records of the namespace.
func remaining(ctx context.Context) []string {
	GinkgoHelper()
	claims, answers, records := &ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &ipamv1.IPAllocationList{}
	for _, list := range []client.ObjectList{claims, answers, records} {
		Expect(k.List(ctx, list, client.InNamespace(machines))).To(Succeed())
	}
	var names []string
	for i := range claims.Items {
		names = append(names, "claim "+claims.Items[i].Name)
	}
	for i := range answers.Items {
		names = append(names, "address "+answers.Items[i].Name)
	}
	for i := range records.Items {
		if !records.Items[i].Spec.IsRootBlock() {
			names = append(names, "record "+records.Items[i].Name)
		}
	}
	return names
}

// expectNothingInstalled looks for webhooks, policies and roles of Weir's.
func expectNothingInstalled(ctx context.Context) {
	GinkgoHelper()
	ours := client.MatchingLabels{"cluster.x-k8s.io/provider": "ipam-weir"}
	for _, list := range []client.ObjectList{
		&admissionregistrationv1.MutatingWebhookConfigurationList{}, &admissionregistrationv1.ValidatingWebhookConfigurationList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		Expect(k.List(ctx, list, ours)).To(Succeed())
		Expect(meta.ExtractList(list)).To(BeEmpty())
	}
}

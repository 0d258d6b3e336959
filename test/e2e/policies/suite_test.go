// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies tests the shipped ValidatingAdmissionPolicies with real users on a real API server. No manager runs and
// no webhook is there: the policies have to hold without Weir.
package policies

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	home = "home"
	// admin is a tenant's administrator: everything but the verbs that the policies ask for.
	admin = "tenant-admin"
)

var (
	site *framework.Site
	// k is the cluster's administrator.
	k     client.Client
	plain = []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}
)

func TestPolicies(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Policies")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	site, err = framework.StartSite(ctx, framework.SiteOptions{
		Options:    framework.Options{ControllerManager: true},
		Install:    []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
		Namespaces: []string{home},
		Scheme:     setup.Scheme,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(site.Stop)
	k = site.Client()
	grant(ctx, admin, "", rbacv1.PolicyRule{Resources: []string{"*"}, Verbs: plain})
	grantNamespaces(ctx, admin)
	awaitPolicies(ctx)
}, NodeTimeout(2*time.Minute))

// awaitPolicies waits until the API server has compiled them all.
func awaitPolicies(ctx context.Context) {
	GinkgoHelper()
	u := as(ctx, admin)
	labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{ipamv1.ProjectLabel: "x"}}}
	annotated := claim("probe")
	annotated.Annotations = map[string]string{ipamv1.HomeAnnotation: ""}
	for _, object := range []client.Object{labelled, annotated, record(home, "probe"), pool(home, "probe", root)} {
		Eventually(func() error { return u.Create(ctx, object, client.DryRunAll) }, "1m", "100ms").
			Should(Satisfy(apierrors.IsForbidden), "%T", object)
	}
}

// as returns a client that authenticates as a user.
func as(ctx context.Context, user string) client.Client {
	GinkgoHelper()
	config, err := site.RESTConfigAs(ctx, user)
	Expect(err).NotTo(HaveOccurred())
	c, err := site.ClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// grant gives a user a rule, for ipam.weir.dev unless it names a group: everywhere, or in one namespace.
func grant(ctx context.Context, user, namespace string, rule rbacv1.PolicyRule) {
	GinkgoHelper()
	if rule.APIGroups == nil {
		rule.APIGroups = []string{ipamv1.GroupVersion.Group}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"}, Rules: []rbacv1.PolicyRule{rule}}
	Expect(k.Create(ctx, role)).To(Succeed())
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	meta := metav1.ObjectMeta{Name: role.Name, Namespace: namespace}
	var binding client.Object = &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	if namespace == "" {
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	Expect(k.Create(ctx, binding)).To(Succeed())
}

func grantNamespaces(ctx context.Context, user string) {
	GinkgoHelper()
	grant(ctx, user, "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: plain})
}

// forbidden expects a policy's refusal that names the missing verb and what it is for.
func forbidden(err error, verb string) {
	GinkgoHelper()
	Expect(err).To(Satisfy(apierrors.IsForbidden))
	Expect(err).To(MatchError(And(ContainSubstring("ValidatingAdmissionPolicy"), ContainSubstring("the verb "+verb))))
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install shows what an administrator installs, on real API servers: the release's manifests, and managers as processes
// with the rights of their service account.
//
//   - clusterctl_test.go: clusterctl installs, upgrades and deletes Weir while claims live, and what it generates is applied in place.
//   - upgrade_test.go: what creates claims during an upgrade, and expects that each is answered or refused.
//   - manifests_test.go: the manager's start before Cluster API is there, roles, samples and templates.
//   - metal3_test.go: the component set with Metal3's API: clusterctl installs, upgrades and deletes it; its rights, samples and template, and kinds that appear later.
//   - incluster_test.go: the component set with the in-cluster provider's pools: clusterctl installs, upgrades and deletes it; its roles and samples.
//   - openstack_test.go: the component set for floating IPs: who may read Secrets, what the set adds, and a cloud at work with it.
//   - edge_test.go: the component set for members without Cluster API and cert-manager: a delegated pool, and certificates that are replaced under load.
//   - hub_test.go: the two parts for a hub whose API server runs no pods, and the policies for Karmada.
//   - edge_rights_test.go: which of its rights that set uses.
//   - components_test.go: the optional components for the webhooks' port.
//   - diagnostics_test.go: who gets metrics and profiles.
//   - policies_test.go: who may do what with Weir kinds and with projects, decided by policies without a manager.
//   - policies_delegations_test.go: who may have a delegated pool handed back, and say which pool it is a copy of.
//   - policies_claims_test.go: the same for the claims and addresses of Cluster API.
package install

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	startTimeout = 2 * time.Minute
	// repository is the module's folder, seen from this one.
	repository = "../../.."
)

var (
	// site is the running spec's control plane.
	site *framework.Site
	// k is its administrator.
	k client.Client
	// shares are the control planes that specs share.
	shares []*framework.Site
)

func TestInstall(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Install")
}

var _ = AfterEach(func() { suite.Evidence(site) })

var _ = AfterSuite(func() {
	for _, s := range shares {
		Expect(s.Stop()).To(Succeed())
	}
})

// start gives the spec a control plane, which runs until the spec ends, or the specs of the BeforeAll that it is called in: one that is
// not needed any more takes the processor from the others.
func start(ctx context.Context, opts framework.SiteOptions) {
	GinkgoHelper()
	launch(ctx, opts)
	DeferCleanup(site.Stop)
}

func launch(ctx context.Context, opts framework.SiteOptions) {
	GinkgoHelper()
	opts.Scheme, opts.OneProcessor = suite.SchemeWithBoth, true
	s, err := framework.StartSite(ctx, opts)
	Expect(err).NotTo(HaveOccurred())
	site, k = s, s.Client()
}

// shared returns what gives specs one control plane: the first spec that needs it starts and prepares it.
func shared(opts framework.SiteOptions, prepare func(context.Context)) func(SpecContext) {
	var tried bool
	var own *framework.Site
	return func(ctx SpecContext) {
		GinkgoHelper()
		if !tried {
			tried = true
			limited, cancel := context.WithTimeout(ctx, startTimeout)
			defer cancel()
			launch(limited, opts)
			shares = append(shares, site)
			prepare(limited)
			own = site
		}
		Expect(own).NotTo(BeNil(), "the control plane could not be prepared for an earlier spec")
		site, k = own, own.Client()
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

// bind gives a user a ClusterRole, everywhere or in one namespace.
func bind(ctx context.Context, user, namespace, role string) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{GenerateName: user + "-", Namespace: namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	var binding client.Object = &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	if namespace == "" {
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	Expect(k.Create(ctx, binding)).To(Succeed())
}

// grant gives a user a rule, for ipam.weir.dev unless it names a group: everywhere, or in one namespace.
func grant(ctx context.Context, user, namespace string, rule rbacv1.PolicyRule) {
	GinkgoHelper()
	if rule.APIGroups == nil {
		rule.APIGroups = []string{ipamv1.GroupVersion.Group}
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"}, Rules: []rbacv1.PolicyRule{rule}}
	Expect(k.Create(ctx, role)).To(Succeed())
	bind(ctx, user, namespace, role.Name)
}

// forbidden expects a policy's refusal that names the missing verb and what it is for.
func forbidden(err error, verb string) {
	GinkgoHelper()
	Expect(err).To(Satisfy(apierrors.IsForbidden))
	Expect(err).To(MatchError(And(ContainSubstring("ValidatingAdmissionPolicy"), ContainSubstring("the verb "+verb))))
}

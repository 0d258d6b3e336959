// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	usualComponents = "ipam-components.yaml"
	// secretsRole is the role that reads Secrets; secretsBinding gives it to the manager in all namespaces.
	secretsRole    = "weir-system-openstack-secrets"
	secretsBinding = secretsRole + "-rolebinding"
	// allowVariable names the endpoints of clouds that are called.
	allowVariable = "WEIR_OPENSTACK_ENDPOINT_ALLOW"
)

// componentSet is what a set of components consists of, as far as it matters here.
type componentSet struct {
	// objects are the kind and name of each.
	objects []string
	// args are the manager's.
	args []string
	// readers are the verbs on Secrets of each role that has any.
	readers map[string][]string
	// bound are the roles that the manager has.
	bound []string
}

// rendered returns a set of the release as clusterctl renders it.
func rendered(ctx context.Context, set string) *componentSet {
	GinkgoHelper()
	release, err := framework.ReleaseDir()
	Expect(err).NotTo(HaveOccurred())
	ctl, err := site.Clusterctl()
	Expect(err).NotTo(HaveOccurred())
	out, err := ctl.Run(ctx, "generate", "yaml", "--from", filepath.Join(release, set))
	Expect(err).NotTo(HaveOccurred())
	return parsed([]byte(out))
}

func parsed(manifests []byte) *componentSet {
	GinkgoHelper()
	objects, err := framework.ParseManifests(manifests)
	Expect(err).NotTo(HaveOccurred())
	s := &componentSet{readers: map[string][]string{}}
	for _, o := range objects {
		s.add(o)
	}
	return s
}

func (s *componentSet) add(o *unstructured.Unstructured) {
	GinkgoHelper()
	s.objects = append(s.objects, o.GetKind()+" "+o.GetName())
	deployment, role, binding := &appsv1.Deployment{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	into := func(typed any) {
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed)).To(Succeed())
	}
	switch o.GetKind() {
	case "Deployment":
		into(deployment)
		s.args = deployment.Spec.Template.Spec.Containers[0].Args
	case "ClusterRole", "Role":
		into(role)
		for _, rule := range role.Rules {
			if covers(rule.APIGroups, "") && covers(rule.Resources, "secrets") {
				s.readers[role.Name] = append(s.readers[role.Name], rule.Verbs...)
			}
		}
	case "ClusterRoleBinding", "RoleBinding":
		into(binding)
		Expect(binding.Subjects).To(HaveExactElements(managerSubject))
		s.bound = append(s.bound, binding.RoleRef.Name)
	}
}

func covers(values []string, value string) bool {
	return slices.Contains(values, value) || slices.Contains(values, "*")
}

var managerSubject = rbacv1.Subject{Kind: "ServiceAccount", Namespace: framework.ManagerNamespace, Name: "weir-system-manager"}

// managerMay reports whether the manager's account may do this with the Secrets of a namespace.
func managerMay(ctx context.Context, verb, namespace string) bool {
	GinkgoHelper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "secrets"},
	}}
	Expect(as(ctx, "system:serviceaccount:weir-system:weir-system-manager").Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

var _ = Describe("Secrets with credentials for OpenStack", func() {
	BeforeEach(onPolicies)

	It("are not read with the usual components, which have a role for it and bind it to nobody", func(ctx SpecContext) {
		usual := rendered(ctx, usualComponents)
		Expect(usual.readers).To(Equal(map[string][]string{secretsRole: {"get"}}))
		Expect(usual.bound).To(And(Not(BeEmpty()), Not(ContainElement(secretsRole))))
		Expect(usual.args).NotTo(ContainElement(Or(HavePrefix("--feature-gates"), HavePrefix("--openstack"))))
		Expect(managerMay(ctx, "get", home)).To(BeFalse())
	}, NodeTimeout(10*time.Minute))

	It("are read in one namespace where that role is bound there", func(ctx SpecContext) {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "weir-openstack"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: secretsRole},
			Subjects:   []rbacv1.Subject{managerSubject},
		}
		Expect(k.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k.Delete(ctx, binding)).To(Succeed()) })
		Eventually(func() bool { return managerMay(ctx, "get", home) }, "1m").Should(BeTrue())
		Expect(managerMay(ctx, "get", metav1.NamespaceDefault)).To(BeFalse())
		Expect(managerMay(ctx, "list", home)).To(BeFalse())
	}, NodeTimeout(10*time.Minute))
})

var _ = Describe("The component set for floating IPs", func() {
	It("is the usual one with the gate, the allowed endpoints and the right to get Secrets", func(ctx SpecContext) {
		onPolicies(ctx)
		usual, set := rendered(ctx, usualComponents), rendered(ctx, framework.OpenStackComponents)
		Expect(set.objects).To(ConsistOf(append(usual.objects, "ClusterRoleBinding "+secretsBinding)))
		Expect(set.bound).To(ConsistOf(append(usual.bound, secretsRole)))
		Expect(set.readers).To(Equal(usual.readers))
		Expect(set.args).To(HaveExactElements(append(usual.args, "--feature-gates=OpenStack=true", "--openstack-endpoint-allow=")))

		By("with the endpoints that the variable names")
		const allowed = "https://*.cloud.example.com:5000,https://10.0.0.0/8,https://[2001:db8::]/32"
		GinkgoT().Setenv(allowVariable, allowed)
		Expect(rendered(ctx, framework.OpenStackComponents).args).To(ContainElement("--openstack-endpoint-allow=" + allowed))
	}, NodeTimeout(10*time.Minute))

	It("goes together with that for Metal3, by the overlay of the guide", func(ctx SpecContext) {
		guide, err := framework.ReadGuide("openstack.md")
		Expect(err).NotTo(HaveOccurred())
		_, section, found := strings.Cut(string(guide), "\n### With Metal3's kinds\n")
		Expect(found).To(BeTrue())
		_, begun, found := strings.Cut(section, "\n```yaml\n")
		Expect(found).To(BeTrue())
		overlay, _, _ := strings.Cut(begun, "\n```\n")
		overlay = strings.NewReplacer("github.com/weir-ipam/cluster-api-ipam-provider-weir//", "../", "?ref=v0.1.0", "").Replace(overlay)
		set := parsed(kustomized(ctx, overlay))
		Expect(set.args).To(ContainElements("--feature-gates=Metal3=true", "--feature-gates=OpenStack=true"))
		Expect(set.args).To(ContainElement(HavePrefix("--openstack-endpoint-allow=${" + allowVariable)))
		Expect(set.bound).To(ContainElements(secretsRole, "weir-system-metal3-manager-role"))
		Expect(set.objects).To(ContainElement("CustomResourceDefinition ippools.ipam.metal3.io"))
	}, NodeTimeout(10*time.Minute))
})

var _ = Describe("The component set for floating IPs, as clusterctl installs it", Ordered, func() {
	var (
		cloud   *fake.Cloud
		ctl     *framework.Clusterctl
		m       *framework.Manager
		samples map[string]*unstructured.Unstructured
		pool    *ipamv1.IPPool
	)

	BeforeAll(func(ctx SpecContext) {
		cloud = fake.Start()
		DeferCleanup(cloud.Stop)
		samples = samplesFor(cloud)
		pool = &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "floating"}}
		start(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallCertManagerCRDs}})
		var err error
		ctl, err = site.Clusterctl(newVersion)
		Expect(err).NotTo(HaveOccurred())
		Expect(ctl.ChooseComponents(framework.OpenStackComponents)).To(Succeed())
		GinkgoT().Setenv(allowVariable, strings.Join(cloud.Endpoints(), ","))
		out, err := ctl.Init(ctx, newVersion)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(site.StartControllerManager(ctx)).To(Succeed())
		m = startInstalled(ctx, newVersion)
	}, NodeTimeout(2*startTimeout))

	It("lets a pool say that the manager lacks the right to read its Secret", func(ctx SpecContext) {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: secretsBinding}}
		Expect(k.Get(ctx, client.ObjectKeyFromObject(binding), binding)).To(Succeed())
		Expect(k.Delete(ctx, binding)).To(Succeed())
		Eventually(func() bool { return managerMay(ctx, "get", pool.Namespace) }, "1m").Should(BeFalse())
		Expect(framework.Apply(ctx, site.Config(), samples["Secret"], samples["IPPool"])).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(conditions.GetReason(pool, ipamv1.ReadyCondition)).To(Equal(ipamv1.PoolReadyAuthenticationFailedReason))
			g.Expect(conditions.GetMessage(pool, ipamv1.ReadyCondition)).To(ContainSubstring(secretsRole))
		}, "1m", "100ms").Should(Succeed())
		binding.ResourceVersion = ""
		Expect(k.Create(ctx, binding)).To(Succeed())
		Eventually(func() bool { return managerMay(ctx, "get", pool.Namespace) }, "1m").Should(BeTrue())
		suite.Change(ctx, k, pool, func() { pool.Spec.OpenStack.IdentityRef.Region = openstack.Region }) // Weir looks again at once
	}, NodeTimeout(10*time.Minute))

	It("has samples whose claim gets a floating IP of its own, and gives it back", func(ctx SpecContext) {
		Expect(framework.Apply(ctx, site.Config(), samples["IPAddressClaim"])).To(Succeed())
		claim := floatingClaim("worker-0")
		address := addressOf(ctx, claim)
		created := cloud.FloatingIPs()
		Expect(created).To(HaveLen(1))
		Expect(created[0].Address.String()).To(Equal(address))
		Expect(created[0].Description).To(And(HavePrefix("weir/1/"), HaveSuffix("/"+string(claim.UID)+"/default/"+claim.Name)))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		Expect(pool.Annotations[ipamv1.OpenStackAnnotation]).To(HavePrefix(string(pool.UID) + " "))

		Expect(k.Delete(ctx, claim)).To(Succeed())
		suite.Gone(ctx, k, claim)
		Expect(cloud.FloatingIPs()).To(BeEmpty())
	}, NodeTimeout(10*time.Minute))

	It("has a template that clusterctl renders, whose workers get floating IPs of its pool, and whose Secret moves with it", func(ctx SpecContext) {
		network := strings.Fields(pool.Annotations[ipamv1.OpenStackAnnotation])[2]
		kinds := applyTemplate(ctx, ctl, "openstack", 9, map[string]string{
			"CLUSTER_NAME": "c1", "NAMESPACE": metav1.NamespaceDefault, "OPENSTACK_CLOUD": openstack.Member,
			"OPENSTACK_CLOUD_YAML_B64": base64.StdEncoding.EncodeToString(cloud.CloudsYAML()), "OPENSTACK_CLOUD_CACERT_B64": "Cg==",
			"OPENSTACK_EXTERNAL_NETWORK_ID": network, "OPENSTACK_DNS_NAMESERVERS": "203.0.113.2", "OPENSTACK_IMAGE_NAME": "ubuntu",
			"OPENSTACK_CONTROL_PLANE_MACHINE_FLAVOR": "m1.large", "OPENSTACK_NODE_MACHINE_FLAVOR": "m1.medium", "OPENSTACK_SSH_KEY_NAME": "k",
		})
		Expect(kinds["Secret"].GetLabels()).To(HaveKey(clusterctlv1.ClusterctlMoveLabel))
		ref, found, err := unstructured.NestedStringMap(kinds["OpenStackMachineTemplate"].Object, "spec", "template", "spec", "floatingIPPoolRef")
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		claim := builder.IPAddressClaim(metav1.NamespaceDefault, "c1-workers-0-floating-ip-address", ref["kind"], ref["name"]).
			WithPoolGroup(ref["apiGroup"]).WithLabel(clusterv1.ClusterNameLabel, "c1").Build()
		Expect(k.Create(ctx, claim)).To(Succeed())
		address := addressOf(ctx, claim)
		Expect(cloud.FloatingIPs()).To(ConsistOf(And(
			HaveField("Address.String()", address), HaveField("NetworkID", network), HaveField("Description", HaveSuffix("/default/"+claim.Name)))))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		suite.Gone(ctx, k, claim)
	}, NodeTimeout(10*time.Minute))

	It("lets claims go, as the guide says, whose floating IPs nobody can give back", func(ctx SpecContext) {
		lost := floatingClaim("worker-1")
		Expect(k.Create(ctx, lost)).To(Succeed())
		addressOf(ctx, lost)
		Expect(k.Delete(ctx, pool)).To(MatchError(ContainSubstring("1 prefix is allocated from it")))
		Expect(k.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: pool.Namespace, Name: "cloud-config"}})).To(Succeed())
		Expect(k.Delete(ctx, pool)).To(Succeed())
		Expect(k.Delete(ctx, lost)).To(Succeed())
		suite.Gone(ctx, k, lost, pool)
		Expect(cloud.FloatingIPs()).To(ConsistOf(HaveField("Description", HaveSuffix("/default/"+lost.Name))))
	}, NodeTimeout(10*time.Minute))

	It("goes without a trace", func(ctx SpecContext) {
		stopAllowed(m)
		_, err := ctl.Run(ctx, "delete", "--ipam", "weir")
		Expect(err).NotTo(HaveOccurred())
		expectNothingInstalled(ctx)
	}, NodeTimeout(10*time.Minute))
})

// floatingClaim is what CAPO makes for a server.
func floatingClaim(server string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(metav1.NamespaceDefault, server+"-floating-ip-address", ipamv1.IPPoolKind, "floating").Build()
}

// samplesFor returns the samples by their kinds, with the credentials for a cloud in their Secret.
func samplesFor(cloud *fake.Cloud) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	samples, err := framework.ReadManifests(filepath.Join(repository, "config", "samples", "openstack"))
	Expect(err).NotTo(HaveOccurred())
	kinds := map[string]*unstructured.Unstructured{}
	for _, o := range samples {
		kinds[o.GetKind()] = o
	}
	Expect(kinds).To(HaveLen(len(samples)))
	clouds := strings.Replace(string(cloud.CloudsYAML()), "  "+openstack.Member+":", "  lab:", 1)
	Expect(unstructured.SetNestedField(kinds["Secret"].Object, clouds, "stringData", "clouds.yaml")).To(Succeed())
	return kinds
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// hostPool is a pool that keeps an address for the host node-7, and the Cluster that it belongs to.
func hostPool(name, subnet, kept string) (*clusterv1.Cluster, *m3v1.IPPool) {
	owner := metav1.ObjectMeta{Namespace: machines, Name: name}
	cluster := &clusterv1.Cluster{ObjectMeta: owner, Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Metal3Cluster", Name: name},
	}}
	return cluster, &m3v1.IPPool{ObjectMeta: owner, Spec: m3v1.IPPoolSpec{
		ClusterName: &owner.Name, NamePrefix: name, Prefix: 24, Pools: []m3v1.Pool{{Subnet: ptr.To(m3v1.Subnet(subnet))}},
		PreAllocations: map[string]m3v1.Address{"node-7-" + name: m3v1.Address(kept)},
	}}
}

// hostClaim is what CAPM3 makes for a host, or for its Metal3Data.
func hostClaim(name, pool string) *m3v1.IPClaim {
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: machines, Name: name + "-" + pool},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: pool}},
	}
}

// claimOfMetal3Pool is a claim of Cluster API's of a pool of Metal3's.
func claimOfMetal3Pool(name, pool string) *ipamv1beta2.IPAddressClaim {
	claim := builder.IPAddressClaim(machines, name, m3v1.IPPoolKind, pool).Build()
	claim.Spec.PoolRef.APIGroup = m3v1.GroupVersion.Group
	return claim
}

// told returns the address of a claim of Metal3's, found as CAPM3 finds it.
func told(ctx context.Context, claim *m3v1.IPClaim) string {
	GinkgoHelper()
	address := &m3v1.IPAddress{}
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.Address).NotTo(BeNil(), "%+v", claim.Status)
		g.Expect(k.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Status.Address.Name}, address)).To(Succeed())
	}, "1m", "100ms").Should(Succeed())
	return string(address.Spec.Address)
}

// answers makes a claim of each kind for each name, of a pool of Metal3's, and returns their addresses by the claims' kinds and names.
func answers(ctx context.Context, pool string, names ...string) map[string]string {
	GinkgoHelper()
	got := map[string]string{}
	for _, name := range names {
		claim := hostClaim(name, pool)
		Expect(k.Create(ctx, claim)).To(Succeed())
		got["IPClaim "+claim.Name] = told(ctx, claim)
		Expect(k.Create(ctx, claimOfMetal3Pool(name+"-capi", pool))).To(Succeed())
	}
	Eventually(func() int { return len(addresses(ctx)) }, "1m", "100ms").Should(Equal(len(allClaims(ctx))))
	for _, name := range names {
		got["IPAddressClaim "+name+"-capi"] = addresses(ctx)[name+"-capi"]
	}
	return got
}

func allClaims(ctx context.Context) []ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	list := &ipamv1beta2.IPAddressClaimList{}
	Expect(k.List(ctx, list, client.InNamespace(machines))).To(Succeed())
	return list.Items
}

// keepTheirs expects that the claims have the addresses they had.
func keepTheirs(ctx context.Context, held map[string]string) {
	GinkgoHelper()
	for who, address := range held {
		kind, name, _ := strings.Cut(who, " ")
		if kind == "IPAddressClaim" {
			Expect(addresses(ctx)).To(HaveKeyWithValue(name, address))
			continue
		}
		claim := &m3v1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: machines, Name: name}}
		Expect(told(ctx, claim)).To(Equal(address), name)
	}
}

// installed returns the Deployment that clusterctl has installed.
func installed(ctx context.Context) *appsv1.Deployment {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: framework.ManagerNamespace, Name: "weir-controller-manager"}, deployment)).To(Succeed())
	return deployment
}

// may says whether a user may do this with Metal3's objects.
func may(ctx context.Context, user, verb, resource string) bool {
	GinkgoHelper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: machines, Verb: verb, Group: m3v1.GroupVersion.Group, Resource: resource,
		},
	}}
	Expect(as(ctx, user).Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

// startInstalled runs a manager with the rights of what is installed, and with its flags for gates and clouds, and points the webhooks at it.
func startInstalled(ctx context.Context, version string) *framework.Manager {
	GinkgoHelper()
	container := installed(ctx).Spec.Template.Spec.Containers[0]
	Expect(container.Image).To(HaveSuffix(":" + version))
	args := []string{"--leader-elect"}
	for _, arg := range container.Args {
		if strings.HasPrefix(arg, "--feature-gates=") || strings.HasPrefix(arg, "--openstack-endpoint-allow=") {
			args = append(args, arg)
		}
	}
	m := suite.StartManager(ctx, site, args...)
	Expect(site.PointWebhooks(ctx, m.WebhookAddress())).To(Succeed())
	return m
}

// openedMetal3 is in the log of a manager that serves Metal3's kinds.
const openedMetal3 = `"Opening front door" logger="door" door="Metal3"`

// stopAllowed stops a manager to which nothing was forbidden, and returns its log.
func stopAllowed(m *framework.Manager) string {
	GinkgoHelper()
	Expect(m.Stop()).To(Succeed())
	log, err := os.ReadFile(m.LogPath())
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(log)) {
		Expect(line).NotTo(ContainSubstring("is forbidden: "))
	}
	return string(log)
}

var _ = Describe("The component set with Metal3's API", Ordered, func() {
	var (
		ctl  *framework.Clusterctl
		m    *framework.Manager
		held map[string]string
	)

	BeforeAll(func(ctx SpecContext) {
		start(ctx, framework.SiteOptions{
			// Who names an owner that cannot be deleted before needs the right to update that one's finalizers.
			Options: framework.Options{APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"}},
			Install: []framework.Step{framework.InstallCertManagerCRDs},
		})
		var err error
		ctl, err = site.Clusterctl(oldVersion, newVersion)
		Expect(err).NotTo(HaveOccurred())
		Expect(ctl.ChooseComponents(framework.Metal3Components)).To(Succeed())
		out, err := ctl.Init(ctx, oldVersion)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(site.StartControllerManager(ctx)).To(Succeed())
		m = startInstalled(ctx, oldVersion)
		Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: machines}})).To(Succeed())
	}, NodeTimeout(2*startTimeout))

	It("is another than the usual one, which does not name Metal3's API, and may only read what leads to hosts", func() {
		release, err := framework.ReleaseDir()
		Expect(err).NotTo(HaveOccurred())
		usual, err := os.ReadFile(filepath.Join(release, "ipam-components.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(usual)).NotTo(Or(ContainSubstring(m3v1.GroupVersion.Group), ContainSubstring("Metal3=true")))
		Expect(regexp.MustCompile(`(?m)^  - metal3.*$`).FindAllString(string(usual), -1)).To(
			HaveExactElements("  - metal3dataclaims", "  - metal3datas", "  - metal3machines"))
	})

	It("has CRDs that clusterctl knows: it moves none for its own sake, and finds their versions by contract", func(ctx SpecContext) {
		for _, kind := range []string{"ippools", "ipclaims", "ipaddresses"} {
			crd := &metav1.PartialObjectMetadata{}
			crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
			Expect(k.Get(ctx, client.ObjectKey{Name: kind + "." + m3v1.GroupVersion.Group}, crd)).To(Succeed())
			Expect(crd.Labels).To(And(
				HaveKeyWithValue("cluster.x-k8s.io/provider", "ipam-weir"), HaveKey("clusterctl.cluster.x-k8s.io"),
				HaveKeyWithValue("cluster.x-k8s.io/v1beta1", "v1alpha1"), HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1alpha1"),
				Not(HaveKey("clusterctl.cluster.x-k8s.io/move")), Not(HaveKey("clusterctl.cluster.x-k8s.io/move-hierarchy")),
			))
		}
	})

	It("has the manager's rights on Metal3's kinds in a ClusterRole of their own", func(ctx SpecContext) {
		roles := &rbacv1.ClusterRoleList{}
		Expect(k.List(ctx, roles, client.MatchingLabels{"cluster.x-k8s.io/provider": "ipam-weir"})).To(Succeed())
		groups := map[string][]string{}
		for i := range roles.Items {
			for _, rule := range roles.Items[i].Rules {
				for _, group := range rule.APIGroups {
					groups[group] = append(groups[group], strings.TrimSuffix(strings.TrimPrefix(roles.Items[i].Name, "weir-system-"), "-role"))
				}
			}
		}
		Expect(groups[m3v1.GroupVersion.Group]).To(HaveEach(HavePrefix("metal3-")))
		Expect(groups[m3v1.GroupVersion.Group]).To(ContainElement("metal3-manager"))
		Expect(groups["infrastructure.cluster.x-k8s.io"]).To(HaveExactElements("manager"))
		delete(groups, m3v1.GroupVersion.Group)
		Expect(groups).To(HaveEach(Not(ContainElement(HavePrefix("metal3-")))))
	})

	It("has roles for users: viewers look, editors claim, pool admins make pools", func(ctx SpecContext) {
		for _, user := range []string{"viewer", "claim-editor", "pool-admin"} {
			bind(ctx, user, "", "weir-system-metal3-"+user+"-role")
		}
		for resource, writer := range map[string]string{"ippools": "pool-admin", "ipclaims": "claim-editor", "ipaddresses": "pool-admin"} {
			for _, user := range []string{"viewer", "claim-editor", "pool-admin"} {
				isReader := user != "claim-editor" || resource != "ippools"
				Expect(may(ctx, user, "list", resource)).To(Equal(isReader), "%s list %s", user, resource)
				Expect(may(ctx, user, "create", resource)).To(Equal(user == writer), "%s create %s", user, resource)
			}
		}
	})

	It("answers claims of both kinds, keeps what is pre-allocated, and gives back", func(ctx SpecContext) {
		cluster, pool := hostPool("provisioning", "192.0.2.0/24", "192.0.2.3")
		Expect(k.Create(ctx, cluster)).To(Succeed())
		Expect(k.Create(ctx, pool)).To(Succeed())
		held = answers(ctx, "provisioning", "node-7", "node-8")
		Expect(held).To(HaveKeyWithValue("IPClaim node-7-provisioning", "192.0.2.3"))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool.OwnerReferences).To(ContainElement(HaveField("UID", cluster.UID)))
			g.Expect(pool.Status.Allocations).To(HaveKeyWithValue("node-7-provisioning", m3v1.Address("192.0.2.3")))
		}, "1m", "100ms").Should(Succeed())

		By("and deletes what nobody needs")
		_, brief := hostPool("brief", "198.51.100.0/24", "198.51.100.3")
		brief.Spec.ClusterName = nil
		Expect(k.Create(ctx, brief)).To(Succeed())
		claim := hostClaim("node-9", "brief")
		Expect(k.Create(ctx, claim)).To(Succeed())
		address := &m3v1.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: machines, Name: "brief-" + strings.ReplaceAll(told(ctx, claim), ".", "-")}}
		Expect(k.Delete(ctx, claim)).To(Succeed())
		suite.Gone(ctx, k, claim, address)
		Expect(k.Delete(ctx, brief)).To(Succeed())
		suite.Gone(ctx, k, brief)
	}, NodeTimeout(10*time.Minute))

	It("has samples that are answered as they are, and keep what they got when they are applied again", func(ctx SpecContext) {
		samples, err := framework.ReadManifests(filepath.Join(repository, "config", "samples", "metal3"))
		Expect(err).NotTo(HaveOccurred())
		for range 2 {
			Expect(framework.Apply(ctx, site.Config(), samples...)).To(Succeed())
			for name, want := range map[string]string{"host-0": `^192\.0\.2\.10[01]$`, "host-7": `^192\.0\.2\.107$`, "console": `^192\.0\.2\.149$`} {
				claim := hostClaim(name, "provisioning")
				claim.Namespace = metav1.NamespaceDefault
				Expect(told(ctx, claim)).To(MatchRegexp(want))
			}
			claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "host-0-provisioning-v4"}}
			Eventually(func(g Gomega) {
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
				g.Expect(claim.Status.AddressRef.Name).NotTo(BeEmpty(), "%v", claim.Status.Conditions)
			}, "1m", "100ms").Should(Succeed())
		}
	}, NodeTimeout(10*time.Minute))

	It("has a template that clusterctl renders, whose hosts get all that they are to be told from its pool", func(ctx SpecContext) {
		kinds := applyTemplate(ctx, ctl, "metal3", 8, map[string]string{
			"CLUSTER_NAME": "c1", "NAMESPACE": metav1.NamespaceDefault,
			"NODE_FIRST_ADDRESS": "203.0.113.21", "NODE_LAST_ADDRESS": "203.0.113.99", "NODE_INTERFACE": "enp2s0",
			"IMAGE_URL": "http://images/node.raw", "IMAGE_CHECKSUM": "aa", "IMAGE_CHECKSUM_TYPE": "sha256", "IMAGE_FORMAT": "raw",
			"SSH_AUTHORIZED_KEY": "k",
		})
		pool := kinds["IPPool"].GetName()
		spec, err := yaml.Marshal(kinds["Metal3DataTemplate"].Object["spec"])
		Expect(err).NotTo(HaveOccurred())
		Expect(regexp.MustCompile(`(?:FromIPPool|fromIPPool|key: node_ip\n\s+kind: IPPool\n\s+name): (\S+)`).FindAllStringSubmatch(string(spec), -1)).To(And(
			HaveLen(4), HaveEach(HaveExactElements(Not(BeEmpty()), pool)))) // address, gateway, DNS, and the address for kubelet
		claim := hostClaim("c1-0", pool)
		claim.Namespace = metav1.NamespaceDefault
		Expect(k.Create(ctx, claim)).To(Succeed())
		Expect(told(ctx, claim)).To(Equal("203.0.113.21"))
		address := &m3v1.IPAddress{}
		Expect(k.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: pool + "-203-0-113-21"}, address)).To(Succeed())
		Expect(address.Spec).To(And(HaveField("Prefix", 24), HaveField("Gateway", HaveValue(BeEquivalentTo("203.0.113.1"))),
			HaveField("DNSServers", HaveExactElements(BeEquivalentTo("203.0.113.2")))))
	}, NodeTimeout(10*time.Minute))

	It("keeps every object and address when clusterctl upgrades it", func(ctx SpecContext) {
		Expect(framework.AwaitCertManagerTestGone(ctx, site.Config())).To(Succeed())
		Expect(stopAllowed(m)).To(ContainSubstring(openedMetal3))
		out, err := ctl.Run(ctx, "upgrade", "apply", "--ipam", "weir-system/weir:"+newVersion)
		Expect(err).NotTo(HaveOccurred(), out)
		keepTheirs(ctx, held)
		m = startInstalled(ctx, newVersion)
		for name, address := range answers(ctx, "provisioning", "node-10") {
			held[name] = address
		}
		keepTheirs(ctx, held)
		report, err := fsck.Check(ctx, site.Config())
		Expect(err).NotTo(HaveOccurred())
		Expect(report.AtRest()).To(Succeed())
		Expect(records(ctx)).To(Equal(len(held)))
	}, NodeTimeout(10*time.Minute))

	It("goes without a trace but the claims and their addresses", func(ctx SpecContext) {
		Expect(stopAllowed(m)).To(ContainSubstring(openedMetal3))
		_, err := ctl.Run(ctx, "delete", "--ipam", "weir")
		Expect(err).NotTo(HaveOccurred())
		expectNothingInstalled(ctx)
		keepTheirs(ctx, held)
	}, NodeTimeout(10*time.Minute))
})

var _ = It("The gate Metal3 opens its door when the kinds appear, also for claims that were there before", func(ctx SpecContext) {
	start(ctx, framework.SiteOptions{
		Install:    []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
		Namespaces: []string{machines},
	})
	m := suite.StartManager(ctx, site, "--feature-gates=Metal3=true")
	Expect(site.PointWebhooks(ctx, m.WebhookAddress())).To(Succeed())
	early := claimOfMetal3Pool("early", "provisioning")
	Expect(k.Create(ctx, early)).To(Succeed())
	Expect(k.Create(ctx, builder.IPPool(machines, "p").WithCIDR("192.0.2.0/24").Build())).To(Succeed())
	claimAndWait(ctx, "usual", 1)
	Expect(k.Get(ctx, client.ObjectKeyFromObject(early), early)).To(Succeed())
	Expect(early.Status.AddressRef.Name).To(BeEmpty())

	release, err := framework.ReleaseDir()
	Expect(err).NotTo(HaveOccurred())
	objects, err := framework.ReadManifests(filepath.Join(release, framework.Metal3Components))
	Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		if strings.Contains(o.GetName(), "metal3") { // what the usual components lack
			Expect(site.ApplyInPlace(ctx, m.WebhookAddress(), o)).To(Succeed())
		}
	}
	_, pool := hostPool("provisioning", "198.51.100.0/24", "198.51.100.3")
	pool.Spec.ClusterName = nil
	Expect(k.Create(ctx, pool)).To(Succeed())
	Eventually(func() map[string]string { return addresses(ctx) }, "1m", "100ms").Should(HaveKey(early.Name))
	Expect(answers(ctx, "provisioning", "node-7")).To(HaveKeyWithValue("IPClaim node-7-provisioning", "198.51.100.3"))
	Expect(m.Running()).To(BeTrue())
}, SpecTimeout(5*time.Minute))

// records counts what is recorded for claims.
func records(ctx context.Context) int {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(machines))).To(Succeed())
	n := 0
	for i := range list.Items {
		if !list.Items[i].Spec.IsRootBlock() {
			n++
		}
	}
	return n
}

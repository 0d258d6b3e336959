// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// inClusterKinds are the plurals of the in-cluster provider's pools.
var inClusterKinds = []string{"inclusterippools", "globalinclusterippools"}

// sampleAddresses waits until the sample claims of in-cluster pools are answered, and returns their addresses by the claims' names.
func sampleAddresses(ctx context.Context) map[string]string {
	GinkgoHelper()
	got := map[string]string{}
	for _, name := range []string{"incluster-machine-0-v4", "incluster-machine-0-v6"} {
		key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}
		claim, answer := &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, key, claim)).To(Succeed())
			g.Expect(claim.Status.AddressRef.Name).To(Equal(name), "%v", claim.Status.Conditions)
			g.Expect(k.Get(ctx, key, answer)).To(Succeed())
		}, "1m", "100ms").Should(Succeed())
		got[name] = answer.Spec.Address
	}
	return got
}

// mayPools says whether a user may do this with the in-cluster provider's pools.
func mayPools(ctx context.Context, user, verb, resource string) bool {
	GinkgoHelper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: icv1.GroupVersion.Group, Resource: resource},
	}}
	Expect(as(ctx, user).Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}

var _ = Describe("The component set with the in-cluster provider's pools", Ordered, func() {
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
		Expect(ctl.ChooseComponents(framework.InClusterComponents)).To(Succeed())
		out, err := ctl.Init(ctx, oldVersion)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(site.StartControllerManager(ctx)).To(Succeed())
		m = startInstalled(ctx, oldVersion)
	}, NodeTimeout(2*startTimeout))

	It("is another than the usual one, which does not name these kinds", func() {
		release, err := framework.ReleaseDir()
		Expect(err).NotTo(HaveOccurred())
		usual, err := os.ReadFile(filepath.Join(release, usualComponents))
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.ToLower(string(usual))).NotTo(Or(ContainSubstring("inclusterippool"), ContainSubstring("incluster=true")))
	})

	It("has CRDs that clusterctl knows: it moves the pools, and what those of a namespace own", func(ctx SpecContext) {
		for _, kind := range inClusterKinds {
			crd := &metav1.PartialObjectMetadata{}
			crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
			Expect(k.Get(ctx, client.ObjectKey{Name: kind + "." + icv1.GroupVersion.Group}, crd)).To(Succeed())
			Expect(crd.Labels).To(And(
				HaveKeyWithValue("cluster.x-k8s.io/provider", "ipam-weir"), HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1alpha2"),
				HaveKey("clusterctl.cluster.x-k8s.io"),
			))
			isGlobal := strings.HasPrefix(kind, "global")
			_, moves := crd.Labels["clusterctl.cluster.x-k8s.io/move"]
			_, takesAlong := crd.Labels["clusterctl.cluster.x-k8s.io/move-hierarchy"]
			Expect([]bool{moves, takesAlong}).To(Equal([]bool{isGlobal, !isGlobal}), kind)
		}
	})

	It("has roles for users: viewers look, pool admins make pools", func(ctx SpecContext) {
		for _, user := range []string{"viewer", "pool-admin"} {
			bind(ctx, user, "", "weir-system-incluster-"+user+"-role")
		}
		for _, resource := range inClusterKinds {
			for _, user := range []string{"viewer", "pool-admin"} {
				Expect(mayPools(ctx, user, "list", resource)).To(BeTrue(), "%s list %s", user, resource)
				Expect(mayPools(ctx, user, "create", resource)).To(Equal(user == "pool-admin"), "%s create %s", user, resource)
			}
		}
	})

	It("has samples that are answered as they are, and keep what they got when they are applied again", func(ctx SpecContext) {
		samples, err := framework.ReadManifests(filepath.Join(repository, "config", "samples", "incluster"))
		Expect(err).NotTo(HaveOccurred())
		for range 2 {
			Expect(framework.Apply(ctx, site.Config(), samples...)).To(Succeed())
			held = sampleAddresses(ctx)
			Expect(held).To(And(
				HaveKeyWithValue("incluster-machine-0-v4", "192.0.2.100"),
				HaveKeyWithValue("incluster-machine-0-v6", "2001:db8:100::2"))) // the first is the network's, the second the gateway
		}
	}, NodeTimeout(10*time.Minute))

	It("has a template that clusterctl renders, and that CAPMOX makes a pool of that Weir serves", func(ctx SpecContext) {
		kinds := applyTemplate(ctx, ctl, "proxmox", 6, map[string]string{
			"CLUSTER_NAME": "c1", "NAMESPACE": metav1.NamespaceDefault, "NODE_ADDRESSES": "203.0.113.21-203.0.113.99", "NODE_BRIDGE": "vmbr0",
			"PROXMOX_SOURCENODE": "pve1", "TEMPLATE_VMID": "100", "BOOT_VOLUME_DEVICE": "scsi0", "SSH_AUTHORIZED_KEY": "k",
		})
		config, found, err := unstructured.NestedMap(kinds["ProxmoxCluster"].Object, "spec", "ipv4Config")
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		text, err := json.Marshal(config)
		Expect(err).NotTo(HaveOccurred())
		pool := &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "c1-v4-icip"}}
		Expect(json.Unmarshal(text, &pool.Spec)).To(Succeed()) // the fields have one name in both
		Expect(k.Create(ctx, pool)).To(Succeed())
		claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: pool.Namespace, Name: "c1-0-net0-00-inet", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		}}
		claim.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: icv1.GroupVersion.Group, Kind: icv1.InClusterIPPoolKind, Name: pool.Name}
		Expect(k.Create(ctx, claim)).To(Succeed())
		address := &ipamv1beta2.IPAddress{}
		Eventually(func() error { return k.Get(ctx, client.ObjectKeyFromObject(claim), address) }, "1m", "100ms").Should(Succeed())
		Expect(address.Spec).To(And(HaveField("Address", "203.0.113.21"), HaveField("Prefix", HaveValue(BeEquivalentTo(24))), HaveField("Gateway", "203.0.113.1")))
	}, NodeTimeout(10*time.Minute))

	It("keeps every pool and address when clusterctl upgrades it", func(ctx SpecContext) {
		Expect(framework.AwaitCertManagerTestGone(ctx, site.Config())).To(Succeed())
		stopAllowed(m)
		out, err := ctl.Run(ctx, "upgrade", "apply", "--ipam", "weir-system/weir:"+newVersion)
		Expect(err).NotTo(HaveOccurred(), out)
		m = startInstalled(ctx, newVersion)
		Expect(sampleAddresses(ctx)).To(Equal(held))
	}, NodeTimeout(10*time.Minute))

	It("goes without a trace but the pools, the claims and their addresses", func(ctx SpecContext) {
		stopAllowed(m)
		_, err := ctl.Run(ctx, "delete", "--ipam", "weir")
		Expect(err).NotTo(HaveOccurred())
		expectNothingInstalled(ctx)
		Expect(sampleAddresses(ctx)).To(Equal(held))
		Expect(k.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "incluster"}, &icv1.InClusterIPPool{})).To(Succeed())
	}, NodeTimeout(10*time.Minute))
})

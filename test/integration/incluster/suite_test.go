// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package incluster tests the in-cluster provider's pools, and IPAddressClaims that name them, on a real API server.
package incluster

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1alpha1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha1"
	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	patience = time.Minute
	interval = 20 * time.Millisecond
	// infrastructure is the group of infrastructure providers' kinds.
	infrastructure = "infrastructure.cluster.x-k8s.io"
)

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k client.Client
)

func TestMain(m *testing.M) { suite.Main(m) }

// scheme has Weir's kinds and the in-cluster provider's, of both versions.
func scheme() (*runtime.Scheme, error) {
	s, err := setup.Scheme()
	if err != nil {
		return nil, err
	}
	return s, errors.Join(icv1.AddToScheme(s), icv1alpha1.AddToScheme(s))
}

func TestInCluster(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "In-cluster")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{ControllerManager: true},
		Install: []framework.Step{
			framework.InstallWeirCRDs, framework.InstallCAPICRDs, framework.InstallV1Beta1Claims, framework.InstallInClusterCRDs, framework.InstallInClusterPolicies,
			framework.InstallProviderCRDs(infrastructure, map[string]string{
				"ProxmoxCluster": "proxmoxclusters", "ProxmoxMachine": "proxmoxmachines", "VSphereVM": "vspherevms", "ClusterIPAMClaim": "clusteripamclaims",
			}),
		},
		Scheme: scheme,
	})
	k = site.Client()
	certs := GinkgoT().TempDir()
	bundle, err := framework.ServingCerts(certs)
	Expect(err).NotTo(HaveOccurred())
	webhooks := suite.RunManagerWith(site, certs, func(o *setup.Options) { o.FeatureGates = map[string]string{"InCluster": "true"} })
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	for _, file := range []string{"pools.yaml", "moves.yaml", "spaces.yaml"} {
		suite.GuardPools(ctx, site, filepath.Join(root, "config", "incluster", "webhook", file), bundle, "https://"+webhooks)
	}
}, NodeTimeout(5*time.Minute))

func claimOf(ns, name, kind, pool string) *ipamv1beta2.IPAddressClaim {
	return &ipamv1beta2.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{
			APIGroup: icv1.GroupVersion.Group, Kind: kind, Name: pool,
		}},
	}
}

func create[O client.Object](ctx context.Context, obj O) O {
	GinkgoHelper()
	Expect(k.Create(ctx, obj)).To(Succeed())
	return obj
}

// told waits until a claim is answered, and returns its IPAddress.
func told(ctx context.Context, c *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddress {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(c.Status.AddressRef.Name).To(Equal(c.Name), "%v", c.Status.Conditions)
	}, patience, interval).Should(Succeed())
	a := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKeyFromObject(c), a)).To(Succeed())
	return a
}

func gone(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(func() error { return client.IgnoreNotFound(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)) }, patience, interval).Should(Succeed())
	Eventually(func() error { return k.Get(ctx, client.ObjectKeyFromObject(obj), obj) }, patience, interval).Should(HaveOccurred())
}

var _ = Describe("An IPAddressClaim of an in-cluster pool", func() {
	var ns string
	spec := icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/29"}, Prefix: 29, Gateway: "10.0.0.1"}

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, nil) })

	newPool := func(name string) *icv1.InClusterIPPool {
		return &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
	}

	It("is answered as the in-cluster provider would, with its finalizers and none of Weir's, and released", func(ctx SpecContext) {
		p := create(ctx, newPool("p"))
		c := create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))
		a := told(ctx, c)
		Expect(a.Spec).To(And(HaveField("Address", "10.0.0.2"), HaveField("Prefix", HaveValue(BeEquivalentTo(29))), HaveField("Gateway", "10.0.0.1"),
			HaveField("PoolRef", c.Spec.PoolRef), HaveField("ClaimRef.Name", "c")))
		Expect(a.Finalizers).To(ConsistOf(icv1.AddressFinalizer))
		Expect(c.Finalizers).To(ConsistOf(icv1.ClaimFinalizer))
		Expect(metav1.GetControllerOf(a)).To(HaveField("UID", c.UID))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.Finalizers).To(ConsistOf(icv1.PoolFinalizer))
			g.Expect(conditions.IsTrue(p, ipamv1.ReadyCondition)).To(BeTrue())
			g.Expect(p.Status.Addresses).To(HaveValue(Equal(icv1.InClusterIPPoolStatusIPAddresses{Total: 5, Used: 1, Free: 4})))
		}, patience, interval).Should(Succeed())
		Expect(k.Delete(ctx, p)).To(Succeed())
		Expect(k.Delete(ctx, c)).To(Succeed())
		gone(ctx, c)
		gone(ctx, a)
		gone(ctx, p)
	})

	It("gets the same address as one of an equal pool, for each pool is an address space of its own", func(ctx SpecContext) {
		create(ctx, newPool("p"))
		create(ctx, newPool("q"))
		first, second := create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p")), create(ctx, claimOf(ns, "d", icv1.InClusterIPPoolKind, "q"))
		Expect(told(ctx, first).Spec.Address).To(Equal(told(ctx, second).Spec.Address))
	})

	It("is answered out of a global pool in every namespace, each address once", func(ctx SpecContext) {
		pool := &icv1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: spec}
		Eventually(func() error { return k.Create(ctx, pool) }, patience, interval).Should(Succeed()) // the webhook may not be served yet
		other := suite.Namespace(ctx, k, nil)
		first, second := create(ctx, claimOf(ns, "c", icv1.GlobalInClusterIPPoolKind, ns)), create(ctx, claimOf(other, "c", icv1.GlobalInClusterIPPoolKind, ns))
		Expect([]string{told(ctx, first).Spec.Address, told(ctx, second).Spec.Address}).To(ConsistOf("10.0.0.2", "10.0.0.3"))
	})

	It("does not get what an IPAddress of the in-cluster provider's has, and the claim of that keeps it", func(ctx SpecContext) {
		had := create(ctx, claimOf(ns, "had", icv1.InClusterIPPoolKind, "p")) // its pool is not there yet
		create(ctx, &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "had", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: "had", UID: had.UID, Controller: ptr.To(true),
			}}, Finalizers: []string{icv1.AddressFinalizer}},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "had"}, PoolRef: had.Spec.PoolRef,
				Address: "10.0.0.2", Prefix: ptr.To(int32(29)), Gateway: "10.0.0.1",
			},
		})
		create(ctx, newPool("p"))
		Expect(told(ctx, create(ctx, claimOf(ns, "new", icv1.InClusterIPPoolKind, "p"))).Spec.Address).To(Equal("10.0.0.3"))
		Expect(told(ctx, had).Spec.Address).To(Equal("10.0.0.2"))
	})

	It("of another provider's kind in the group is left alone", func(ctx SpecContext) {
		theirs := create(ctx, claimOf(ns, "theirs", "NutanixIPPool", "p"))
		create(ctx, newPool("p"))
		told(ctx, create(ctx, claimOf(ns, "ours", icv1.InClusterIPPoolKind, "p")))
		before := theirs.ResourceVersion
		Expect(k.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		Expect(theirs.ResourceVersion).To(Equal(before))
	})

	// Cluster API's v1beta1 lets the version be written; v1beta2 refuses it.
	It("that names the version beside the group says what to write, and goes when it is deleted", func(ctx SpecContext) {
		create(ctx, newPool("p"))
		claim := func(name, kind string) *ipamv1beta2.IPAddressClaim {
			c := claimOf(ns, name, kind, "p")
			c.Spec.PoolRef.APIGroup = icv1.GroupVersion.String()
			Expect(k.Create(ctx, c)).To(MatchError(ContainSubstring("spec.poolRef.apiGroup")))
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
			Expect(err).NotTo(HaveOccurred())
			stored := &unstructured.Unstructured{Object: content}
			stored.SetAPIVersion("ipam.cluster.x-k8s.io/v1beta1")
			stored.SetKind("IPAddressClaim")
			create(ctx, stored)
			Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			return c
		}
		theirs := claim("theirs", "NutanixIPPool")
		for _, kind := range []string{icv1.InClusterIPPoolKind, icv1.GlobalInClusterIPPoolKind} {
			c := claim(strings.ToLower(kind), kind)
			Eventually(func(g Gomega) {
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
				g.Expect(conditions.Get(c, ipamv1.ReadyCondition)).To(HaveValue(And(
					HaveField("Status", metav1.ConditionFalse), HaveField("Reason", ipamv1.ClaimReadyAllocationFailedReason), HaveField("Message",
						`spec.poolRef.apiGroup: "ipam.cluster.x-k8s.io/v1alpha2" is a group and a version: write "ipam.cluster.x-k8s.io"`))))
			}, patience, interval).Should(Succeed())
			Expect(c.Finalizers).To(ConsistOf(icv1.ClaimFinalizer))
			Expect(k.Delete(ctx, c)).To(Succeed())
			gone(ctx, c)
		}
		before := theirs.ResourceVersion
		Expect(k.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		Expect(theirs.ResourceVersion).To(Equal(before), "what names another provider's kind is left alone")
	})

	It("of a pool that cannot be served waits, and the pool names the field", func(ctx SpecContext) {
		p := newPool("p")
		p.Spec.Addresses = []string{"10.0.0.1", "10.9.0.1"}
		create(ctx, p)
		c := create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(conditions.GetMessage(p, ipamv1.ReadyCondition)).To(ContainSubstring("spec.addresses"))
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(conditions.GetReason(c, ipamv1.ReadyCondition)).To(Equal(ipamv1.ClaimReadyPoolNotReadyReason))
		}, patience, interval).Should(Succeed())
	})
})

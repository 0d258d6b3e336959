// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const tenant = "tenant"

var (
	// shipped is the manager of onRelease, and diagnostics is where it serves its metrics and profiles.
	shipped     *framework.Manager
	diagnostics string
)

// onRelease gives specs a control plane with the release and one manager, before Cluster API is there.
var onRelease = shared(framework.SiteOptions{
	Install:    []framework.Step{framework.InstallRelease},
	Namespaces: []string{tenant},
}, func(ctx context.Context) {
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	diagnostics = fmt.Sprintf("127.0.0.1:%d", port)
	shipped = suite.StartManager(ctx, site, "--diagnostics-address="+diagnostics)
	Expect(site.PointWebhooks(ctx, shipped.WebhookAddress())).To(Succeed())
	bind(ctx, "editor", "", "edit")
	bind(ctx, "editor", "", "weir-system-claim-editor-role")
	bind(ctx, "pooladmin", "", "weir-system-pool-admin-role")
	bind(ctx, "viewer", "", "weir-system-viewer-role")
})

// rootPool is a pool of the tenant's, in an address space of its own.
func rootPool(name, cidr string) *ipamv1.IPPool {
	return builder.IPPool(tenant, name).WithCIDR(cidr).WithSpace(name).Build()
}

// provision stores what CAPM3 has of a machine on a host, and the claim that it makes of the tenant's pool hosts.
func provision(ctx context.Context, name, host string) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	stored := func(kind, name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind}}
		o.SetNamespace(tenant)
		o.SetName(name)
		o.SetOwnerReferences(owners)
		return o
	}
	owner := func(o *unstructured.Unstructured) metav1.OwnerReference {
		return *metav1.NewControllerRef(o, o.GroupVersionKind())
	}
	machine := stored("Metal3Machine", "for-"+name)
	machine.SetAnnotations(map[string]string{"metal3.io/BareMetalHost": tenant + "/" + host})
	Expect(k.Create(ctx, machine)).To(Succeed())
	Expect(k.Create(ctx, stored("Metal3DataClaim", "for-"+name, owner(machine)))).To(Succeed())
	data := stored("Metal3Data", name)
	data.Object["spec"] = map[string]any{"claim": map[string]any{"name": "for-" + name}}
	Expect(k.Create(ctx, data)).To(Succeed())
	claim := builder.IPAddressClaim(tenant, name+"-hosts", ipamv1.IPPoolKind, "hosts").Build()
	claim.OwnerReferences = []metav1.OwnerReference{owner(data)}
	Expect(k.Create(ctx, claim)).To(Succeed())
	return claim
}

// addressOf waits until a claim is answered.
func addressOf(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) string {
	GinkgoHelper()
	address := &ipamv1beta2.IPAddress{}
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.AddressRef.Name).To(Equal(claim.Name), "%v", claim.Status.Conditions)
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), address)).To(Succeed())
	}, "3m", "100ms").Should(Succeed())
	return address.Spec.Address
}

var _ = Describe("The shipped manifests", Ordered, func() {
	BeforeEach(onRelease)

	It("let the manager be healthy without Cluster API, and answer claims once its kinds appear", func(ctx SpecContext) {
		early := rootPool("early", "10.0.0.0/24")
		Expect(k.Create(ctx, early)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(early), early)).To(Succeed())
			g.Expect(conditions.IsTrue(early, ipamv1.ReadyCondition)).To(BeTrue())
		}, "3m", "100ms").Should(Succeed())
		Expect(conditions.Has(early, ipamv1.MovableCondition)).To(BeFalse()) // there is nothing to move with
		Expect(framework.InstallCAPICRDs(ctx, site.Config())).To(Succeed())
		claim := builder.IPAddressClaim(tenant, "first", ipamv1.IPPoolKind, "early").Build()
		Expect(k.Create(ctx, claim)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Status.AddressRef.Name).To(Equal("first"))
		}, "3m", "100ms").Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(early), early)).To(Succeed())
			g.Expect(conditions.IsFalse(early, ipamv1.MovableCondition)).To(BeTrue())
		}, "3m", "100ms").Should(Succeed())
	}, NodeTimeout(10*time.Minute))

	It("keep everybody but Weir off its records", func(ctx SpecContext) {
		Expect(site.StartControllerManager(ctx)).To(Succeed())
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(tenant))).To(Succeed())
		Expect(list.Items).NotTo(BeEmpty())
		grant(ctx, "meddler", "", rbacv1.PolicyRule{
			Resources: []string{"*"}, Verbs: []string{"get", "list", "create", "update", "patch", "delete"},
		})
		meddler := as(ctx, "meddler")
		record := &list.Items[0]
		forbidden(meddler.Delete(ctx, record), "manage")
		labelled := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
		forbidden(meddler.Patch(ctx, record.DeepCopy(), client.RawPatch(types.MergePatchType, labelled)), "manage")
		made := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "made"}, Spec: record.Spec}
		forbidden(meddler.Create(ctx, made), "manage")

		By("and off the annotations that make Weir keep or give up addresses")
		p := &ipamv1.IPPool{}
		Expect(k.Get(ctx, client.ObjectKey{Namespace: tenant, Name: "early"}, p)).To(Succeed())
		moving := []byte(`{"metadata":{"annotations":{"clusterctl.cluster.x-k8s.io/delete-for-move":""}}}`)
		forbidden(meddler.Patch(ctx, p, client.RawPatch(types.MergePatchType, moving)), "manage")
		harmless := []byte(`{"metadata":{"annotations":{"harmless":""}}}`)
		Expect(meddler.Patch(ctx, p, client.RawPatch(types.MergePatchType, harmless))).To(Succeed())
	}, NodeTimeout(10*time.Minute))

	It("let only pool administrators bring address space in", func(ctx SpecContext) {
		forbidden(as(ctx, "meddler").Create(ctx, rootPool("stolen", "10.9.0.0/24")), "createroot")
		Expect(as(ctx, "pooladmin").Create(ctx, rootPool("granted", "10.8.0.0/24"))).To(Succeed())
	})

	It("let only who may assign projects label namespaces and pools with one", func(ctx SpecContext) {
		labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: map[string]string{ipamv1.ProjectLabel: "red"}}}
		Expect(k.Create(ctx, labelled.DeepCopy())).To(Succeed())
		grant(ctx, "meddler", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"*"}})
		meddler := as(ctx, "meddler")
		labelled.Name = "labelled-too"
		forbidden(meddler.Create(ctx, labelled), "assign")
		labelled.Labels = nil
		Expect(meddler.Create(ctx, labelled)).To(Succeed())
	})

	It("let Weir follow claims of CAPM3's to their hosts, across a restart", func(ctx SpecContext) {
		Expect(framework.InstallCAPM3CRDs(ctx, site.Config())).To(Succeed())
		p := rootPool("hosts", "10.5.0.0/24")
		p.Spec.Allocation = &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To(int32(3600))}
		p.Spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "host-0-hosts", Address: "10.5.0.9"}}
		Expect(k.Create(ctx, p)).To(Succeed())
		claims := map[string]*ipamv1beta2.IPAddressClaim{}
		for name, host := range map[string]string{"data-0": "host-0", "data-1": "host-1"} {
			claims[host] = provision(ctx, name, host)
		}
		Expect(addressOf(ctx, claims["host-0"])).To(Equal("10.5.0.9"))
		Expect(addressOf(ctx, claims["host-1"])).To(Equal("10.5.0.1"))

		By("keeping for a host what it has, and for no other")
		keep := func(host string) error {
			kept := append(slices.Clone(p.Spec.PreAllocations), ipamv1.PreAllocation{ClaimName: host + "-hosts", Address: "10.5.0.1"})
			changed := rootPool("hosts", "")
			return retry.RetryOnConflict(retry.DefaultRetry, func() error {
				Expect(k.Get(ctx, client.ObjectKeyFromObject(p), changed)).To(Succeed())
				changed.Spec.PreAllocations = kept
				return k.Update(ctx, changed)
			})
		}
		Expect(keep("host-2")).To(MatchError(ContainSubstring("spec.preAllocations[1].address: Invalid value: \"10.5.0.1\": is in use")))
		Expect(keep("host-1")).To(Succeed())

		By("restarting")
		for _, c := range claims {
			Expect(k.Delete(ctx, c)).To(Succeed())
			suite.Gone(ctx, k, c)
		}
		Expect(shipped.Restart(ctx)).To(Succeed())
		Expect(addressOf(ctx, provision(ctx, "data-2", "host-1"))).To(Equal("10.5.0.1"))
		Expect(addressOf(ctx, provision(ctx, "data-3", "host-0"))).To(Equal("10.5.0.9"))
		Expect(addressOf(ctx, provision(ctx, "data-4", "host-2"))).To(Equal("10.5.0.2"))
	}, NodeTimeout(10*time.Minute))

	It("let Weir read whose a namespace is, and ask what a user may get", func(ctx SpecContext) {
		red := builder.GlobalIPPool("red").WithCIDR("10.6.0.0/24").WithSpace("red").Build()
		red.Labels, red.Spec.Visibility = map[string]string{ipamv1.ProjectLabel: "red"}, ipamv1.ConsumerVisibility
		Expect(k.Create(ctx, red)).To(Succeed())
		own := builder.IPAddressClaim("labelled", "own", ipamv1.GlobalIPPoolKind, "red").Build()
		foreign := builder.IPAddressClaim(tenant, "foreign", ipamv1.GlobalIPPoolKind, "red").Build()
		Expect(k.Create(ctx, own)).To(Succeed())
		Expect(k.Create(ctx, foreign)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
			g.Expect(own.Status.AddressRef.Name).To(Equal("own"), "%v", own.Status.Conditions)
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
			g.Expect(foreign.Status.Conditions).To(ContainElement(HaveField("Reason", "PoolNotReady")))
		}, "1m", "100ms").Should(Succeed())
		counts := "1 prefix is allocated from it"
		Expect(as(ctx, "pooladmin").Delete(ctx, red)).To(MatchError(HaveSuffix(counts)))
		Expect(k.Delete(ctx, red)).To(MatchError(HaveSuffix(counts + ": 10.6.0.1 for IPAddressClaim labelled/own")))
	}, NodeTimeout(10*time.Minute))

	It("let editors claim, and viewers only look", func(ctx SpecContext) {
		Expect(as(ctx, "viewer").List(ctx, &ipamv1.IPPoolList{})).To(Succeed())
		Expect(apierrors.IsForbidden(as(ctx, "viewer").Create(ctx, rootPool("v", "10.7.0.0/24")))).To(BeTrue())
		own := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "own"}, Spec: ipamv1.IPClaimSpec{
			PoolRef: &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: "early"},
		}}
		Expect(as(ctx, "editor").Create(ctx, own)).To(Succeed())
		Expect(own.Spec.CIDR).NotTo(BeEmpty())
	})

	It("let viewers read Cluster API's claims and addresses, and not write them", func(ctx SpecContext) {
		for _, resource := range []string{"ipaddressclaims", "ipaddresses"} {
			for verb, may := range map[string]bool{"get": true, "list": true, "watch": true, "create": false, "delete": false} {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: tenant, Verb: verb, Group: ipamv1beta2.GroupVersion.Group, Resource: resource,
					},
				}}
				Expect(as(ctx, "viewer").Create(ctx, review)).To(Succeed())
				Expect(review.Status.Allowed).To(Equal(may), "%s %s", verb, resource)
			}
		}
	})

	It("have samples that are answered as they are", func(ctx SpecContext) {
		samples, err := framework.ReadManifests(filepath.Join(repository, "config", "samples"))
		Expect(err).NotTo(HaveOccurred())
		Expect(framework.Apply(ctx, site.Config(), samples...)).To(Succeed())
		for name, address := range map[string]string{"machine-0": "192.0.2.10", "machine-0-v6": "2001:db8:0:1::2", "load-balancer": "198.51.100.77"} {
			claim, answer := &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}
			Eventually(func(g Gomega) {
				g.Expect(k.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, claim)).To(Succeed())
				g.Expect(claim.Status.AddressRef.Name).To(Equal(name), "%v", claim.Status.Conditions)
			}, "1m", "100ms").Should(Succeed())
			Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), answer)).To(Succeed())
			Expect(answer.Spec.Address).To(Equal(address))
		}
		for _, name := range []string{"pods", "api", "bastion"} {
			claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
			Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			Expect(claim.Spec.CIDR).To(HavePrefix("10.0.0."))
			Expect(claim.Spec.PoolRef.Name).To(Equal("nodes"))
		}

		By("and that keep what they got when they are applied again")
		given := func() map[string]string {
			pools, claims := &ipamv1.IPPoolList{}, &ipamv1.IPClaimList{}
			Expect(k.List(ctx, pools, client.InNamespace("default"))).To(Succeed())
			Expect(k.List(ctx, claims, client.InNamespace("default"))).To(Succeed())
			cidrs := map[string]string{}
			for _, p := range pools.Items {
				cidrs["IPPool "+p.Name] = p.Spec.CIDR
			}
			for _, c := range claims.Items {
				cidrs["IPClaim "+c.Name] = c.Spec.CIDR
			}
			return cidrs
		}
		before := given()
		Expect(framework.Apply(ctx, site.Config(), samples...)).To(Succeed())
		Expect(given()).To(Equal(before))
	}, NodeTimeout(10*time.Minute))

	It("have a template that clusterctl renders and whose pool is accepted", func(ctx SpecContext) {
		ctl, err := site.Clusterctl()
		Expect(err).NotTo(HaveOccurred())
		kinds := applyTemplate(ctx, ctl, "vsphere", 8, map[string]string{
			"CLUSTER_NAME": "c1", "NAMESPACE": tenant, "NODE_ADDRESSES": "203.0.113.20-203.0.113.99",
			"VSPHERE_SERVER": "vc", "VSPHERE_TLS_THUMBPRINT": "aa", "VSPHERE_USERNAME": "u", "VSPHERE_PASSWORD": "p",
			"VSPHERE_DATACENTER": "dc", "VSPHERE_DATASTORE": "ds", "VSPHERE_NETWORK": "n", "VSPHERE_RESOURCE_POOL": "rp",
			"VSPHERE_FOLDER": "f", "VSPHERE_TEMPLATE": "t", "VSPHERE_SSH_AUTHORIZED_KEY": "k",
		})
		devices, _, err := unstructured.NestedSlice(kinds["VSphereMachineTemplate"].Object, "spec", "template", "spec", "network", "devices")
		Expect(err).NotTo(HaveOccurred())
		Expect(devices[0]).To(HaveKeyWithValue("addressesFromPools", ConsistOf(map[string]any{
			"apiGroup": ipamv1.GroupVersion.Group, "kind": ipamv1.IPPoolKind, "name": kinds["IPPool"].GetName(),
		})))
	})
})

// applyTemplate has clusterctl render a template, which has so many objects, creates its Secret, pool and Cluster, as far as it has them, has the
// API server validate what kubeadm's providers get, and returns its objects by kind: the last one of each, which is the workers'.
func applyTemplate(
	ctx context.Context, ctl *framework.Clusterctl, flavor string, number int, variables map[string]string,
) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	maps.Copy(variables, map[string]string{
		"KUBERNETES_VERSION": "v1.36.3", "CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
		"CONTROL_PLANE_ENDPOINT_IP": "203.0.113.20", "NODE_PREFIX": "24", "NODE_GATEWAY": "203.0.113.1", "NODE_DNS": "203.0.113.2",
	})
	for name, value := range variables {
		GinkgoT().Setenv(name, value)
	}
	out, err := ctl.Run(ctx, "generate", "yaml", "--from", filepath.Join(repository, "templates", "cluster-template-"+flavor+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	objects, err := framework.ParseManifests([]byte(out))
	Expect(err).NotTo(HaveOccurred())
	kinds := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		kinds[o.GetKind()] = o
	}
	Expect(objects).To(HaveLen(number))
	for _, kind := range []string{"Secret", ipamv1.IPPoolKind, clusterv1.ClusterKind} {
		if o := kinds[kind]; o != nil {
			Expect(framework.Apply(ctx, site.Config(), o)).To(Succeed())
		}
	}
	Expect(framework.InstallKubeadmCRDs(ctx, site.Config())).To(Succeed())
	for _, kind := range []string{"MachineDeployment", "KubeadmControlPlane", "KubeadmConfigTemplate"} {
		Expect(client.WithFieldValidation(k, metav1.FieldValidationStrict).Create(ctx, kinds[kind], client.DryRunAll)).To(Succeed())
	}
	return kinds
}

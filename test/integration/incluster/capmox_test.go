// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	capmoxUser   = "capmox-manager"
	capmoxMetric = "ipam.capmox.cluster.x-k8s.io/gateway-metric"
	capmoxFamily = "ipam.capmox.cluster.x-k8s.io/ip-family"
	capmoxZone   = "topology.kubernetes.io/proxmox-zone"
	// capmoxGrace is what CAPMOX gives each of its pools since v0.9.
	capmoxGrace = 60
)

// capmox does what CAPMOX (v0.9) does with pools and claims, with the rights of its manager.
type capmox struct {
	client.Client
	ns      string
	cluster client.Object
}

// ipConfig is a part of a ProxmoxCluster's spec that becomes a pool.
type ipConfig struct {
	family, zone string
	addresses    []string
	prefix       int
	gateway      string
	metric       string
}

func (c ipConfig) pool() string {
	if c.zone != "" {
		return "blue-" + c.zone + "-" + c.family + "-icip"
	}
	return "blue-" + c.family + "-icip"
}

// newCapmox makes a Cluster, its ProxmoxCluster, and a user with the rights of CAPMOX's manager.
func newCapmox(ctx context.Context, ns string) *capmox {
	GinkgoHelper()
	group := icv1.GroupVersion.Group
	create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: capmoxUser}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{"inclusterippools", "globalinclusterippools"}, Verbs: []string{
			"create", "delete", "get", "list", "patch", "update", "watch",
		}},
		{APIGroups: []string{group}, Resources: []string{"ipaddressclaims"}, Verbs: []string{"create", "delete", "get", "list", "update", "watch"}},
		{APIGroups: []string{group}, Resources: []string{"ipaddresses"}, Verbs: []string{"get", "list", "watch"}},
	}})
	create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: capmoxUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: capmoxUser},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: capmoxUser}},
	})
	c, err := site.As(capmoxUser)
	Expect(err).NotTo(HaveOccurred())
	create(ctx, builder.Cluster(ns, "blue").Build())
	return &capmox{Client: c, ns: ns, cluster: create(ctx, consumer(ns, "ProxmoxCluster", "blue"))}
}

// reconcilePool does what each reconciliation of the ProxmoxCluster does with one of its pools: the spec is written whole. CAPMOX tries again
// what is refused.
func (c *capmox) reconcilePool(ctx context.Context, config ipConfig) (done controllerutil.OperationResult) {
	GinkgoHelper()
	Eventually(func() (err error) {
		p := &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: config.pool()}}
		done, err = controllerutil.CreateOrUpdate(ctx, c, p, func() error {
			p.Spec = icv1.InClusterIPPoolSpec{
				Addresses: config.addresses, Prefix: config.prefix, Gateway: config.gateway, AddressReuseGracePeriodSeconds: capmoxGrace,
			}
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, capmoxMetric, config.metric)
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, capmoxFamily, "ip"+config.family)
			if config.zone != "" {
				metav1.SetMetaDataLabel(&p.ObjectMeta, capmoxZone, config.zone)
			}
			return controllerutil.SetControllerReference(c.cluster, p, c.Scheme())
		})
		return err
	}, patience, interval).Should(Succeed())
	return done
}

// reconcileClaim does what each reconciliation of a ProxmoxMachine does for one pool of a device: it looks for the pool, and makes the claim
// unless it is there.
func (c *capmox) reconcileClaim(ctx context.Context, machine client.Object, device string, number int, pool string) (controllerutil.OperationResult, *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKey{Namespace: c.ns, Name: pool}, &icv1.InClusterIPPool{})).To(Succeed())
	claim := claimOf(c.ns, fmt.Sprintf("%s-%s-%02d-inet", machine.GetName(), device, number), icv1.InClusterIPPoolKind, pool)
	claim.Labels = map[string]string{clusterv1.ClusterNameLabel: c.cluster.GetName()}
	var done controllerutil.OperationResult
	Eventually(func() (err error) {
		done, err = controllerutil.CreateOrUpdate(ctx, c, claim, func() error {
			return controllerutil.SetControllerReference(machine, claim, c.Scheme())
		})
		return err
	}, patience, interval).Should(Succeed())
	return done, claim
}

// read waits for a claim's address, and reads what CAPMOX does: the IPAddress, of which the pool must be the claim's, and that pool's metric.
func (c *capmox) read(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) string {
	GinkgoHelper()
	address := told(ctx, claim)
	Expect(c.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())
	Expect(address.Spec.PoolRef).To(Equal(claim.Spec.PoolRef))
	p := &icv1.InClusterIPPool{}
	Expect(c.Get(ctx, client.ObjectKey{Namespace: c.ns, Name: address.Spec.PoolRef.Name}, p)).To(Succeed())
	return fmt.Sprintf("%s/%d via %s metric %s", address.Spec.Address, *address.Spec.Prefix, address.Spec.Gateway, p.Annotations[capmoxMetric])
}

// consumer is an object of an infrastructure provider, which nobody acts on.
func consumer(ns, kind, name string) client.Object {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: infrastructure, Version: "v1beta1", Kind: kind})
	obj.SetNamespace(ns)
	obj.SetName(name)
	return obj
}

var _ = Describe("CAPMOX", func() {
	It("gets what it asks for in its order, writes nothing where nothing has changed, and its deletions release", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, suite.Guarded)
		c := newCapmox(ctx, ns)
		configs := []ipConfig{
			{family: "v4", addresses: []string{"10.4.0.20-10.4.0.29"}, prefix: 24, gateway: "10.4.0.1", metric: "100"},
			{family: "v6", addresses: []string{"fd00:4::20-fd00:4::29"}, prefix: 64, gateway: "fd00:4::1", metric: "100"},
			{family: "v4", zone: "east", addresses: []string{"10.5.0.0/28"}, prefix: 24, gateway: "10.5.0.1", metric: "50"},
		}
		for _, config := range configs {
			Expect(c.reconcilePool(ctx, config)).To(Equal(controllerutil.OperationResultCreated), config.pool())
		}
		had := map[string]string{}
		machines := map[string]client.Object{}
		each := func(ctx context.Context, wanted controllerutil.OperationResult) {
			GinkgoHelper()
			for _, name := range []string{"blue-m-0", "blue-m-1"} {
				if machines[name] == nil {
					machines[name] = create(ctx, consumer(ns, "ProxmoxMachine", name))
				}
				for i, device := range []string{"net0", "net0", "net1"} {
					done, claim := c.reconcileClaim(ctx, machines[name], device, i%2, configs[i].pool())
					Expect(done).To(Equal(wanted), claim.Name)
					had[claim.Name] = c.read(ctx, claim)
				}
			}
		}
		each(ctx, controllerutil.OperationResultCreated)
		Expect(had).To(Equal(map[string]string{
			"blue-m-0-net0-00-inet": "10.4.0.20/24 via 10.4.0.1 metric 100", "blue-m-1-net0-00-inet": "10.4.0.21/24 via 10.4.0.1 metric 100",
			"blue-m-0-net0-01-inet": "fd00:4::20/64 via fd00:4::1 metric 100", "blue-m-1-net0-01-inet": "fd00:4::21/64 via fd00:4::1 metric 100",
			"blue-m-0-net1-00-inet": "10.5.0.2/24 via 10.5.0.1 metric 50", "blue-m-1-net1-00-inet": "10.5.0.3/24 via 10.5.0.1 metric 50",
		}))
		c.expectCounted(ctx, configs, 2)

		By("reconciling once more")
		before := versions(ctx, ns)
		for _, config := range configs {
			Expect(c.reconcilePool(ctx, config)).To(Equal(controllerutil.OperationResultNone), config.pool())
		}
		each(ctx, controllerutil.OperationResultNone)

		By("changing the first pool")
		configs[0].addresses, configs[0].metric = append(configs[0].addresses, "10.4.0.40-10.4.0.49"), "200"
		Expect(c.reconcilePool(ctx, configs[0])).To(Equal(controllerutil.OperationResultUpdated))
		p := c.expectCounted(ctx, configs, 2)
		Expect(p.Annotations).To(And(HaveKeyWithValue(capmoxMetric, "200"), HaveKeyWithValue(capmoxFamily, "ipv4")))
		Expect(p.Status.Addresses.Total).To(BeEquivalentTo(20))
		Expect(versions(ctx, ns)).To(Equal(before), "nothing but the pool that has changed")
		for _, config := range configs {
			Expect(c.reconcilePool(ctx, config)).To(Equal(controllerutil.OperationResultNone), config.pool())
		}

		By("deleting a machine, whose claims the garbage collector deletes")
		Expect(k.Delete(ctx, machines["blue-m-0"])).To(Succeed())
		for i, device := range []string{"net0", "net0", "net1"} {
			claim := claimOf(ns, fmt.Sprintf("blue-m-0-%s-%02d-inet", device, i%2), "", "")
			suite.Gone(ctx, k, claim, &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: claim.Name}})
		}
		done, next := c.reconcileClaim(ctx, create(ctx, consumer(ns, "ProxmoxMachine", "blue-m-2")), "net0", 0, configs[0].pool())
		Expect(done).To(Equal(controllerutil.OperationResultCreated))
		Expect(c.read(ctx, next)).To(Equal("10.4.0.22/24 via 10.4.0.1 metric 200"), "what was released cools down")

		By("deleting the ProxmoxCluster, whose pools the garbage collector deletes, and which stay while an address is in use")
		Expect(k.Delete(ctx, c.cluster)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.DeletionTimestamp).NotTo(BeNil())
		}, patience, interval).Should(Succeed())
		for _, name := range []string{"blue-m-1", "blue-m-2"} {
			Expect(k.Delete(ctx, consumer(ns, "ProxmoxMachine", name))).To(Succeed())
		}
		for _, config := range configs {
			suite.Gone(ctx, k, &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: config.pool()}})
		}
		Eventually(func() map[string]string { return versions(ctx, ns) }, patience, interval).Should(BeEmpty())
	})
})

// expectCounted waits until each pool has been reconciled as it is now, and counts so many addresses in use. It returns the first one.
func (c *capmox) expectCounted(ctx context.Context, configs []ipConfig, used int) *icv1.InClusterIPPool {
	GinkgoHelper()
	pools := make([]icv1.InClusterIPPool, len(configs))
	for i, config := range configs {
		p := &pools[i]
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKey{Namespace: c.ns, Name: config.pool()}, p)).To(Succeed())
			ready := conditions.Get(p, ipamv1.ReadyCondition)
			g.Expect(ready).To(HaveValue(And(HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", p.Generation))))
			g.Expect(p.Status.Addresses).To(HaveValue(HaveField("Used", BeEquivalentTo(used))))
		}, patience, interval).Should(Succeed())
	}
	return &pools[0]
}

// versions are those of the claims, their addresses and their records in a namespace.
func versions(ctx context.Context, ns string) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, list := range []client.ObjectList{&ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &ipamv1.IPAllocationList{}} {
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		for _, obj := range suite.Items(list) {
			if record, ok := obj.(*ipamv1.IPAllocation); ok && record.Spec.Purpose != ipamv1.ClaimPurpose {
				continue
			}
			found[fmt.Sprintf("%T %s", obj, obj.GetName())] = obj.GetResourceVersion()
		}
	}
	return found
}

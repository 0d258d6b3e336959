// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	capoNamespace = "capo-system"
	// capoPoolName and weirPoolName are those of the guide.
	capoPoolName, weirPoolName = "public", "floating"
	capoPoolFinalizer          = "openstackfloatingippool.infrastructure.cluster.x-k8s.io"
	capoAddressFinalizer       = "openstackfloatingippool.infrastructure.cluster.x-k8s.io/delete-floating-ip"
)

var (
	capoPoolKind = serverKind.GroupVersion().WithKind("OpenStackFloatingIPPool")
	capoPoolRef  = ipamv1beta2.IPPoolReference{APIGroup: capoPoolKind.Group, Kind: capoPoolKind.Kind, Name: capoPoolName}
	weirPoolRef  = ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: weirPoolName}
)

// capo acts as CAPO's controller for its own pool, while its Deployment has a replica.
type capo struct {
	*spec

	deployment *appsv1.Deployment
}

// installCAPO creates the Deployment that the guide stops and starts.
func (s *spec) installCAPO(ctx context.Context) *capo {
	GinkgoHelper()
	Expect(client.IgnoreAlreadyExists(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: capoNamespace}}))).To(Succeed())
	labels := map[string]string{"control-plane": "capo-controller-manager"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: capoNamespace, Name: "capo-controller-manager"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "capo"}}
	Expect(k.Create(ctx, d)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k.Delete(ctx, d)).To(Succeed()) })
	return &capo{spec: s, deployment: d}
}

func (c *capo) isRunning(ctx context.Context) bool {
	GinkgoHelper()
	Expect(k.Get(ctx, client.ObjectKeyFromObject(c.deployment), c.deployment)).To(Succeed())
	return *c.deployment.Spec.Replicas > 0
}

// readPool returns CAPO's pool, or nil if there is none.
func (c *capo) readPool(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	p := &unstructured.Unstructured{}
	p.SetGroupVersionKind(capoPoolKind)
	err := k.Get(ctx, client.ObjectKey{Namespace: c.ns, Name: capoPoolName}, p)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return p
}

// reconcile does with CAPO's pool what each reconciliation of it does: it releases addresses that are being deleted, ends a pool that is, and
// answers claims.
func (c *capo) reconcile(ctx context.Context) {
	GinkgoHelper()
	Expect(c.isRunning(ctx)).To(BeTrue())
	pool := c.readPool(ctx)
	if pool == nil {
		return
	}
	addresses := c.addresses(ctx)
	for i := range addresses {
		if a := &addresses[i]; !a.DeletionTimestamp.IsZero() {
			c.release(ctx, pool, a)
		}
	}
	if pool.GetDeletionTimestamp() != nil {
		if len(addresses) == 0 {
			pool.SetFinalizers(nil)
			Expect(k.Update(ctx, pool)).To(Succeed())
		}
		return
	}
	if controllerutil.AddFinalizer(pool, capoPoolFinalizer) {
		Expect(k.Update(ctx, pool)).To(Succeed())
	}
	for _, claim := range c.claims(ctx, capoPoolRef) {
		if claim.DeletionTimestamp.IsZero() && claim.Status.AddressRef.Name == "" {
			c.answer(ctx, &claim)
		}
	}
}

// addresses returns the IPAddresses of CAPO's pool.
func (c *capo) addresses(ctx context.Context) []ipamv1beta2.IPAddress {
	GinkgoHelper()
	list := &ipamv1beta2.IPAddressList{}
	Expect(k.List(ctx, list, client.InNamespace(c.ns))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(a ipamv1beta2.IPAddress) bool { return a.Spec.PoolRef != capoPoolRef })
}

// claims returns the claims that ask a pool.
func (c *capo) claims(ctx context.Context, pool ipamv1beta2.IPPoolReference) []ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	list := &ipamv1beta2.IPAddressClaimList{}
	Expect(k.List(ctx, list, client.InNamespace(c.ns))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(claim ipamv1beta2.IPAddressClaim) bool { return claim.Spec.PoolRef != pool })
}

// release deletes the floating IP of an address, unless the pool keeps it.
func (c *capo) release(ctx context.Context, pool *unstructured.Unstructured, a *ipamv1beta2.IPAddress) {
	GinkgoHelper()
	policy, _, err := unstructured.NestedString(pool.Object, "spec", "reclaimPolicy")
	Expect(err).NotTo(HaveOccurred())
	listed, _, err := unstructured.NestedStringSlice(pool.Object, "spec", "preAllocatedFloatingIPs")
	Expect(err).NotTo(HaveOccurred())
	if policy == "Delete" && !slices.Contains(listed, a.Spec.Address) {
		f, err := c.member.FindByAddress(ctx, c.public, netip.MustParseAddr(a.Spec.Address))
		Expect(err).NotTo(HaveOccurred())
		Expect(c.member.Delete(ctx, f)).To(Succeed())
	}
	controllerutil.RemoveFinalizer(a, capoAddressFinalizer)
	Expect(k.Update(ctx, a)).To(Succeed())
}

// answer makes the status of a claim name its IPAddress. If there is none it creates a floating IP, tags it, and creates the IPAddress.
func (c *capo) answer(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	a := &ipamv1beta2.IPAddress{}
	err := k.Get(ctx, client.ObjectKeyFromObject(claim), a)
	if apierrors.IsNotFound(err) {
		f := c.madeWith(ctx, "Created by cluster-api-provider-openstack OpenStackFloatingIPPool "+capoPoolName)
		Expect(c.member.Tag(ctx, f.ID, []string{"cluster-api-provider-openstack-fip-pool-" + capoPoolName})).To(Succeed())
		a.Namespace, a.Name, a.Finalizers = claim.Namespace, claim.Name, []string{capoAddressFinalizer}
		a.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: claim.Name, UID: claim.UID,
		}}
		a.Spec = ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim.Name}, PoolRef: capoPoolRef, Address: f.Address.String(), Prefix: ptr.To[int32](32),
		}
		err = k.Create(ctx, a)
	}
	Expect(err).NotTo(HaveOccurred())
	claim.Status.AddressRef.Name = a.Name
	Expect(k.Status().Update(ctx, claim)).To(Succeed())
}

// follow runs the commands of a part of the guide, in the spec's namespace and as the project's member.
func (s *spec) follow(ctx context.Context, heading string) {
	GinkgoHelper()
	guide, err := framework.ReadGuide("from-capo.md")
	Expect(err).NotTo(HaveOccurred())
	blocks, err := guide.Commands(heading)
	Expect(err).NotTo(HaveOccurred())
	folder := GinkgoT().TempDir()
	clouds := filepath.Join(folder, "clouds.yaml")
	Expect(os.WriteFile(clouds, s.CloudsYAML(), 0o600)).To(Succeed())
	for _, block := range blocks {
		out, err := framework.Shell(ctx, folder, "set -euo pipefail\n"+strings.ReplaceAll(block, "team-a", s.ns), "HOME="+folder,
			"KUBECONFIG="+site.KubeconfigPath(), "OS_CLIENT_CONFIG_FILE="+clouds, "OS_CLOUD="+openstack.Member)
		GinkgoWriter.Println(out)
		Expect(err).NotTo(HaveOccurred())
	}
}

// machines are servers by the names of their claims.
type machines map[string]*server

// have returns the floating IP that each machine has. All of them ask that pool, and have the port that they had.
func (m machines) have(ctx context.Context, pool ipamv1beta2.IPPoolReference) map[string]neutron.FloatingIP {
	GinkgoHelper()
	had := map[string]neutron.FloatingIP{}
	for name, web := range m {
		f := web.running(ctx)
		Expect(web.takeClaim(ctx).Spec.PoolRef).To(Equal(pool))
		Expect(f.PortID).To(Equal(web.port))
		had[name] = f
	}
	return had
}

// ids returns addresses and ids of floating IPs.
func ids(all map[string]neutron.FloatingIP) map[string]string {
	found := map[string]string{}
	for name, f := range all {
		found[name] = f.Address.String() + " " + f.ID
	}
	return found
}

// start creates servers with addresses of a pool, which are running when CAPO, or Weir, has answered their claims.
func (c *capo) start(ctx context.Context, pool ipamv1beta2.IPPoolReference, names ...string) machines {
	GinkgoHelper()
	m := machines{}
	for _, name := range names {
		web := c.server(ctx, name)
		web.pool = pool
		m[web.takeClaim(ctx).Name] = web
	}
	c.reconcile(ctx)
	for _, web := range m {
		web.running(ctx)
	}
	return m
}

var _ = Describe("A namespace that follows the guide from CAPO's own pool to Weir's, and back", func() {
	size.FromLong(func() {
		on("real", ipamv1.IPPoolKind, func(s *spec) {
			It("keeps the floating IPs of ten machines, and loses none when machines are replaced", func(ctx SpecContext) {
				c := s.installCAPO(ctx)
				old := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"reclaimPolicy": "Delete"}}}
				old.SetGroupVersionKind(capoPoolKind)
				old.SetNamespace(s.ns)
				old.SetName(capoPoolName)
				Expect(k.Create(ctx, old)).To(Succeed())
				pool := s.newPool(weirPoolName)
				Expect(k.Create(ctx, pool)).To(Succeed())
				hasCondition(ctx, pool, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason)
				names := make([]string, 10)
				for i := range names {
					names[i] = fmt.Sprintf("web-%d", i)
				}
				all := c.start(ctx, capoPoolRef, names...)
				had := all.have(ctx, capoPoolRef)
				Expect(had).To(And(HaveLen(len(names)), HaveEach(HaveField("Tags", Not(BeEmpty())))))

				By("taking over")
				s.follow(ctx, "## From CAPO's pool to Weir's")
				has := all.have(ctx, weirPoolRef)
				Expect(ids(has)).To(Equal(ids(had)))
				for name, f := range has {
					Expect(f).To(And(HaveField("Tags", BeEmpty()),
						HaveField("Description", fmt.Sprintf("weir/1/%s/%s/+/%s/%s", pool.GetUID(), all[name].takeClaim(ctx).UID, s.ns, name))))
				}
				s.isBalanced(ctx)
				c.reconcile(ctx)
				Expect(c.readPool(ctx)).To(BeNil())
				Expect(s.outside(ctx)).To(HaveLen(len(names)))

				By("replacing a machine")
				gone := all["web-0-floating-ip-address"]
				claim := gone.takeClaim(ctx)
				gone.stop(ctx)
				s.gone(ctx, claim)
				delete(all, claim.Name)
				for name, web := range c.start(ctx, weirPoolRef, "web-10") {
					all[name] = web
				}
				had = all.have(ctx, weirPoolRef)
				Expect(had["web-10-floating-ip-address"].ID).To(Equal(has[claim.Name].ID))
				Expect(s.outside(ctx)).To(HaveLen(len(names)))

				By("going back")
				s.follow(ctx, "## From Weir's pool to CAPO's")
				c.reconcile(ctx)
				has = all.have(ctx, capoPoolRef)
				Expect(ids(has)).To(Equal(ids(had)))
				Expect(has).To(HaveEach(HaveField("Description", Not(HavePrefix("weir/")))))
				suite.Gone(ctx, k, pool)
				records := &ipamv1.IPAllocationList{}
				Expect(k.List(ctx, records, client.InNamespace(s.ns))).To(Succeed())
				Expect(records.Items).To(BeEmpty())

				By("deleting the machines: CAPO keeps what its pool lists")
				for _, web := range all {
					web.stop(ctx)
				}
				Eventually(func() []ipamv1beta2.IPAddress {
					c.reconcile(ctx)
					return c.addresses(ctx)
				}, patience, "100ms").Should(BeEmpty())
				Expect(s.outside(ctx)).To(HaveLen(len(names)))
				Expect(k.Delete(ctx, c.readPool(ctx))).To(Succeed())
				c.reconcile(ctx)
				s.wipe(ctx)
			}, SpecTimeout(2*limit))
		})
	})
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// provider stands in for the in-cluster provider.
var provider = framework.StandIn{
	Name: "in-cluster", Version: "v1.1.0", Namespace: "capi-ipam-in-cluster-system", Prefix: "capi-ipam-in-cluster-",
	Image:  "registry.k8s.io/capi-ipam-ic/cluster-api-ipam-in-cluster-controller",
	Groups: []string{icv1.GroupVersion.Group}, CRDs: "config/incluster/crd/bases", Older: "v1alpha1", Unconditioned: true,
	Webhook: admissionregistrationv1.Rule{
		APIGroups: []string{icv1.GroupVersion.Group}, APIVersions: []string{"v1alpha2"}, Resources: []string{"inclusterippools", "globalinclusterippools"},
	},
}

// standIn writes what the in-cluster provider's manager writes, one claim after the other. It is no copy of that manager: it says nothing of the
// manager's timing, caches and webhooks.
type standIn struct {
	client.Client
}

// pool returns the pool that a claim names.
func (u standIn) pool(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) (pool client.Object, spec icv1.InClusterIPPoolSpec) {
	GinkgoHelper()
	if claim.Spec.PoolRef.Kind == icv1.GlobalInClusterIPPoolKind {
		global := &icv1.GlobalInClusterIPPool{}
		Expect(u.Get(ctx, types.NamespacedName{Name: claim.Spec.PoolRef.Name}, global)).To(Succeed())
		return global, global.Spec
	}
	local := &icv1.InClusterIPPool{}
	Expect(u.Get(ctx, types.NamespacedName{Namespace: claim.Namespace, Name: claim.Spec.PoolRef.Name}, local)).To(Succeed())
	return local, local.Spec
}

// used are the addresses that the IPAddresses of a claim's pool name: all that the in-cluster provider knows of.
func (u standIn) used(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) map[string]bool {
	GinkgoHelper()
	list := &ipamv1beta2.IPAddressList{}
	var within []client.ListOption
	if claim.Spec.PoolRef.Kind == icv1.InClusterIPPoolKind {
		within = append(within, client.InNamespace(claim.Namespace))
	}
	Expect(u.List(ctx, list, within...)).To(Succeed())
	used := map[string]bool{}
	for i := range list.Items {
		if list.Items[i].Spec.PoolRef == claim.Spec.PoolRef {
			used[list.Items[i].Spec.Address] = true
		}
	}
	return used
}

// guard puts the in-cluster provider's finalizers on a claim and its pool.
func (u standIn) guard(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	pool, _ := u.pool(ctx, claim)
	for obj, finalizer := range map[client.Object]string{claim: icv1.ClaimFinalizer, pool: icv1.PoolFinalizer} {
		if controllerutil.AddFinalizer(obj, finalizer) {
			Expect(u.Update(ctx, obj)).To(Succeed())
		}
	}
}

// allocate makes the IPAddress of a claim: the lowest address that is free.
func (u standIn) allocate(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddress {
	GinkgoHelper()
	u.guard(ctx, claim)
	pool, spec := u.pool(ctx, claim)
	kind := claim.Spec.PoolRef.Kind
	used := u.used(ctx, claim)
	free := netip.MustParsePrefix(spec.Addresses[0]).Addr().Next() // the first is the network's
	for used[free.String()] || free.String() == spec.Gateway {
		free = free.Next()
	}
	address := &ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: claim.Name, Finalizers: []string{icv1.AddressFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: claim.Name, UID: claim.UID,
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}, {
				APIVersion: icv1.GroupVersion.String(), Kind: kind, Name: pool.GetName(), UID: pool.GetUID(),
				Controller: ptr.To(false), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef,
			Address: free.String(), Prefix: ptr.To(int32(spec.Prefix)), Gateway: spec.Gateway,
		},
	}
	Expect(u.Create(ctx, address)).To(Succeed())
	return address
}

// answer allocates, and tells the claim.
func (u standIn) answer(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddress {
	GinkgoHelper()
	address := u.allocate(ctx, claim)
	claim.Status.AddressRef.Name = address.Name
	Expect(u.Status().Update(ctx, claim)).To(Succeed())
	return address
}

// removeAddress is the first half of a release.
func (u standIn) removeAddress(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	address := &ipamv1beta2.IPAddress{}
	Expect(u.Get(ctx, client.ObjectKeyFromObject(claim), address)).To(Succeed())
	controllerutil.RemoveFinalizer(address, icv1.AddressFinalizer)
	Expect(u.Update(ctx, address)).To(Succeed())
	Expect(u.Delete(ctx, address)).To(Succeed())
}

// release releases a claim that is deleted, all of it.
func (u standIn) release(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	Expect(u.Delete(ctx, claim)).To(Succeed())
	u.removeAddress(ctx, claim)
	Expect(u.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	Expect(claim.Finalizers).To(ConsistOf(icv1.ClaimFinalizer), "nothing is left that only Weir would take off")
	claim.Finalizers = nil
	Expect(u.Update(ctx, claim)).To(Succeed())
}

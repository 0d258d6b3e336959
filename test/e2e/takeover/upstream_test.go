// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"net/netip"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// metal3 stands in for Metal3's provider.
var metal3 = framework.StandIn{
	Name: "metal3", Version: "v1.14.0", Namespace: "metal3-ipam-system", Prefix: "ipam-", Image: "quay.io/metal3-io/ip-address-manager",
	Groups: []string{"ipam.metal3.io", "ipam.cluster.x-k8s.io"}, CRDs: "config/metal3/crd/bases",
	Webhook: admissionregistrationv1.Rule{APIGroups: []string{"ipam.metal3.io"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"*"}},
}

// nameOf is how Metal3 names an IPAddress.
func nameOf(pool *m3v1.IPPool, address string) string {
	return strings.TrimRight(pool.Spec.NamePrefix+"-"+strings.NewReplacer(".", "-", ":", "-").Replace(address), "-")
}

// owners are those that Metal3 gives an IPAddress.
func owners(pool *m3v1.IPPool, apiVersion, kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{
		{APIVersion: m3v1.GroupVersion.String(), Kind: m3v1.IPPoolKind, Name: pool.Name, UID: pool.UID},
		{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid},
	}
}

// answer answers an IPClaim as Metal3's manager does.
func answer(ctx context.Context, c client.Client, pool *m3v1.IPPool, claim *m3v1.IPClaim, address string) error {
	a := &m3v1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: nameOf(pool, address), Labels: claim.Labels, Finalizers: []string{m3v1.IPAddressFinalizer},
			OwnerReferences: owners(pool, m3v1.GroupVersion.String(), m3v1.IPClaimKind, claim.Name, claim.UID),
		},
		Spec: m3v1.IPAddressSpec{
			Address: m3v1.Address(address), Prefix: pool.Spec.Prefix, Gateway: pool.Spec.Gateway,
			Pool:  m3v1.ObjectReference{Name: pool.Name, Namespace: pool.Namespace},
			Claim: m3v1.ObjectReference{Name: claim.Name, Namespace: claim.Namespace},
		},
	}
	if err := c.Create(ctx, a); err != nil {
		return err
	}
	return c.Status().Patch(ctx, claim, client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"address":{"name":"`+a.Name+`","namespace":"`+a.Namespace+`"}}}`)))
}

// answerCAPI does so with an IPAddressClaim: its IPAddress is named after the address, too.
func answerCAPI(ctx context.Context, c client.Client, pool *m3v1.IPPool, claim *ipamv1beta2.IPAddressClaim, address string) error {
	bits := int32(pool.Spec.Prefix)
	a := &ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace, Name: nameOf(pool, address), Labels: claim.Labels, Finalizers: []string{m3v1.ClusterAPIAddressFinalizer},
			OwnerReferences: owners(pool, ipamv1beta2.GroupVersion.String(), "IPAddressClaim", claim.Name, claim.UID),
		},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef, Address: address, Prefix: &bits,
			Gateway: string(*pool.Spec.Gateway),
		},
	}
	if err := c.Create(ctx, a); err != nil {
		return err
	}
	return c.Status().Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"status":{"addressRef":{"name":"`+a.Name+`"}}}`)))
}

// known is what Metal3's manager knows of a pool: claims by their addresses, from the IPAddresses of both groups that name the pool.
func known(ctx context.Context, pool *m3v1.IPPool) map[string]string {
	GinkgoHelper()
	list, capi := &m3v1.IPAddressList{}, &ipamv1beta2.IPAddressList{}
	Expect(k.List(ctx, list, client.InNamespace(pool.Namespace))).To(Succeed())
	Expect(k.List(ctx, capi, client.InNamespace(pool.Namespace))).To(Succeed())
	of := map[string]string{}
	note := func(who, address string) {
		GinkgoHelper()
		Expect(of).NotTo(HaveKey(address), who)
		of[address] = who
	}
	for i := range list.Items {
		if a := &list.Items[i]; a.Spec.Pool.Name == pool.Name {
			note(m3v1.IPClaimKind+" "+a.Spec.Claim.Name, string(a.Spec.Address))
		}
	}
	for i := range capi.Items {
		if a := &capi.Items[i]; a.Spec.PoolRef.Name == pool.Name {
			note("IPAddressClaim "+a.Spec.ClaimRef.Name, a.Spec.Address)
		}
	}
	return of
}

// expectFindable expects that Metal3's manager finds by pool and address what it is to release, with its finalizer and no other.
func expectFindable(ctx context.Context, pool *m3v1.IPPool) {
	GinkgoHelper()
	for address, who := range known(ctx, pool) {
		kind, claim, _ := strings.Cut(who, " ")
		var a client.Object = &ipamv1beta2.IPAddress{}
		finalizer := m3v1.ClusterAPIAddressFinalizer
		if kind == m3v1.IPClaimKind {
			a, finalizer = &m3v1.IPAddress{}, m3v1.IPAddressFinalizer
		}
		key := types.NamespacedName{Namespace: pool.Namespace, Name: nameOf(pool, address)}
		if claim == "to-come" {
			key.Name = "by-hand" // which it could not find before, either
		}
		Expect(k.Get(ctx, key, a)).To(Succeed(), who)
		Expect(a.GetFinalizers()).To(ConsistOf(finalizer), who)
		Expect(a.GetDeletionTimestamp()).To(BeNil(), who)
	}
}

// next is the address that Metal3's manager would choose: the first that it does not know.
func next(ctx context.Context, pool *m3v1.IPPool) string {
	GinkgoHelper()
	of := known(ctx, pool)
	address := netip.MustParseAddr(string(*pool.Spec.Pools[0].Start))
	for of[address.String()] != "" {
		address = address.Next()
	}
	return address.String()
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// each is how many claims of each kind Metal3's manager has answered.
var each = size.Of(8, 250, 250)

// foreign is the finalizer of somebody who still needs a claim.
const foreign = "example.com/in-use"

// poolOf is a pool of Metal3's: 1,018 addresses from 10.0.0.1 on, the gateway first.
func poolOf(name string) *m3v1.IPPool {
	first, last, gateway := m3v1.Address("10.0.0.1"), m3v1.Address("10.0.3.250"), m3v1.Address("10.0.0.1")
	return &m3v1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: hosts, Name: name, Finalizers: []string{m3v1.IPPoolFinalizer}},
		Spec: m3v1.IPPoolSpec{
			NamePrefix: name, Prefix: 22, Gateway: &gateway, Pools: []m3v1.Pool{{Start: &first, End: &last}},
			PreAllocations: map[string]m3v1.Address{"kept": "10.0.3.200"},
		},
	}
}

func ipClaim(pool, name string) *m3v1.IPClaim {
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: hosts, Name: name, Finalizers: []string{m3v1.IPClaimFinalizer}},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: pool, Namespace: hosts}},
	}
}

func addressClaim(pool, name string) *ipamv1beta2.IPAddressClaim {
	return &ipamv1beta2.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: hosts, Name: name, Finalizers: []string{m3v1.ClusterAPIClaimFinalizer}},
		Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{
			APIGroup: m3v1.GroupVersion.Group, Kind: m3v1.IPPoolKind, Name: pool,
		}},
	}
}

// settle makes a site as Metal3's manager leaves it: two pools of the same addresses, in the first of them 250 claims of each kind, who has the
// gateway among them, one with an address that the pool has lost since, one that is being deleted and one whose IPAddress was made by hand.
func settle(ctx context.Context) (pool, lab *m3v1.IPPool) {
	GinkgoHelper()
	pool, lab = poolOf("hosts"), poolOf("lab")
	Expect(k.Create(ctx, pool)).To(Succeed())
	Expect(k.Create(ctx, lab)).To(Succeed())
	address := netip.MustParseAddr("10.0.0.1")
	for i := range each {
		m, c := ipClaim(pool.Name, fmt.Sprint("m-", i)), addressClaim(pool.Name, fmt.Sprint("c-", i))
		if i == 7 {
			m.Finalizers, c.Finalizers = append(m.Finalizers, foreign), append(c.Finalizers, foreign)
		}
		Expect(k.Create(ctx, m)).To(Succeed())
		Expect(k.Create(ctx, c)).To(Succeed())
		Expect(answer(ctx, k, pool, m, address.String())).To(Succeed())
		address = address.Next()
		Expect(answerCAPI(ctx, k, pool, c, address.String())).To(Succeed())
		address = address.Next()
	}
	lost := addressClaim(pool.Name, "lost")
	Expect(k.Create(ctx, lost)).To(Succeed())
	Expect(answerCAPI(ctx, k, pool, lost, "10.9.9.9")).To(Succeed())
	other := ipClaim(lab.Name, "other")
	Expect(k.Create(ctx, other)).To(Succeed())
	Expect(answer(ctx, k, lab, other, "10.0.0.2")).To(Succeed())
	Expect(k.Create(ctx, &m3v1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: hosts, Name: "by-hand"},
		Spec: m3v1.IPAddressSpec{
			Address: "10.0.3.100", Pool: m3v1.ObjectReference{Name: pool.Name}, Claim: m3v1.ObjectReference{Name: "to-come"}, Prefix: 22,
		},
	})).To(Succeed())
	Expect(k.Delete(ctx, ipClaim(pool.Name, "m-7"))).To(Succeed())
	Expect(k.Delete(ctx, addressClaim(pool.Name, "c-7"))).To(Succeed())
	return pool, lab
}

// told returns what every claim of the site is told, as its consumers find it: address, prefix and gateway by the status.
func told(ctx context.Context) map[string]string {
	GinkgoHelper()
	metal3, capi := &m3v1.IPClaimList{}, &ipamv1beta2.IPAddressClaimList{}
	Expect(k.List(ctx, metal3, client.InNamespace(hosts))).To(Succeed())
	Expect(k.List(ctx, capi, client.InNamespace(hosts))).To(Succeed())
	addresses, others := &m3v1.IPAddressList{}, &ipamv1beta2.IPAddressList{}
	Expect(k.List(ctx, addresses, client.InNamespace(hosts))).To(Succeed())
	Expect(k.List(ctx, others, client.InNamespace(hosts))).To(Succeed())
	by := map[string]string{}
	for i := range addresses.Items {
		a := &addresses.Items[i]
		by[m3v1.IPClaimKind+a.Name] = fmt.Sprintf("%s/%d", a.Spec.Address, a.Spec.Prefix)
	}
	for i := range others.Items {
		a := &others.Items[i]
		by[a.Name] = fmt.Sprintf("%s/%d via %s", a.Spec.Address, *a.Spec.Prefix, a.Spec.Gateway)
	}
	all := map[string]string{}
	for i := range metal3.Items {
		if c := &metal3.Items[i]; c.Status.Address != nil {
			all[m3v1.IPClaimKind+" "+c.Name] = by[m3v1.IPClaimKind+c.Status.Address.Name]
		}
	}
	for i := range capi.Items {
		if c := &capi.Items[i]; c.Status.AddressRef.Name != "" {
			all["IPAddressClaim "+c.Name] = by[c.Status.AddressRef.Name]
		}
	}
	return all
}

// addressesOf returns the names of all IPAddresses of pool hosts, of both groups.
func addressesOf(ctx context.Context) []string {
	GinkgoHelper()
	var names []string
	list, capi := &m3v1.IPAddressList{}, &ipamv1beta2.IPAddressList{}
	Expect(k.List(ctx, list, client.InNamespace(hosts))).To(Succeed())
	Expect(k.List(ctx, capi, client.InNamespace(hosts))).To(Succeed())
	for i := range list.Items {
		if list.Items[i].Spec.Pool.Name == "hosts" {
			names = append(names, list.Items[i].Name)
		}
	}
	for i := range capi.Items {
		names = append(names, capi.Items[i].Name)
	}
	return names
}

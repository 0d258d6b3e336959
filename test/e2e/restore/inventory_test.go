// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// Namespaces of the inventory; each has a Cluster of its name.
const (
	red  = "red"
	blue = "blue"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "3m"

// allPools are of all kinds and depths, parents first.
func allPools() []client.Object {
	kept := builder.IPPool(blue, "v4").WithCIDR("192.0.2.0/24").WithNetwork(24, "192.0.2.1").WithExcluded("192.0.2.2-192.0.2.9").Build()
	kept.Spec.PreAllocations = []ipamv1.PreAllocation{
		{ClaimName: "v4-3", Address: "192.0.2.77"}, {ClaimName: "not-made", Address: "192.0.2.78"}, {ClaimName: "v4-own-2", Kind: "IPClaim", Address: "192.0.2.79"},
	}
	return []client.Object{
		builder.GlobalIPPool("fleet").WithCIDR("10.0.0.0/12").WithLengths(12, 32, 32).Build(),
		builder.GlobalIPPool("east").WithParent(ipamv1.GlobalIPPoolKind, "", "fleet").WithBits(16).WithLengths(16, 32, 32).Build(),
		builder.IPPool(red, "cluster").WithParent(ipamv1.GlobalIPPoolKind, "", "east").WithBits(20).WithLengths(20, 32, 32).Build(),
		builder.IPPool(red, "nodes").WithParent(ipamv1.IPPoolKind, "", "cluster").WithBits(24).WithCluster(red).Build(),
		builder.IPPool(blue, "leaf").WithParent(ipamv1.GlobalIPPoolKind, "", "fleet").WithBits(26).Build(),
		builder.IPPool(red, "six").WithCIDR("fd00:1::/64").Build(),
		builder.IPPool(red, "blocks").WithCIDR("172.16.0.0/20").WithLengths(20, 32, 28).Build(),
		builder.IPPool(blue, "cool").WithCIDR("198.51.100.0/26").WithCooldown(3600).Build(),
		kept,
	}
}

// asked says which pools are asked by how many claims of each kind.
var asked = []struct {
	namespace, kind, pool string
	addresses, own        int
}{
	{red, ipamv1.GlobalIPPoolKind, "fleet", 10, 5},
	{blue, ipamv1.GlobalIPPoolKind, "east", 20, 10},
	{red, ipamv1.IPPoolKind, "cluster", 10, 10},
	{red, ipamv1.IPPoolKind, "nodes", 40, 10},
	{blue, ipamv1.IPPoolKind, "leaf", 10, 10},
	{red, ipamv1.IPPoolKind, "six", 15, 10},
	{red, ipamv1.IPPoolKind, "blocks", 5, 5},
	{blue, ipamv1.IPPoolKind, "cool", 10, 5},
	{blue, ipamv1.IPPoolKind, "v4", 10, 5},
}

// metal3 is a pool of Metal3's in a space of its own, with an address that is kept for a claim, and its claims of both kinds.
func metal3() []client.Object {
	const number = 10
	all := make([]client.Object, 0, 1+2*number)
	all = append(all, &m3v1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: "hosts"},
		Spec: m3v1.IPPoolSpec{
			NamePrefix: "net", Prefix: 24, Gateway: ptr.To(m3v1.Address("203.0.113.1")),
			Pools:          []m3v1.Pool{{Subnet: ptr.To(m3v1.Subnet("203.0.113.0/26"))}},
			PreAllocations: map[string]m3v1.Address{"host-4": "203.0.113.40", "host-capi-3": "203.0.113.41"},
		},
	})
	for i := range number {
		all = append(all, &m3v1.IPClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: fmt.Sprintf("host-%d", i)}, Spec: m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: "hosts"}},
		})
		claim := builder.IPAddressClaim(red, fmt.Sprintf("host-capi-%d", i), "IPPool", "hosts").Build()
		claim.Spec.PoolRef.APIGroup = m3v1.GroupVersion.Group
		all = append(all, claim)
	}
	return all
}

// inCluster are pools of the in-cluster provider's, each a space of its own, and their claims: two
// namespaces have equal pools, which keep back what was released, and a global one is for both.
func inCluster() []client.Object {
	const number = 10
	spec := icv1.InClusterIPPoolSpec{
		Addresses: []string{"203.0.113.128/26"}, Prefix: 24, Gateway: "203.0.113.129", ExcludedAddresses: []string{"203.0.113.132-203.0.113.139"},
		AddressReuseGracePeriodSeconds: 3600,
	}
	global := spec
	global.AddressReuseGracePeriodSeconds = 0
	all := make([]client.Object, 0, 3+4*number)
	all = append(all, &icv1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: "machines"}, Spec: global})
	for _, namespace := range []string{red, blue} {
		all = append(all, &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "machines"}, Spec: spec})
		for i := range number {
			all = append(all, inClusterClaim(namespace, fmt.Sprintf("machine-%d", i), icv1.InClusterIPPoolKind),
				inClusterClaim(namespace, fmt.Sprintf("global-%d", i), icv1.GlobalInClusterIPPoolKind))
		}
	}
	return all
}

// inClusterClaim is a claim of the pool machines of one of the in-cluster provider's kinds.
func inClusterClaim(namespace, name, kind string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(namespace, name, kind, "machines").WithPoolGroup(icv1.GroupVersion.Group).
		WithLabel(clusterv1.ClusterNameLabel, namespace).Build()
}

// settle makes the inventory, and gives back some of what it has handed out: some addresses cool down, and some prefixes are retained.
func settle(ctx context.Context) {
	GinkgoHelper()
	for _, name := range []string{red, blue} {
		Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"backup": "yes"}}})).To(Succeed())
		Expect(k.Create(ctx, builder.Cluster(name, name).Build())).To(Succeed())
	}
	for _, obj := range slices.Concat(allPools(), metal3(), inCluster()) {
		persist(ctx, obj)
	}
	var leaving []client.Object
	for _, a := range asked {
		for i := range a.addresses {
			claim := builder.IPAddressClaim(a.namespace, fmt.Sprintf("%s-%d", a.pool, i), a.kind, a.pool)
			if i%2 == 0 {
				claim.WithLabel(clusterv1.ClusterNameLabel, a.namespace)
			}
			persist(ctx, claim.WithAnnotation("user", "kept").Build())
		}
		for i := range a.own {
			claim := builder.IPClaim(a.namespace, fmt.Sprintf("%s-own-%d", a.pool, i)).From(a.kind, a.pool)
			if i%3 == 0 {
				claim.Retained()
			}
			made := claim.Build()
			persist(ctx, made)
			if i%4 == 0 {
				leaving = append(leaving, made)
			}
		}
	}
	for i := range 8 {
		claim := builder.IPAddressClaim(blue, fmt.Sprintf([]string{"cool-%d", "machine-%d"}[i%2], i/2), "", "").Build()
		Eventually(func() error { return k.Get(ctx, client.ObjectKeyFromObject(claim), &ipamv1beta2.IPAddress{}) }, patience, "100ms").Should(Succeed())
		leaving = append(leaving, claim)
	}
	Eventually(func() []string { return notReady(state(ctx)) }, patience, "500ms").Should(BeEmpty())
	for _, obj := range leaving {
		Expect(k.Delete(ctx, obj)).To(Succeed())
		Eventually(func() error { return k.Get(ctx, client.ObjectKeyFromObject(obj), obj) }, patience, "100ms").Should(Satisfy(apierrors.IsNotFound))
	}
	suite.AtRest(ctx, site.Config())
	var before []string
	Eventually(func() []string { // the pools' sums are written a moment later
		was := before
		before = state(ctx)
		return difference(was, before)
	}, patience, "5s").Should(BeEmpty())
}

// persist creates an object, and tries again what is refused because something is not ready yet.
func persist(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(func() error { return k.Create(ctx, obj) }, patience, "200ms").Should(Succeed())
}

// state says what there is: who has what, what is recorded, and the sums of the pools; a line for each, in order. Only UIDs, names of
// records and times are left out, and whether what is recorded was handed out or arrived.
func state(ctx context.Context) []string {
	GinkgoHelper()
	records, answers, living := &ipamv1.IPAllocationList{}, &ipamv1beta2.IPAddressList{}, map[types.UID]bool{}
	var lines []string
	for _, list := range []client.ObjectList{
		&ipamv1beta2.IPAddressClaimList{}, &ipamv1.IPClaimList{}, &ipamv1.IPPoolList{}, &ipamv1.GlobalIPPoolList{},
		&m3v1.IPPoolList{}, &m3v1.IPClaimList{}, &icv1.InClusterIPPoolList{}, &icv1.GlobalInClusterIPPoolList{},
	} {
		Expect(k.List(ctx, list)).To(Succeed())
		for _, obj := range suite.Items(list) {
			living[obj.GetUID()] = true
			lines = append(lines, line(obj))
		}
	}
	Expect(k.List(ctx, records)).To(Succeed())
	Expect(k.List(ctx, answers)).To(Succeed())
	for _, r := range records.Items {
		lines = append(lines, fmt.Sprintf("record %s %s/%s %s of %s %s/%s: %s released=%t %s claim lives=%t owners=%s deleting=%t",
			r.Spec.ClaimRef.Kind, r.Spec.ClaimRef.Namespace, r.Spec.ClaimRef.Name, r.Spec.CIDR, r.Spec.PoolRef.Kind, r.Spec.PoolRef.Namespace,
			r.Spec.PoolRef.Name, r.Spec.Purpose, !r.Spec.ReleasedAt.IsZero(), r.Spec.State,
			living[types.UID(r.Spec.ClaimRef.UID)], ownersOf(&r, living), !r.DeletionTimestamp.IsZero() && r.Spec.ReleasedAt.IsZero()))
	}
	hosts := &m3v1.IPAddressList{}
	Expect(k.List(ctx, hosts)).To(Succeed())
	for _, a := range hosts.Items {
		lines = append(lines, fmt.Sprintf("Metal3's IPAddress %s/%s %s/%d for %s gateway=%s owners=%s deleting=%t finalizers=%v",
			a.Namespace, a.Name, a.Spec.Address, a.Spec.Prefix, a.Spec.Claim.Name, ptr.Deref(a.Spec.Gateway, ""), ownersOf(&a, living), !a.DeletionTimestamp.IsZero(), a.Finalizers))
	}
	for _, a := range answers.Items {
		lines = append(lines, fmt.Sprintf("IPAddress %s/%s %s/%d gateway=%q owners=%s deleting=%t finalizers=%v",
			a.Namespace, a.Name, a.Spec.Address, *a.Spec.Prefix, a.Spec.Gateway, ownersOf(&a, living), !a.DeletionTimestamp.IsZero(), a.Finalizers))
	}
	slices.Sort(lines)
	return lines
}

// ownersOf names the owners of an object; those that do not live are dead.
func ownersOf(obj client.Object, living map[types.UID]bool) string {
	owners := make([]string, 0, 2)
	for _, o := range obj.GetOwnerReferences() {
		name := o.Kind
		if !living[o.UID] {
			name += " (dead)"
		}
		owners = append(owners, name)
	}
	slices.Sort(owners)
	return strings.Join(owners, ",")
}

func line(obj client.Object) string {
	kind, what := "IPAddressClaim", ""
	switch o := obj.(type) {
	case *ipamv1beta2.IPAddressClaim:
		what = "answered by " + o.Status.AddressRef.Name + " for " + o.Annotations["user"]
	case *ipamv1.IPClaim:
		kind, what = ipamv1.IPClaimKind, fmt.Sprintf("%s (%s) %s", o.Spec.CIDR, o.Status.AllocatedCIDR, o.Spec.ReclaimPolicy)
	case *m3v1.IPClaim:
		kind, what = "Metal3's IPClaim", fmt.Sprintf("%+v", o.Status.Address)
	case *m3v1.IPPool:
		kind, what = "Metal3's IPPool", fmt.Sprintf("%v %v", o.Status.Allocations, ptr.Deref(o.Status.AvailableIPCount, -1))
	case interface {
		PoolStatus() *icv1.InClusterIPPoolStatus
	}:
		kind, what = fmt.Sprintf("%T", o), fmt.Sprintf("%+v", o.PoolStatus().Addresses)
	case pools.Own:
		kind, what = o.PoolReference().Kind, fmt.Sprintf("%s (%s) %+v", o.PoolSpec().CIDR, o.PoolStatus().AllocatedCIDR, o.PoolStatus().Capacity)
	}
	return fmt.Sprintf("%s %s/%s: %s finalizers=%v Ready=%s", kind, obj.GetNamespace(), obj.GetName(), what, obj.GetFinalizers(), readiness(obj))
}

// readiness is the reason of an object's Ready condition.
func readiness(obj client.Object) string {
	return conditions.GetReason(obj.(conditions.Getter), ipamv1.ReadyCondition) //nolint:forcetypeassert // all are
}

// notReady are the lines of what is not, or not yet, as it should be.
func notReady(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
		return !strings.Contains(l, "Ready=") || strings.HasSuffix(l, "Ready=Allocated") || strings.HasSuffix(l, "Ready=Available")
	})
}

// difference is what is in one of two states only.
func difference(was, is []string) []string {
	count := map[string]int{}
	for _, l := range was {
		count[l]++
	}
	for _, l := range is {
		count[l]--
	}
	var found []string
	for l, n := range count {
		switch {
		case n > 0:
			found = append(found, l+" <- was")
		case n < 0:
			found = append(found, l+" <- is")
		}
	}
	slices.Sort(found)
	return found
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// Namespaces, and users besides the administrator.
const (
	red, blue = "team-red", "team-blue"
	// vera may view namespace team-red.
	vera = "vera"
	// wanda may view all namespaces.
	wanda = "wanda"
	// tess may view namespace team-red, and GlobalIPPools.
	tess = "tess"
	// nobody has no rights.
	nobody = "nobody"
)

const month = 30 * 24 * 60 * 60

// build makes the site's pools and claims, one after the other: what gets which address is fixed.
func build(ctx context.Context) {
	GinkgoHelper()
	Expect(k.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: vera},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "weir-system-viewer-role"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: "User", Name: vera}, {APIGroup: rbacv1.GroupName, Kind: "User", Name: tess},
		},
	})).To(Succeed())
	Expect(k.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: tess},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "weir-system-pool-viewer-role"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: tess}},
	})).To(Succeed())
	Expect(k.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: wanda},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "weir-system-viewer-role"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: wanda}},
	})).To(Succeed())
	pools := []client.Object{
		builder.GlobalIPPool("fleet").WithCIDR("10.0.0.0/8").WithLengths(12, 32, 0).Build(),
		builder.GlobalIPPool("east").WithParent(ipamv1.GlobalIPPoolKind, "", "fleet").WithBits(12).WithLengths(16, 32, 0).Build(),
		builder.IPPool(red, "prod-eu").WithParent(ipamv1.GlobalIPPoolKind, "", "east").WithBits(16).WithLengths(24, 32, 26).Build(),
		builder.IPPool(red, "nodes").WithParent(ipamv1.IPPoolKind, "", "prod-eu").WithBits(29).WithCooldown(month).
			WithNetwork(24, "10.0.0.1", "10.0.0.2").Build(),
		builder.IPPool(red, "vips").WithParent(ipamv1.IPPoolKind, "", "prod-eu").WithBits(28).Build(),
		builder.IPPool(blue, "remnants").WithAddresses("198.51.100.7", "198.51.100.64-198.51.100.67").Build(),
		builder.IPPool(blue, "fleet-v6").WithCIDR("2001:db8::/64").Build(),
		builder.IPPool(blue, "lab").WithCIDR("10.0.0.0/24").WithSpace("lab").Build(),
	}
	for _, pool := range pools {
		Expect(k.Create(ctx, pool)).To(Succeed())
		await(ctx, pool, func() bool {
			return isReady(pool)
		})
	}
	machine := owned(ctx)
	for _, claim := range []client.Object{
		builder.IPClaim(red, "bastion").From(ipamv1.IPPoolKind, "nodes").Build(),
		ownedBy(machine, builder.IPAddressClaim(red, "md-0", ipamv1.IPPoolKind, "nodes").Build()),
		builder.IPAddressClaim(red, "md-1", ipamv1.IPPoolKind, "nodes").Build(),
		builder.IPClaim(red, "pods").From(ipamv1.IPPoolKind, "prod-eu").Build(),
		builder.IPClaim(blue, "bench").From(ipamv1.IPPoolKind, "lab").Build(),
		builder.IPClaim(blue, "bench-2").From(ipamv1.IPPoolKind, "lab").Build(),
		builder.IPClaim(blue, "endpoint").From(ipamv1.IPPoolKind, "fleet-v6").Retained().Build(),
	} {
		Expect(k.Create(ctx, claim)).To(Succeed())
		await(ctx, claim, func() bool { return isReady(claim) })
	}
	for key, n := range map[client.ObjectKey]int32{
		{Namespace: red, Name: "nodes"}: 3, {Namespace: red, Name: "prod-eu"}: 1, {Namespace: blue, Name: "fleet-v6"}: 1,
		{Namespace: blue, Name: "lab"}: 2,
	} {
		pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		await(ctx, pool, func() bool { return ptr.Deref(pool.Status.Claims, 0) == n })
	}
	awaitDelegated(ctx)
	release(ctx)
}

// release deletes claims whose addresses then cool down or are retained.
func release(ctx context.Context) {
	GinkgoHelper()
	suite.Gone(ctx, k, deleted(ctx, builder.IPAddressClaim(red, "md-1", ipamv1.IPPoolKind, "nodes").Build()))
	suite.Gone(ctx, k, deleted(ctx, builder.IPClaim(blue, "endpoint").Build()))
	for _, pool := range []*ipamv1.IPPool{
		{ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: "nodes"}}, {ObjectMeta: metav1.ObjectMeta{Namespace: blue, Name: "fleet-v6"}},
	} {
		await(ctx, pool, func() bool { return pool.Status.Capacity.Cooling == "1" })
	}
}

func deleted(ctx context.Context, obj client.Object) client.Object {
	GinkgoHelper()
	Expect(k.Delete(ctx, obj)).To(Succeed())
	return obj
}

// owned makes a Cluster, its MachineDeployment and a Machine of that, each owned by the one before,
// and returns the Machine.
func owned(ctx context.Context) client.Object {
	GinkgoHelper()
	cluster := builder.Cluster(red, "prod-eu").Build()
	Expect(k.Create(ctx, cluster)).To(Succeed())
	template := clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
		ClusterName:       "prod-eu",
		Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "NoMachine", Name: "md"},
	}}
	labels := map[string]string{"md": "0"}
	template.Labels = labels
	deployment := &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: "prod-eu-md-0"},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: "prod-eu", Template: template, Selector: metav1.LabelSelector{MatchLabels: labels},
		},
	}
	Expect(k.Create(ctx, ownedBy(cluster, deployment))).To(Succeed())
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: "prod-eu-md-0-x7k2p"}, Spec: template.Spec}
	Expect(k.Create(ctx, ownedBy(deployment, machine))).To(Succeed())
	return machine
}

// ownedBy makes an object controlled by another one.
func ownedBy(owner, obj client.Object) client.Object {
	GinkgoHelper()
	Expect(controllerutil.SetControllerReference(owner, obj, k.Scheme())).To(Succeed())
	return obj
}

// awaitDelegated waits until each pool counts what is carved from it.
func awaitDelegated(ctx context.Context) {
	GinkgoHelper()
	for _, parent := range []interface {
		client.Object
		PoolStatus() *ipamv1.IPPoolStatus
	}{
		&ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}},
		&ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "east"}},
	} {
		await(ctx, parent, func() bool { return parent.PoolStatus().Capacity.Delegated != "0" })
	}
	prod := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: "prod-eu"}}
	await(ctx, prod, func() bool { return prod.Status.Capacity.Delegated == fmt.Sprint(8+16) })
}

// await reads an object until it is as wanted.
func await(ctx context.Context, obj client.Object, isWanted func() bool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(isWanted()).To(BeTrue(), "%v", obj)
	}, patience).WithContext(ctx).Should(Succeed())
}

func isReady(obj client.Object) bool {
	conditioned, ok := obj.(interface{ GetConditions() []metav1.Condition })
	return ok && meta.IsStatusConditionTrue(conditioned.GetConditions(), ipamv1.ReadyCondition)
}

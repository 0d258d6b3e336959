// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// tenant is a namespace with one Cluster, whose name is the namespace's too, and its claims.
type tenant struct {
	name   string
	global string
}

// found makes the namespace and a Cluster.
func (t tenant) found(ctx context.Context, s *side) {
	GinkgoHelper()
	Expect(s.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}})).To(Succeed())
	t.incorporate(ctx, s)
}

// incorporate makes the Cluster, so that clusterctl takes it for provisioned.
func (t tenant) incorporate(ctx context.Context, s *side) {
	GinkgoHelper()
	Expect(s.Client().Create(ctx, builder.Cluster(t.name, t.name).Build())).To(Succeed())
	t.provision(ctx, s)
}

// provision writes the status that clusterctl wants to see, which nobody else does here.
func (t tenant) provision(ctx context.Context, s *side) {
	GinkgoHelper()
	cluster := t.cluster(ctx, s)
	cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{
		InfrastructureProvisioned: ptr.To(true), ControlPlaneInitialized: ptr.To(true),
	}
	cluster.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: "Initialized", LastTransitionTime: metav1.Now(),
	}}
	Expect(s.Client().Status().Update(ctx, cluster)).To(Succeed())
}

func (t tenant) cluster(ctx context.Context, s *side) *clusterv1.Cluster {
	GinkgoHelper()
	cluster := &clusterv1.Cluster{}
	Expect(s.Client().Get(ctx, client.ObjectKey{Namespace: t.name, Name: t.name}, cluster)).To(Succeed())
	return cluster
}

// pools returns the pools that the tenant's claims ask: of the namespace, carved from one of those, carved from a global one, and
// the global one itself. Second is the number in the second byte of the namespace's own addresses.
func (t tenant) pools(second int) []client.Object {
	v4, v6 := builder.IPPool(t.name, "v4").WithCIDR(fmt.Sprintf("10.%d.0.0/20", second)), builder.IPPool(t.name, "v6").WithCIDR(fmt.Sprintf("fd00:%d::/64", second))
	return []client.Object{
		v4.Build(), v6.Build(),
		child(t.name, "child", ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Name: "v4"}),
		child(t.name, "leaf", ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: t.global}),
	}
}

func child(namespace, name string, parent ipamv1.PoolReference) *ipamv1.IPPool {
	return &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: ipamv1.IPPoolSpec{
		ParentRef: &ipamv1.ParentReference{Kind: parent.Kind, Name: parent.Name}, PrefixLength: ptr.To[int32](26),
	}}
}

// refs are the references to the tenant's pools.
func (t tenant) refs() []ipamv1.ClaimPoolReference {
	return []ipamv1.ClaimPoolReference{
		{Kind: ipamv1.GlobalIPPoolKind, Name: t.global},
		{Kind: ipamv1.IPPoolKind, Name: "v4"},
		{Kind: ipamv1.IPPoolKind, Name: "v6"},
		{Kind: ipamv1.IPPoolKind, Name: "child"},
		{Kind: ipamv1.IPPoolKind, Name: "leaf"},
	}
}

// ask makes so many claims of each kind on a pool, all the Cluster's. Of the IPClaims, which move by themselves, every other one
// knows nothing of the Cluster.
func (t tenant) ask(ctx context.Context, s *side, prefix string, ref ipamv1.ClaimPoolReference, addressClaims, claims int) {
	GinkgoHelper()
	owner := ownerOf(t.cluster(ctx, s))
	for i := range addressClaims {
		claim := builder.IPAddressClaim(t.name, fmt.Sprintf("%s-%s-%d", prefix, ref.Name, i), ref.Kind, ref.Name).
			WithLabel(clusterv1.ClusterNameLabel, t.name).Build()
		claim.OwnerReferences = []metav1.OwnerReference{owner}
		Expect(s.Client().Create(ctx, claim)).To(Succeed())
	}
	for i := range claims {
		claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: fmt.Sprintf("%s-%s-%d", prefix, ref.Name, i)}}
		claim.Spec.PoolRef = &ref
		if i%2 == 0 {
			claim.Labels, claim.OwnerReferences = map[string]string{clusterv1.ClusterNameLabel: t.name}, []metav1.OwnerReference{owner}
		}
		Eventually(func() error { return s.Client().Create(ctx, claim) }, "1m", "200ms").Should(Succeed())
	}
}

func ownerOf(cluster *clusterv1.Cluster) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID}
}

// book is what the claims of a namespace have: prefix by kind and name. What has no answer is not in it.
func book(ctx context.Context, s *side, namespace string) map[string]string {
	GinkgoHelper()
	answers, claims, own := &ipamv1beta2.IPAddressList{}, &ipamv1beta2.IPAddressClaimList{}, &ipamv1.IPClaimList{}
	pools := &ipamv1.IPPoolList{}
	for _, list := range []client.ObjectList{answers, claims, own, pools} {
		Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	}
	addresses, found := map[string]string{}, map[string]string{}
	for _, answer := range answers.Items {
		addresses[answer.Name] = answer.Spec.Address
	}
	for _, claim := range claims.Items {
		if address := addresses[claim.Name]; address != "" && claim.Status.AddressRef.Name == claim.Name {
			found["IPAddressClaim "+claim.Name] = address
		}
	}
	for _, claim := range own.Items {
		if claim.Status.AllocatedCIDR != "" {
			found["IPClaim "+claim.Name] = claim.Status.AllocatedCIDR
		}
	}
	for _, pool := range pools.Items {
		if pool.Status.AllocatedCIDR != "" {
			found["IPPool "+pool.Name] = pool.Status.AllocatedCIDR
		}
	}
	return found
}

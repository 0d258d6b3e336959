// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// inUse is a finalizer that is not Weir's.
const inUse = "example.com/uses"

var _ = Describe("A claim of a pool of floating IPs", onEvery(func(s *spec) {
	It("gets a floating IP with its UID, which is deleted with it", func(ctx SpecContext) {
		pool := s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")

		Expect(pool.GetAnnotations()).To(HaveKeyWithValue(
			ipamv1.OpenStackAnnotation, fmt.Sprintf("%s %s %s", pool.GetUID(), s.member.Project(), s.public)))
		Expect(f.Description).To(Equal(fmt.Sprintf("weir/1/%s/%s/%s/a", pool.GetUID(), c.UID, s.ns)))
		Expect(f).To(And(HaveField("NetworkID", s.public), HaveField("PortID", "")))
		address := s.address(ctx, c)
		Expect(address.Spec).To(Equal(ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, PoolRef: c.Spec.PoolRef, Address: f.Address.String(), Prefix: ptr.To[int32](32),
		}))
		Expect(address.OwnerReferences).To(ConsistOf(
			metav1.OwnerReference{
				APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: "a", UID: c.UID,
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			},
			metav1.OwnerReference{
				APIVersion: ipamv1.GroupVersion.String(), Kind: s.kind, Name: s.poolName("p"), UID: pool.GetUID(),
				Controller: ptr.To(false), BlockOwnerDeletion: ptr.To(true),
			}))
		Expect(s.record(ctx, c).Spec).To(And(
			HaveField("CIDR", f.Address.String()+"/32"), HaveField("AddressSpace", "openstack/"+s.public), HaveField("External.ID", f.ID)))
		s.isBalanced(ctx)

		s.deleted(ctx, c)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))

	It("keeps all that it has while it has a finalizer of others", func(ctx SpecContext) {
		s.pool(ctx)
		c := s.newClaim("a")
		c.Finalizers = []string{inUse}
		Expect(k.Create(ctx, c)).To(Succeed())
		f := s.allocated(ctx, c)
		Expect(k.Delete(ctx, c)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForFinalizersReason, inUse)
		s.hasAll(ctx, c, f)

		suite.Change(ctx, k, c, func() { c.Finalizers = []string{ipamv1.ClaimFinalizer} })
		s.gone(ctx, c)
	}, SpecTimeout(limit))

	It("(R1) keeps all that it has while its floating IP is bound, and names the port", func(ctx SpecContext) {
		s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		port, err := s.Bind(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
		Expect(k.Delete(ctx, c)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForPortReason, port, f.Address.String())
		s.hasAll(ctx, c, f)

		Expect(s.Unbind(ctx, port)).To(Succeed())
		s.gone(ctx, c)
	}, SpecTimeout(limit))

	It("keeps all that it has while port forwardings use its floating IP, and says so", func(ctx SpecContext) {
		s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		port, err := s.Forward(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
		Expect(k.Delete(ctx, c)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForPortReason, "port forwardings", f.Address.String())
		s.hasAll(ctx, c, f)

		Expect(s.Unbind(ctx, port)).To(Succeed())
		s.gone(ctx, c)
	}, SpecTimeout(limit))

	It("keeps its floating IP while its IPAddress has a finalizer of others", func(ctx SpecContext) {
		s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		address := s.address(ctx, c)
		suite.Change(ctx, k, address, func() { address.Finalizers = append(address.Finalizers, inUse) })
		Expect(k.Delete(ctx, c)).To(Succeed())
		other, _ := s.newAllocated(ctx, "b") // meanwhile the manager reconciles the first one
		s.deleted(ctx, other)
		s.hasAll(ctx, c, f)

		suite.Change(ctx, k, address, func() { address.Finalizers = []string{ipamv1.AddressFinalizer} })
		s.gone(ctx, c)
	}, SpecTimeout(limit))

	It("waits while the network is full, and gets the address that another claim releases", func(ctx SpecContext) {
		pool := s.pool(ctx, inTiny)
		claims, given := make([]*ipamv1beta2.IPAddressClaim, 3), make([]openstack.FloatingIP, 3)
		for i := range claims {
			claims[i], given[i] = s.newAllocated(ctx, fmt.Sprint("a", i))
		}
		waiting := s.claim(ctx, "waiting")
		s.refused(ctx, waiting, ipamv1.ClaimReadyPoolExhaustedReason, "no free address")
		hasCondition(ctx, pool, ipamv1.ExhaustedCondition, metav1.ConditionTrue, ipamv1.PoolExhaustedNetworkFullReason)
		s.isBalanced(ctx)

		s.deleted(ctx, claims[1])
		Expect(s.allocated(ctx, waiting).Address).To(Equal(given[1].Address))
		hasCondition(ctx, pool, ipamv1.ExhaustedCondition, metav1.ConditionFalse, ipamv1.PoolExhaustedSomeAvailableReason)
		s.isBalanced(ctx)
	}, SpecTimeout(limit))

	It("waits while the pool has handed out as many as its limit allows", func(ctx SpecContext) {
		pool := s.pool(ctx, "maxIPs: 2")
		claims := []*ipamv1beta2.IPAddressClaim{s.claim(ctx, "a0"), s.claim(ctx, "a1"), s.claim(ctx, "a2")}
		hasCondition(ctx, pool, ipamv1.ExhaustedCondition, metav1.ConditionTrue, ipamv1.PoolExhaustedNoneAvailableReason, "spec.openStack.maxIPs", "2 of 2")
		s.isBalanced(ctx)
		Expect(s.outside(ctx)).To(HaveLen(2), "claims that came at once do not exceed it")
		waits := slices.IndexFunc(claims, func(c *ipamv1beta2.IPAddressClaim) bool { return len(s.records(ctx, c)) == 0 })
		s.refused(ctx, claims[waits], ipamv1.ClaimReadyPoolExhaustedReason, "maxIPs")

		s.deleted(ctx, claims[(waits+1)%3])
		s.allocated(ctx, claims[waits])
		suite.Change(ctx, k, pool, func() { sourceOf(pool).MaxIPs = ptr.To[int32](3) })
		hasCondition(ctx, pool, ipamv1.ExhaustedCondition, metav1.ConditionFalse, ipamv1.PoolExhaustedSomeAvailableReason)
		s.isBalanced(ctx)
	}, SpecTimeout(limit))

	It("waits while the project's quota is used up", func(ctx SpecContext) {
		pool := s.pool(ctx)
		s.stranger(ctx, s.public, "")
		Expect(s.SetQuota(ctx, 1)).To(Succeed())
		c := s.claim(ctx, "a")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolExhaustedReason, "quota")
		hasCondition(ctx, pool, ipamv1.ExhaustedCondition, metav1.ConditionTrue, ipamv1.PoolExhaustedQuotaUsedUpReason)
		Expect(s.SetQuota(ctx, 2)).To(Succeed())
		s.allocated(ctx, c)
		s.isBalanced(ctx)
	}, SpecTimeout(limit))

	It("leaves nothing if it is deleted before it has an address", func(ctx SpecContext) {
		s.pool(ctx)
		Expect(s.SetQuota(ctx, 0)).To(Succeed())
		c := s.claim(ctx, "a")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolExhaustedReason)
		s.deleted(ctx, c)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))

	It("may not ask for an address", func(ctx SpecContext) {
		s.pool(ctx)
		theirs := s.stranger(ctx, s.public, "theirs")
		c := s.newClaim("a")
		c.Annotations = map[string]string{ipamv1.AddressAnnotation: theirs.Address.String()}
		Expect(k.Create(ctx, c)).To(Succeed())
		s.refused(ctx, c, ipamv1.ClaimReadyAllocationFailedReason, ipamv1.AddressAnnotation)
		Expect(s.owned(ctx, c)).To(BeEmpty())
	}, SpecTimeout(limit))

	It("gets a floating IP of its own among many claims, and the project's other floating IPs stay", func(ctx SpecContext) {
		pool := s.pool(ctx)
		s.stranger(ctx, s.public, "")
		s.stranger(ctx, s.public, "the office's")
		s.stranger(ctx, s.public, fmt.Sprintf("weir/1/%s/%s/%s/a0", "another-pool", "another-claim", s.ns))
		s.stranger(ctx, s.public, fmt.Sprintf("weir/1/%s/%s/%s/a0", pool.GetUID(), "another-claim", s.ns))
		claims := make([]*ipamv1beta2.IPAddressClaim, s.many())
		for i := range claims {
			claims[i] = s.claim(ctx, fmt.Sprint("a", i))
		}
		for _, c := range claims {
			s.isReady(ctx, c)
		}
		s.isBalanced(ctx)
		Expect(s.outside(ctx)).To(ContainElements(s.strangers))

		for _, c := range claims {
			Expect(k.Delete(ctx, c)).To(Succeed())
		}
		s.gone(ctx, claims...)
		Expect(s.outside(ctx)).To(ConsistOf(s.strangers))
	}, SpecTimeout(limit))

	It("of one pool gets and releases nothing of another pool of the same network", func(ctx SpecContext) {
		one, other := s.ofKind(ctx, ipamv1.IPPoolKind), s.ofKind(ctx, ipamv1.GlobalIPPoolKind)
		for _, pools := range []*spec{one, other} {
			pools.pool(ctx)
		}
		a, first := one.newAllocated(ctx, "a")
		b, second := other.newAllocated(ctx, "b")
		Expect(second.Address).NotTo(Equal(first.Address))
		s.isBalanced(ctx)
		one.deleted(ctx, a)
		other.hasAll(ctx, b, second)
		s.isBalanced(ctx)
	}, SpecTimeout(limit))
}))

// many is how many claims are created at once. The real Neutron creates two floating IPs a second.
func (s *spec) many() int {
	if s.isReal() {
		return size.Of(10, 60, 60)
	}
	return size.Of(20, 100, 500)
}

var _ = Describe("A pool of floating IPs", onFakeOnce(func(s *spec) {
	It("is refused to an IPClaim, in its create call", func(ctx SpecContext) {
		s.pool(ctx)
		c := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "c", Labels: s.labels()}}
		c.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: s.kind, Name: s.poolName("p")}
		Expect(k.Create(ctx, c)).To(MatchError(ContainSubstring("floating IPs")))
		Expect(client.IgnoreNotFound(k.Get(ctx, client.ObjectKeyFromObject(c), c))).To(Succeed())
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))

	It("is refused as the parent of a pool, in its create call", func(ctx SpecContext) {
		s.pool(ctx)
		child := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "child", Labels: s.labels()}}
		child.Spec.ParentRef = &ipamv1.ParentReference{Kind: s.kind, Name: s.poolName("p")}
		child.Spec.PrefixLength = ptr.To[int32](32)
		Expect(k.Create(ctx, child)).To(MatchError(ContainSubstring("floating IPs")))
	}, SpecTimeout(limit))
}))

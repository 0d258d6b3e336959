// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// formerUID is the UID that claims had where they come from.
const formerUID = "5f9d6c0e-former"

// formerOf is the description of what the former self of a claim had.
func (s *spec) formerOf(key, name string) string {
	return fmt.Sprintf("weir/1/%s/%s/%s/%s", key, formerUID, s.ns, name)
}

// arrivedPool creates the pool p as a restore does: with the key that it had, which is not its UID.
func (s *spec) arrivedPool(ctx context.Context, fields ...string) (key string) {
	GinkgoHelper()
	key = s.ns + "-former-pool"
	p := s.newPool("p", fields...)
	annotations.AddAnnotations(p, map[string]string{ipamv1.OpenStackAnnotation: fmt.Sprintf("%s %s %s", key, s.member.Project(), s.public)})
	Expect(k.Create(ctx, p)).To(Succeed())
	hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason)
	return key
}

// paused creates a Cluster that is paused.
func (s *spec) paused(ctx context.Context) *clusterv1.Cluster {
	GinkgoHelper()
	cluster := builder.Cluster(s.ns, "c").Build()
	cluster.Spec.Paused = new(true)
	Expect(k.Create(ctx, cluster)).To(Succeed())
	return cluster
}

// arrive creates a claim and its IPAddress as a move or a restore does: with finalizers, and marked by the policies.
func (s *spec) arrive(ctx context.Context, name, address, cluster string) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	c := s.newClaim(name)
	c.Spec.ClusterName = cluster
	c.Finalizers, c.Annotations = []string{ipamv1.ClaimFinalizer}, map[string]string{ipamv1.ArrivedAnnotation: "true"}
	answer := &ipamv1beta2.IPAddress{Spec: ipamv1beta2.IPAddressSpec{
		ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: c.Spec.PoolRef, Address: address, Prefix: ptr.To[int32](32),
	}}
	answer.Namespace, answer.Name, answer.Finalizers = s.ns, name, []string{ipamv1.AddressFinalizer}
	answer.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "true"}
	Expect(k.Create(ctx, answer)).To(Succeed())
	Expect(k.Create(ctx, c)).To(Succeed())
	return c
}

// arriveRecord creates the record of a claim's former self, which is like that of another claim.
func (s *spec) arriveRecord(ctx context.Context, like *ipamv1beta2.IPAddressClaim, name string, f openstack.FloatingIP) *ipamv1.IPAllocation {
	GinkgoHelper()
	known := s.record(ctx, like)
	r := &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: known.Namespace, Name: name + "-former", Finalizers: known.Finalizers,
			Annotations: map[string]string{ipamv1.ArrivedAnnotation: "true"},
		},
		Spec: *known.Spec.DeepCopy(),
	}
	r.Spec.CIDR, r.Spec.External.ID, r.Spec.State = f.Address.String()+"/32", f.ID, ""
	r.Spec.ClaimRef.Name, r.Spec.ClaimRef.UID = name, formerUID
	Expect(k.Create(ctx, r, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
	return r
}

// of returns a floating IP by its id.
func (s *spec) of(ctx context.Context, id string) openstack.FloatingIP {
	GinkgoHelper()
	for _, f := range s.outside(ctx) {
		if f.ID == id {
			return f
		}
	}
	Fail("there is no floating IP " + id)
	return openstack.FloatingIP{}
}

var _ = Describe("A claim that comes by a move or from a backup", onFakeFirst(func(s *spec) {
	It("takes over the floating IP of its former self once its Cluster is not paused, also while a port has it, and releases it like any other", func(ctx SpecContext) {
		key := s.arrivedPool(ctx)
		like, _ := s.newAllocated(ctx, "like")
		cluster := s.paused(ctx)
		had := s.madeWith(ctx, s.formerOf(key, "a"))
		s.takenOver = append(s.takenOver, had.ID)
		port, err := s.Bind(ctx, had.ID)
		Expect(err).NotTo(HaveOccurred())
		was := s.of(ctx, had.ID)
		former := s.arriveRecord(ctx, like, "a", was)
		c := s.arrive(ctx, "a", had.Address.String(), cluster.Name)
		hasCondition(ctx, c, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
		Expect(s.of(ctx, had.ID)).To(Equal(was), "nothing is changed while the Cluster is paused")

		suite.Change(ctx, k, cluster, func() { cluster.Spec.Paused = nil })
		f := s.allocated(ctx, c)
		Expect(f).To(And(HaveField("ID", had.ID), HaveField("PortID", port), HaveField("Description", fmt.Sprintf("weir/1/%s/%s/%s/a", key, c.UID, s.ns))))
		suite.Gone(ctx, k, former)
		s.hasAll(ctx, c, f)
		s.isBalanced(ctx)

		Expect(k.Delete(ctx, c)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForPortReason, port)
		Expect(s.Unbind(ctx, port)).To(Succeed())
		s.gone(ctx, c)
		s.deleted(ctx, like)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))
}))

var _ = Describe("A claim that comes without a floating IP of its own", onFake(func(s *spec) {
	It("takes over what is free, or listed by the pool", func(ctx SpecContext) {
		lent := s.existing(ctx)
		key := s.arrivedPool(ctx, fmt.Sprintf("preAllocatedFloatingIPs: [%s]", lent.Address))
		free := s.madeWith(ctx, fmt.Sprintf("weir/1/%s/-", key))
		cluster := s.paused(ctx)
		a, b := s.arrive(ctx, "a", free.Address.String(), cluster.Name), s.arrive(ctx, "b", lent.Address.String(), cluster.Name)
		for _, c := range []*ipamv1beta2.IPAddressClaim{a, b} {
			hasCondition(ctx, c, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
		}
		suite.Change(ctx, k, cluster, func() { cluster.Spec.Paused = nil })
		Expect(s.allocated(ctx, a)).To(And(HaveField("ID", free.ID), HaveField("Description", fmt.Sprintf("weir/1/%s/%s/%s/a", key, a.UID, s.ns))))
		Expect(s.allocated(ctx, b)).To(And(HaveField("ID", lent.ID), HaveField("Description", fmt.Sprintf("weir/1/%s/%s/+/%s/b", key, b.UID, s.ns))))
		for c, id := range map[*ipamv1beta2.IPAddressClaim]string{a: free.ID, b: lent.ID} {
			Expect(s.record(ctx, c).Spec.External.ID).To(Equal(id))
		}
		s.isBalanced(ctx)
		s.deleted(ctx, a, b)
		s.discard(ctx, lent.ID, "")
	}, SpecTimeout(limit))

	It("says so, and touches nothing: it does not exist, is another claim's, another pool's or a person's, or is free and bound", func(ctx SpecContext) {
		key := s.arrivedPool(ctx)
		stranger := func(description string) string { return s.stranger(ctx, s.public, description).Address.String() }
		free := s.madeWith(ctx, fmt.Sprintf("weir/1/%s/-", key))
		port, err := s.Bind(ctx, free.ID)
		Expect(err).NotTo(HaveOccurred())
		refusals := map[string]struct{ address, words string }{
			"gone":      {"198.18.15.250", "does not exist"},
			"others":    {stranger(s.formerOf(key, "somebody")), "is not this claim's"},
			"elsewhere": {stranger(fmt.Sprintf("weir/1/another-key/%s/%s/elsewhere", formerUID, s.ns)), "is not this claim's"},
			"persons":   {stranger("the office's"), "is not this claim's"},
			"bound":     {free.Address.String(), "bound to port " + port},
		}
		claims := map[string]*ipamv1beta2.IPAddressClaim{}
		for name, refusal := range refusals {
			claims[name] = s.arrive(ctx, name, refusal.address, "")
		}
		for name, refusal := range refusals {
			s.refused(ctx, claims[name], ipamv1.ClaimReadyAllocationFailedReason, refusal.address, refusal.words)
		}
		for _, c := range claims {
			Expect(k.Delete(ctx, c)).To(Succeed())
		}
		for _, c := range claims {
			s.leaves(ctx, c)
		}
		Expect(s.of(ctx, free.ID)).To(And(HaveField("Description", free.Description), HaveField("PortID", port)))
		Expect(s.outside(ctx)).To(And(ContainElements(s.strangers), HaveLen(len(s.strangers)+1)))
	}, SpecTimeout(limit))

	It("while the cloud is away is not Ready, and takes over what its former self had when the cloud is back", func(ctx SpecContext) {
		key := s.arrivedPool(ctx)
		had := s.madeWith(ctx, s.formerOf(key, "a"))
		was := s.of(ctx, had.ID)
		s.fake().Inject(fake.Fault{Call: "ListFloatingIPs", Effect: fake.Refuse, Code: http.StatusServiceUnavailable, Times: -1})
		c := s.arrive(ctx, "a", had.Address.String(), "")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason)
		Expect(s.of(ctx, had.ID)).To(Equal(was))
		answer := &ipamv1beta2.IPAddress{}
		Expect(k.Get(ctx, client.ObjectKeyFromObject(c), answer)).To(Succeed())
		Expect(answer.DeletionTimestamp).To(BeNil())

		s.fake().ClearFaults()
		Expect(s.allocated(ctx, c)).To(And(HaveField("ID", had.ID), HaveField("Description", fmt.Sprintf("weir/1/%s/%s/%s/a", key, c.UID, s.ns))))
		Expect(s.address(ctx, c).UID).To(Equal(answer.UID))
		s.deleted(ctx, c)
	}, SpecTimeout(limit))

	It("that is deleted before it took over what its former self had leaves that as it is, and one of the name that comes again takes it over", func(ctx SpecContext) {
		key := s.arrivedPool(ctx)
		cluster := s.paused(ctx)
		had := s.madeWith(ctx, s.formerOf(key, "a"))
		was := s.of(ctx, had.ID)
		c := s.arrive(ctx, "a", had.Address.String(), cluster.Name)
		hasCondition(ctx, c, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
		Expect(k.Delete(ctx, c)).To(Succeed())
		suite.Change(ctx, k, cluster, func() { cluster.Spec.Paused = nil })
		s.leaves(ctx, c)
		Expect(s.outside(ctx)).To(ConsistOf(was))

		again := s.arrive(ctx, "a", had.Address.String(), cluster.Name)
		Expect(s.allocated(ctx, again)).To(And(HaveField("ID", had.ID), HaveField("Description", fmt.Sprintf("weir/1/%s/%s/%s/a", key, again.UID, s.ns))))
		s.deleted(ctx, again)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))
}))

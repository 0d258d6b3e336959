// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// existing creates a floating IP of the project without a description, which the spec deletes.
func (s *spec) existing(ctx SpecContext) neutron.FloatingIP {
	GinkgoHelper()
	return s.madeWith(ctx, "")
}

// madeWith creates a floating IP with that description.
func (s *spec) madeWith(ctx context.Context, description string) neutron.FloatingIP {
	GinkgoHelper()
	made, err := s.member.Create(ctx, neutron.CreateOptions{NetworkID: s.public, Description: description})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// discard deletes a floating IP that no claim has, and expects its description.
func (s *spec) discard(ctx SpecContext, id, description string) {
	GinkgoHelper()
	seen, err := s.member.Get(ctx, id)
	Expect(err).NotTo(HaveOccurred())
	Expect(seen).To(And(HaveField("Description", description), HaveField("PortID", "")))
	Expect(s.member.Delete(ctx, seen)).To(Succeed())
}

// isTried waits until a manager has tried to answer a claim, with whatever result.
func (s *spec) isTried(ctx SpecContext, c *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(meta.FindStatusCondition(c.GetConditions(), ipamv1.ReadyCondition)).NotTo(BeNil())
	}, patience, "100ms").Should(Succeed())
}

// strip takes all finalizers off objects, and deletes them.
func (s *spec) strip(ctx SpecContext, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		stripped, _ := object.DeepCopyObject().(client.Object)
		suite.Change(ctx, k, stripped, func() { stripped.SetFinalizers(nil) })
		Expect(client.IgnoreNotFound(k.Delete(ctx, stripped))).To(Succeed())
	}
}

var _ = Describe("The stock of a pool of floating IPs", onFakeFirst(func(s *spec) {
	It("is handed out first: what existed before is returned as it was, and what was created is kept for the next claim", func(ctx SpecContext) {
		office, lent := s.stranger(ctx, s.public, "the office's"), s.existing(ctx)
		pool := s.pool(ctx, fmt.Sprintf("preAllocatedFloatingIPs: [%s, %s]", office.Address, lent.Address), "reclaimPolicy: Retain", "tags: [weir, prod]")
		hasCondition(ctx, pool, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason, office.Address.String(), "the office's")

		first, f := s.newAllocated(ctx, "first")
		Expect(f.ID).To(Equal(lent.ID))
		Expect(f.Description).To(Equal(fmt.Sprintf("weir/1/%s/%s/+/%s/first", pool.GetUID(), first.UID, s.ns)))
		second, made := s.newAllocated(ctx, "second")
		Expect(made.Description).To(Equal(fmt.Sprintf("weir/1/%s/%s/%s/second", pool.GetUID(), second.UID, s.ns)))
		Expect(s.member.Get(ctx, made.ID)).To(HaveField("Tags", ConsistOf("weir", "prod")))
		s.isBalanced(ctx)

		free := fmt.Sprintf("weir/1/%s/-", pool.GetUID())
		s.deleted(ctx, second)
		Expect(s.outside(ctx)).To(ContainElement(And(HaveField("ID", made.ID), HaveField("Description", free))))
		third, again := s.newAllocated(ctx, "third")
		Expect(again.ID).To(Equal(made.ID))
		s.isBalanced(ctx)

		suite.Change(ctx, k, pool, func() { sourceOf(pool).PreAllocatedFloatingIPs = nil })
		s.deleted(ctx, first, third)
		s.discard(ctx, lent.ID, "")
		s.discard(ctx, made.ID, free)
	}, SpecTimeout(limit))

	It("(stock with a port) is not told while a port has it that its former claim's consumer has bound, and is told once more to the claim that was told it", func(ctx SpecContext) {
		pool := s.pool(ctx, "reclaimPolicy: Retain")
		former, f := s.newAllocated(ctx, "former")
		record := s.record(ctx, former)
		suite.Change(ctx, k, record, func() { controllerutil.AddFinalizer(record, inUse) })
		Expect(k.Delete(ctx, former)).To(Succeed())
		s.leaves(ctx, former)

		next := s.claim(ctx, "next")
		s.isTried(ctx, next)
		port, err := s.Bind(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
		suite.Change(ctx, k, record, func() { controllerutil.RemoveFinalizer(record, inUse) })
		made := s.allocated(ctx, next)
		Expect(made.ID).NotTo(Equal(f.ID))
		Expect(s.Unbind(ctx, port)).To(Succeed())

		_, err = s.Bind(ctx, made.ID)
		Expect(err).NotTo(HaveOccurred())
		address, lost := s.address(ctx, next), s.record(ctx, next)
		suite.Change(ctx, k, next, func() { metav1.SetMetaDataAnnotation(&next.ObjectMeta, clusterv1.PausedAnnotation, "") })
		hasCondition(ctx, next, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
		s.strip(ctx, address, lost)
		suite.Change(ctx, k, next, func() { delete(next.Annotations, clusterv1.PausedAnnotation) })
		Eventually(func(g Gomega) {
			again := s.records(ctx, next)
			g.Expect(again).To(ConsistOf(And(HaveField("Spec.CIDR", made.Address.String()+"/32"), HaveField("UID", Not(Equal(lost.UID))))))
			stored := address.DeepCopy()
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(address), stored)).To(Succeed())
			g.Expect(stored).To(HaveValue(And(HaveField("UID", Not(Equal(address.UID))), HaveField("Spec.Address", made.Address.String()))))
		}, patience, "100ms").Should(Succeed())
		s.unbindAll(ctx)
		s.deleted(ctx, next)
		for _, free := range s.outside(ctx) {
			s.discard(ctx, free.ID, fmt.Sprintf("weir/1/%s/-", pool.GetUID()))
		}
	}, SpecTimeout(limit))
}))

var _ = Describe("The stock of a pool of floating IPs that a port has", onFake(func(s *spec) {
	It("(key, free) is stock, and handed out; (stock or pre-allocated with a port) is not; both are counted until the pool has gone", func(ctx SpecContext) {
		lent := s.existing(ctx)
		pool := s.pool(ctx, fmt.Sprintf("preAllocatedFloatingIPs: [%s]", lent.Address), "reclaimPolicy: Retain")
		description := fmt.Sprintf("weir/1/%s/-", pool.GetUID())
		kept, free := s.madeWith(ctx, description), s.madeWith(ctx, description)
		for _, f := range []neutron.FloatingIP{lent, kept} {
			_, err := s.Bind(ctx, f.ID)
			Expect(err).NotTo(HaveOccurred())
		}
		s.beginsToCompare(ctx, pool)
		hasStock(pool, 1, 2)

		_, first := s.newAllocated(ctx, "first")
		Expect(first.ID).To(Equal(free.ID))
		_, second := s.newAllocated(ctx, "second")
		Expect([]string{lent.ID, kept.ID, free.ID}).NotTo(ContainElement(second.ID))
		Expect(s.of(ctx, lent.ID)).To(And(HaveField("Description", ""), HaveField("PortID", Not(BeEmpty()))))
		Expect(s.of(ctx, kept.ID)).To(And(HaveField("Description", description), HaveField("PortID", Not(BeEmpty()))))
		s.compare(ctx, pool)
		hasStock(pool, 0, 2)

		s.unbindAll(ctx)
		s.compare(ctx, pool)
		hasStock(pool, 2, 0)
		_, third := s.newAllocated(ctx, "third")
		Expect(third.ID).To(Equal(lent.ID))
		s.clearClaims(ctx)
		Expect(k.Delete(ctx, pool)).To(Succeed())
		s.ended(ctx, pool)
		Eventually(func() map[string]float64 { return stockOf(pool) }, patience, "100ms").Should(BeEmpty())
		s.discard(ctx, lent.ID, "")
		for _, f := range s.outside(ctx) {
			s.discard(ctx, f.ID, description)
		}
	}, SpecTimeout(limit))
}))

// hasStock waits until the manager shows so many floating IPs of a pool that are no claim's.
func hasStock(pool client.Object, free, bound float64) {
	GinkgoHelper()
	Eventually(func() map[string]float64 { return stockOf(pool) }, patience, "100ms").Should(Equal(map[string]float64{"free": free, "bound": bound}))
}

// stockOf returns a pool's values of weir_external_stock by state.
func stockOf(pool client.Object) map[string]float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range series.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if family.GetName() == "weir_external_stock" && labels["namespace"] == pool.GetNamespace() && labels["name"] == pool.GetName() {
				values[labels["state"]] = series.GetGauge().GetValue()
			}
		}
	}
	return values
}

var _ = Describe("A floating IP that existed before", onFake(func(s *spec) {
	It("keeps a deleted claim while it is bound", func(ctx SpecContext) {
		lent := s.existing(ctx)
		s.pool(ctx, fmt.Sprintf("preAllocatedFloatingIPs: [%s]", lent.Address))
		c, f := s.newAllocated(ctx, "a")
		Expect(f.ID).To(Equal(lent.ID))
		port, err := s.Bind(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
		Expect(k.Delete(ctx, c)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForPortReason, port)
		s.hasAll(ctx, c, f)
		Expect(s.Unbind(ctx, port)).To(Succeed())
		s.gone(ctx, c)
		s.discard(ctx, lent.ID, "")
	}, SpecTimeout(limit))
}))

var _ = Describe("A floating IP that port forwardings use", onFake(func(s *spec) {
	It("is not handed out although the pool lists it, and Ready names it", func(ctx SpecContext) {
		lent := s.existing(ctx)
		port, err := s.Forward(ctx, lent.ID)
		Expect(err).NotTo(HaveOccurred())
		pool := s.pool(ctx, fmt.Sprintf("preAllocatedFloatingIPs: [%s]", lent.Address))
		hasCondition(ctx, pool, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason, lent.Address.String(), "port forwardings")
		_, first := s.newAllocated(ctx, "first")
		Expect(first.ID).NotTo(Equal(lent.ID))

		Expect(s.Unbind(ctx, port)).To(Succeed())
		_, second := s.newAllocated(ctx, "second")
		Expect(second.ID).To(Equal(lent.ID))
		s.clearClaims(ctx)
		s.discard(ctx, lent.ID, "")
	}, SpecTimeout(limit))
}))

var _ = Describe("The subnet of a pool of floating IPs", onFake(func(s *spec) {
	It("is used by its id, is immutable, and is told if the project does not see it by its name", func(ctx SpecContext) {
		second := s.subnet(ctx, "public-b")
		pool := s.pool(ctx, "subnet: {id: "+second+"}")
		_, f := s.newAllocated(ctx, "a")
		Expect(f.Address.String()).To(MatchRegexp(`^198\.18\.(1[6-9]|2[0-9]|3[01])\.`))
		without := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"openStack": {"subnet": null}}}`))
		Expect(k.Patch(ctx, pool, without)).To(suite.Refused(422, "subnet is immutable"))
		s.isBalanced(ctx)

		hidden := s.newPool("hidden", "subnet: {name: public-b}")
		Expect(k.Create(ctx, hidden)).To(Succeed())
		hasCondition(ctx, hidden, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyNetworkNotFoundReason, "subnet")
	}, SpecTimeout(limit))
}))

// subnet returns the id of a subnet of the public network, which the administrator sees.
func (s *spec) subnet(ctx SpecContext, name string) string {
	GinkgoHelper()
	credentials, err := neutron.ParseClouds(s.CloudsYAML(), nil, openstack.Admin, "")
	Expect(err).NotTo(HaveOccurred())
	policy, err := neutron.ParseEndpointPolicy([]string{loopback})
	Expect(err).NotTo(HaveOccurred())
	admin, err := neutron.Connect(ctx, credentials, neutron.Options{Policy: policy})
	Expect(err).NotTo(HaveOccurred())
	defer admin.CloseIdleConnections()
	found, err := admin.Subnet(ctx, s.public, "", name)
	Expect(err).NotTo(HaveOccurred())
	return found.ID
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// capoFinalizer is on CAPO's claims until the server is gone.
const capoFinalizer = "openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim"

var serverKind = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Kind: "OpenStackServer"}

// server acts as CAPO's controller for one OpenStackServer with a floatingIPPoolRef.
type server struct {
	*spec

	object *unstructured.Unstructured
	// pool is what its claim asks, if CAPO creates that.
	pool ipamv1beta2.IPPoolReference
	// port is the one that its floating IP is bound to; "" for none.
	port string
}

// server creates an OpenStackServer with an address of the pool p.
func (s *spec) server(ctx context.Context, name string) *server {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(serverKind)
	object.SetNamespace(s.ns)
	object.SetName(name)
	Expect(k.Create(ctx, object)).To(Succeed())
	return &server{spec: s, object: object, pool: s.newClaim(name).Spec.PoolRef}
}

// takeClaim returns the claim of the server's name, whatever its UID and even if it is being
// deleted, and creates it if there is none.
func (s *server) takeClaim(ctx context.Context) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	c := s.newClaim(s.object.GetName() + "-floating-ip-address")
	c.Spec.PoolRef, c.Finalizers = s.pool, []string{capoFinalizer}
	c.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: serverKind.GroupVersion().String(), Kind: serverKind.Kind, Name: s.object.GetName(), UID: s.object.GetUID(),
	}}
	err := k.Get(ctx, client.ObjectKeyFromObject(c), c)
	if apierrors.IsNotFound(err) {
		err = k.Create(ctx, c)
	}
	Expect(err).NotTo(HaveOccurred())
	return c
}

// reconcile reads claim and IPAddress, as CAPO does in every reconciliation, finds the floating IP
// of that address in the project, and binds it to the server's port. It returns false while the
// claim has no IPAddress.
func (s *server) reconcile(ctx context.Context) (neutron.FloatingIP, bool) {
	GinkgoHelper()
	c := s.takeClaim(ctx)
	if c.Status.AddressRef.Name == "" {
		return neutron.FloatingIP{}, false
	}
	f, err := s.member.FindByAddress(ctx, s.public, netip.MustParseAddr(s.address(ctx, c).Spec.Address))
	Expect(err).NotTo(HaveOccurred())
	if s.port == "" {
		s.port, err = s.Bind(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
	}
	return f, true
}

// running reconciles the server until it has its floating IP.
func (s *server) running(ctx context.Context) neutron.FloatingIP {
	GinkgoHelper()
	var f neutron.FloatingIP
	Eventually(func() (has bool) {
		f, has = s.reconcile(ctx)
		return has
	}, patience, "100ms").Should(BeTrue())
	return f
}

// stop deletes the server: its port, CAPO's finalizer, and the object. The garbage collector
// deletes the claim.
func (s *server) stop(ctx context.Context) {
	GinkgoHelper()
	s.deletePort(ctx)
	s.letGo(ctx)
	Expect(k.Delete(ctx, s.object)).To(Succeed())
}

func (s *server) deletePort(ctx context.Context) {
	GinkgoHelper()
	if s.port != "" {
		Expect(s.Unbind(ctx, s.port)).To(Succeed())
		s.port = ""
	}
}

// letGo removes CAPO's finalizer from the claim of the server's name.
func (s *server) letGo(ctx context.Context) {
	GinkgoHelper()
	c := s.newClaim(s.object.GetName() + "-floating-ip-address")
	Eventually(func() error {
		err := k.Get(ctx, client.ObjectKeyFromObject(c), c)
		if err == nil && controllerutil.RemoveFinalizer(c, capoFinalizer) {
			err = k.Update(ctx, c)
		}
		return client.IgnoreNotFound(err)
	}, patience, "100ms").Should(Succeed())
}

var _ = Describe("CAPO's server", onEvery(func(s *spec) {
	It("gets a floating IP, which is deleted with the claim that the garbage collector deletes", func(ctx SpecContext) {
		s.pool(ctx)
		web := s.server(ctx, "web-0")
		f := web.running(ctx)
		c := web.takeClaim(ctx)
		Expect(s.owned(ctx, c)).To(ConsistOf(And(HaveField("ID", f.ID), HaveField("PortID", web.port))))
		s.isBalanced(ctx)

		web.stop(ctx)
		s.gone(ctx, c)
	}, SpecTimeout(limit))

	It("that is created again under its name works with a claim that is being deleted, until its port is gone", func(ctx SpecContext) {
		s.pool(ctx)
		first := s.server(ctx, "bastion")
		f := first.running(ctx)
		c := first.takeClaim(ctx)
		first.deletePort(ctx)
		Expect(k.Delete(ctx, first.object)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForFinalizersReason, capoFinalizer) // the garbage collector has deleted it

		second := s.server(ctx, "bastion")
		Expect(second.running(ctx).ID).To(Equal(f.ID))
		second.letGo(ctx) // of the first one
		s.isKept(ctx, c, ipamv1.WaitingForPortReason, second.port)
		for range 5 {
			Eventually(func(g Gomega) { nudge(ctx, g, c) }).Should(Succeed())
			again, has := second.reconcile(ctx)
			Expect(has).To(BeTrue())
			Expect(again.ID).To(Equal(f.ID))
		}
		Expect(second.takeClaim(ctx).UID).To(Equal(c.UID))

		second.deletePort(ctx)
		s.gone(ctx, c)
		Expect(second.running(ctx).ID).NotTo(Equal(f.ID), "the next reconciliation creates a claim")
		next := second.takeClaim(ctx)
		second.stop(ctx)
		s.gone(ctx, next)
	}, SpecTimeout(limit))

	It("that is deleted as soon as its claim exists leaves nothing", func(ctx SpecContext) {
		s.pool(ctx)
		web := s.server(ctx, "web-1")
		c := web.takeClaim(ctx)
		web.stop(ctx)
		s.gone(ctx, c)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))
}))

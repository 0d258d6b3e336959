// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// lost are the ways in which a call, or its reply, is lost or refused once.
var lost = []fake.Fault{
	{Effect: fake.CutBefore},
	{Effect: fake.CutAfter},
	{Effect: fake.CutAnswer},
	{Effect: fake.RefuseLate, Code: http.StatusInternalServerError},
	{Effect: fake.Refuse, Code: http.StatusBadGateway},
	{Effect: fake.Refuse, Code: http.StatusUnauthorized},
	{Effect: fake.Refuse, Code: http.StatusTooManyRequests, RetryAfter: "1"},
}

// loses injects each of lost into one request of each call.
func (s *spec) loses(calls ...string) {
	GinkgoHelper()
	for _, call := range calls {
		for _, fault := range lost {
			fault.Call = call
			s.fake().Inject(fault)
		}
	}
}

// losesLists loses some lists. Few: after each that fails the manager leaves the cloud alone for longer.
func (s *spec) losesLists() {
	GinkgoHelper()
	for _, fault := range lost[:2] {
		fault.Call = "ListFloatingIPs"
		s.fake().Inject(fault)
	}
}

// lostOf returns how many calls of that name were lost or refused.
func lostOf(f *fake.Cloud, name string) (n int) {
	for _, call := range f.Calls() {
		if call.Name == name && (call.Code == 0 || call.Code >= http.StatusBadRequest || !call.Executed) {
			n++
		}
	}
	return n
}

// aboutFloatingIPs returns the names of the calls, without those that a pool makes for itself.
func aboutFloatingIPs(f *fake.Cloud) (names []string) {
	for _, call := range f.Calls() {
		if call.Name != "ListNetworks" {
			names = append(names, call.Name)
		}
	}
	return names
}

// madeBy returns how many changes a call has made.
func madeBy(f *fake.Cloud, call string) (n int) {
	for _, change := range f.Changes() {
		if change.Call == call {
			n++
		}
	}
	return n
}

var _ = Describe("A call of the cloud", onFakeOnce(func(s *spec) {
	It("(A0, A1, R2) that is lost, before or after it is executed, creates nothing twice and leaves nothing", func(ctx SpecContext) {
		claims := make([]*ipamv1beta2.IPAddressClaim, 2*len(lost))
		s.pool(ctx)
		s.loses("CreateFloatingIP")
		s.losesLists()
		for i := range claims {
			claims[i] = s.claim(ctx, fmt.Sprint("a", i))
		}
		for _, c := range claims {
			s.allocated(ctx, c)
		}
		Expect(lostOf(s.fake(), "ListFloatingIPs")).To(BeNumerically(">=", 2))
		Expect(lostOf(s.fake(), "CreateFloatingIP")).To(BeNumerically(">=", len(lost)-1))
		Expect(madeBy(s.fake(), "CreateFloatingIP")).To(Equal(len(claims)))
		s.isBalanced(ctx)

		s.fake().Reset()
		s.loses("DeleteFloatingIP")
		s.losesLists()
		for _, c := range claims {
			Expect(k.Delete(ctx, c)).To(Succeed())
		}
		s.gone(ctx, claims...)
		Expect(lostOf(s.fake(), "DeleteFloatingIP")).To(BeNumerically(">=", len(lost)-1))
		Expect(madeBy(s.fake(), "DeleteFloatingIP")).To(Equal(len(claims)))
	}, SpecTimeout(limit))

	It("is made twice to allocate and twice to release: a search by description, and the change", func(ctx SpecContext) {
		s.pool(ctx)
		s.newAllocated(ctx, "first") // logs in
		for i := range 5 {
			s.fake().Reset()
			c, f := s.newAllocated(ctx, fmt.Sprint("a", i))
			Expect(aboutFloatingIPs(s.fake())).To(Equal([]string{"ListFloatingIPs", "CreateFloatingIP"}))
			created := slices.IndexFunc(s.fake().Changes(), func(change fake.Change) bool { return change.After.ID == f.ID })
			Expect(s.fake().Changes()[created].After.Description).To(Equal(f.Description), "it has the claim's UID from its creation on")
			s.fake().Reset()
			Expect(k.Delete(ctx, c)).To(Succeed())
			suite.Gone(ctx, k, c)
			Expect(aboutFloatingIPs(s.fake())).To(Equal([]string{"ListFloatingIPs", "DeleteFloatingIP"}))
		}
	}, SpecTimeout(limit))

	It("that deletes a floating IP comes before anything of the claim is deleted", func(ctx SpecContext) {
		s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		hold := s.fake().Hold("DeleteFloatingIP", fake.Delay)
		Expect(k.Delete(ctx, c)).To(Succeed())
		Eventually(hold.Arrived, patience).Should(BeClosed())
		s.hasAll(ctx, c, f)
		hold.Release()
		s.gone(ctx, c)
	}, SpecTimeout(limit))

	It("that is not answered is named by the claims that wait for it, and made again", func(ctx SpecContext) {
		s.pool(ctx)
		had, f := s.newAllocated(ctx, "had")
		down := fake.Fault{Call: "ListFloatingIPs", Effect: fake.Refuse, Code: http.StatusServiceUnavailable, Times: -1}
		s.fake().Inject(down)
		c := s.claim(ctx, "a")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason, "does not answer", "see the pool")
		Expect(k.Delete(ctx, had)).To(Succeed())
		s.isKept(ctx, had, ipamv1.WaitingForCloudReason, "does not answer")
		s.hasAll(ctx, had, f)

		s.fake().ClearFaults()
		s.allocated(ctx, c)
		s.gone(ctx, had)
	}, SpecTimeout(limit))

	It("that is forbidden is named by the claim, and made again", func(ctx SpecContext) {
		s.pool(ctx)
		Expect(s.fake().SetPolicy(map[string]string{"create_floatingip": "!"})).To(Succeed())
		c := s.claim(ctx, "a")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason, "forbids", "see the pool")
		Expect(s.fake().SetPolicy(nil)).To(Succeed())
		s.allocated(ctx, c)
	}, SpecTimeout(limit))

	It("that is executed while its claim is deleted leaves nothing", func(ctx SpecContext) {
		s.pool(ctx)
		hold := s.fake().Hold("CreateFloatingIP", fake.DelayAnswer)
		c := s.claim(ctx, "a")
		Eventually(hold.Arrived, patience).Should(BeClosed())
		Expect(k.Delete(ctx, c)).To(Succeed())
		hold.Release()
		s.gone(ctx, c)
		Expect(madeBy(s.fake(), "CreateFloatingIP")).To(Equal(1))
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))

	It("that hangs delays no claim of another pool", func(ctx SpecContext) {
		const claims, workers = 40, 32
		s.pool(ctx)
		s.newAllocated(ctx, "first")
		released := make(chan struct{})
		s.fake().Inject(fake.Fault{Call: "ListFloatingIPs", Effect: fake.Delay, Times: -1, Until: released})
		waiting := make([]*ipamv1beta2.IPAddressClaim, claims)
		for i := range waiting {
			waiting[i] = s.claim(ctx, fmt.Sprint("waits-", i))
		}
		Eventually(s.fake().Active, patience, "20ms").Should(BeNumerically(">", 0))

		sound := spec{kind: s.kind, filter: s.filter}
		sound.open(ctx, "fake")
		sound.pool(ctx)
		for i := range 10 {
			sound.newAllocated(ctx, fmt.Sprint("a", i))
			Expect(s.fake().Active()).To(BeNumerically("<", workers/2), "calls that hang")
		}
		for _, c := range waiting {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			Expect(c.Status.AddressRef.Name).To(BeEmpty())
		}
		close(released)
		s.fake().ClearFaults()
		for _, c := range waiting {
			s.allocated(ctx, c)
		}
		s.isBalanced(ctx)
		sound.close(ctx)
	}, SpecTimeout(limit))
}))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const gateOpen = "--feature-gates=OpenStack=true"

// manager starts a manager process that serves the spec. Via is its way to the API server; nil for
// the usual one.
func (s *spec) manager(ctx context.Context, via *rest.Config, args ...string) *framework.Manager {
	GinkgoHelper()
	return suite.StartOwnManager(ctx, site, framework.ManagerOptions{Config: via, Args: append([]string{"--watch-filter=" + s.filter}, args...)})
}

// openManager starts a manager process with the gate open.
func (s *spec) openManager(ctx context.Context, via *rest.Config, args ...string) *framework.Manager {
	GinkgoHelper()
	return s.manager(ctx, via, append([]string{gateOpen, "--openstack-endpoint-allow=" + loopback}, args...)...)
}

// creates matches requests that create an object of a kind.
func creates(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+resource)
	}
}

// killedAt has a manager answer a claim, and kills it when it creates its first object of a kind.
func (s *spec) killedAt(ctx context.Context, resource string, loss framework.Loss) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	proxy, err := site.NewWriteProxy(site.Config(), 1, loss)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Stop)
	m := s.openManager(ctx, proxy.Counting(creates(resource)).Config())
	s.pool(ctx)
	c := s.claim(ctx, "a")
	Eventually(proxy.Closed(), patience).Should(BeClosed())
	Expect(m.Kill()).To(Succeed())
	Expect(s.owned(ctx, c)).To(HaveLen(1))
	return c
}

// releasing is where a manager is killed that releases a claim: at its first write of that method, "" for any, to that path. So many records
// are there then.
type releasing struct {
	row, when    string
	method, path string
	loss         framework.Loss
	records      int
}

// killedReleasing has one manager release a claim up to there, and another one do the rest.
func (s *spec) killedReleasing(ctx context.Context, at releasing) {
	GinkgoHelper()
	var isDeleted atomic.Bool
	proxy, err := site.NewWriteProxy(site.Config(), 1, at.loss)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Stop)
	m := s.openManager(ctx, proxy.Counting(func(r *http.Request) bool {
		isOf := strings.HasSuffix(r.URL.Path, at.path) || strings.HasSuffix(at.path, "/") && strings.Contains(r.URL.Path, at.path)
		isWrite := r.Method != http.MethodGet && (at.method == "" || r.Method == at.method)
		return isDeleted.Load() && isWrite && isOf
	}).Config())
	s.pool(ctx)
	c, _ := s.newAllocated(ctx, "a")
	answer := s.address(ctx, c)
	isDeleted.Store(true)
	Expect(k.Delete(ctx, c)).To(Succeed())
	Eventually(proxy.Closed(), patience).Should(BeClosed())
	Expect(m.Kill()).To(Succeed())

	Expect(s.outside(ctx)).To(BeEmpty())
	Expect(apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(answer), answer))).To(BeTrue(), "the answer has gone")
	Expect(s.records(ctx, c)).To(HaveLen(at.records))
	isGone := apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(c), c.DeepCopy()))
	Expect(isGone).To(Equal(at.loss == framework.ReplyLost), "the claim has gone")
	s.openManager(ctx, nil)
	s.gone(ctx, c)
	next, _ := s.newAllocated(ctx, "next")
	Expect(madeBy(s.fake(), "DeleteFloatingIP")).To(Equal(1))
	s.deleted(ctx, next)
}

var _ = Describe("A manager that is killed", onFakeOnce(func(s *spec) {
	BeforeEach(func() { s.filter = s.ns })

	goesOn := func(row, resource string, loss framework.Loss) {
		It(fmt.Sprintf("(%s) when its create of %s %s: the next one goes on with the same floating IP", row, resource, loss), func(ctx SpecContext) {
			c := s.killedAt(ctx, resource, loss)
			made := s.owned(ctx, c)
			s.openManager(ctx, nil)
			Expect(s.allocated(ctx, c)).To(Equal(made[0]))
			Expect(madeBy(s.fake(), "CreateFloatingIP")).To(Equal(1))
			s.isBalanced(ctx)
		}, SpecTimeout(limit))
	}
	leavesNothing := func(row, resource string, loss framework.Loss) {
		It(fmt.Sprintf("(%s) when its create of %s %s leaves nothing of a claim that is deleted then", row, resource, loss), func(ctx SpecContext) {
			c := s.killedAt(ctx, resource, loss)
			Expect(k.Delete(ctx, c)).To(Succeed())
			s.openManager(ctx, nil)
			s.gone(ctx, c)
			Expect(s.outside(ctx)).To(BeEmpty())
		}, SpecTimeout(limit))
	}
	goesOn("A2", "ipallocations", framework.RequestLost)
	leavesNothing("A2", "ipallocations", framework.RequestLost)
	goesOn("A3", "ipallocations", framework.ReplyLost)
	size.FromLong(func() {
		leavesNothing("A3", "ipallocations", framework.ReplyLost)
		goesOn("A5", "ipaddresses", framework.RequestLost)
		leavesNothing("A5", "ipaddresses", framework.RequestLost)
		goesOn("A6", "ipaddresses", framework.ReplyLost)
		leavesNothing("A6", "ipaddresses", framework.ReplyLost)
	})

	It("(R3) after it has deleted a floating IP: the next one releases the rest", func(ctx SpecContext) {
		proxy, err := site.NewWriteProxy(site.Config(), 1, framework.RequestLost)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Stop)
		deletes := func(r *http.Request) bool {
			return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/ipaddresses/")
		}
		m := s.openManager(ctx, proxy.Counting(deletes).Config())
		s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		Expect(k.Delete(ctx, c)).To(Succeed())
		Eventually(proxy.Closed(), patience).Should(BeClosed())
		Expect(m.Kill()).To(Succeed())
		Expect(s.outside(ctx)).To(BeEmpty())
		Expect(s.address(ctx, c).Spec.Address).To(Equal(f.Address.String()))
		s.openManager(ctx, nil)
		s.gone(ctx, c)
		Expect(madeBy(s.fake(), "DeleteFloatingIP")).To(Equal(1))
	}, SpecTimeout(limit))

	for _, at := range []releasing{
		{"R4", "before it deletes the record", http.MethodDelete, "/ipallocations/", framework.RequestLost, 1},
		{"R5", "before it takes its finalizer off the claim", "", "/ipaddressclaims/a", framework.RequestLost, 0},
		{"R6", "after it has taken its finalizer off the claim", "", "/ipaddressclaims/a", framework.ReplyLost, 0},
	} {
		It("("+at.row+") "+at.when+": the next one releases the rest", func(ctx SpecContext) { s.killedReleasing(ctx, at) }, SpecTimeout(limit))
	}

	It("(A1) while it creates a floating IP, which is executed late, leaves two, and both are deleted with the claim", func(ctx SpecContext) {
		first := s.openManager(ctx, nil)
		s.pool(ctx)
		late := s.fake().Hold("CreateFloatingIP", fake.Late)
		c := s.claim(ctx, "a")
		Eventually(late.Arrived, patience).Should(BeClosed())
		Expect(first.Kill()).To(Succeed())
		s.openManager(ctx, nil)
		f := s.allocated(ctx, c)
		late.Release()
		Eventually(func() []openstack.FloatingIP { return s.owned(ctx, c) }, patience, "100ms").Should(HaveLen(2))
		Eventually(func(g Gomega) { nudge(ctx, g, c) }).Should(Succeed())
		Expect(s.allocated(ctx, c)).To(Equal(f))
		s.deleted(ctx, c)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))
}))

var _ = Describe("Two managers that create a floating IP each for one claim", onFakeOnce(func(s *spec) {
	It("(A2) answer it with one of them, and delete both with the claim", func(ctx SpecContext) {
		s.filter = s.ns
		for range 2 {
			s.openManager(ctx, nil)
		}
		s.pool(ctx)
		searches := []fake.Hold{s.fake().Hold("ListFloatingIPs", fake.DelayAnswer), s.fake().Hold("ListFloatingIPs", fake.DelayAnswer)}
		c := s.claim(ctx, "a")
		for _, search := range searches {
			Eventually(search.Arrived, patience).Should(BeClosed())
		}
		for _, search := range searches {
			search.Release()
		}
		f := s.allocated(ctx, c)
		Eventually(func() int { return madeBy(s.fake(), "CreateFloatingIP") }, patience, "100ms").Should(Equal(2))
		answers := &ipamv1beta2.IPAddressList{}
		Expect(k.List(ctx, answers, client.InNamespace(s.ns))).To(Succeed())
		Expect(answers.Items).To(ConsistOf(HaveField("Spec.Address", f.Address.String())))
		s.deleted(ctx, c)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))

	It("(A5) and record both, keep one of them, and give back the other, however often that fails", func(ctx SpecContext) {
		s.filter = s.ns
		s.openManager(ctx, nil, "--repair-grace=1s") // so often it looks for second records
		s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		s.fake().Inject(fake.Fault{Call: "DeleteFloatingIP", Effect: fake.Refuse, Code: http.StatusServiceUnavailable, Times: 2})
		s.addSecond(ctx, c, f)
		s.isBalanced(ctx)
		Expect(lostOf(s.fake(), "DeleteFloatingIP")).To(Equal(2))
		s.hasAll(ctx, c, f)
	}, SpecTimeout(limit))

	It("and record one while the other is given back with the claim: both are given back", func(ctx SpecContext) {
		s.filter = s.ns
		s.openManager(ctx, nil)
		p := s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		second := s.makeSecond(ctx, f) // before the first one's address is free: of records of one address one counts
		deletion := s.fake().Hold("DeleteFloatingIP", fake.DelayAnswer)
		Expect(k.Delete(ctx, c)).To(Succeed())
		Eventually(deletion.Arrived, patience).Should(BeClosed())
		s.recordSecond(ctx, c, second)
		Eventually(func(g Gomega) { // the manager knows of it
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p).To(HaveField("Status.Capacity.Allocated", "2"))
		}, patience, "100ms").Should(Succeed())
		deletion.Release()
		s.gone(ctx, c)
		Expect(s.outside(ctx)).To(BeEmpty())
	}, SpecTimeout(limit))
}))

var _ = Describe("A claim whose record loses to one that was stored just before", onFakeOnce(func(s *spec) {
	It("(A4) keeps its floating IP, and waits until the other record has gone", func(ctx SpecContext) {
		s.filter = s.ns
		proxy, err := site.NewWriteProxy(site.Config(), 0, framework.RequestLost)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Stop)
		var isArmed atomic.Bool
		first, stored, isRecord := &ipamv1.IPAllocation{}, make(chan error, 1), creates("ipallocations")
		s.openManager(ctx, proxy.Counting(func(r *http.Request) bool {
			if isRecord(r) && isArmed.CompareAndSwap(true, false) {
				stored <- s.storeBefore(ctx, first)
			}
			return isRecord(r)
		}).Config(), "--repair-grace=1s") // so soon it releases a record whose claim does not exist
		s.pool(ctx)
		like, _ := s.newAllocated(ctx, "like")
		known := s.record(ctx, like)
		first.Namespace, first.Name, first.Finalizers = known.Namespace, "first", []string{ipamv1.AllocationFinalizer, inUse}
		first.Spec = *known.Spec.DeepCopy()
		first.Spec.ClaimRef.Name, first.Spec.ClaimRef.UID, first.Spec.State = "first", "uid-of-first", ""
		first.Spec.Manager = ipamv1.AllocationManager{Instance: "another"}
		before := proxy.Writes()
		isArmed.Store(true)

		c := s.claim(ctx, "a")
		Eventually(stored, patience).Should(Receive(&err))
		Expect(err).NotTo(HaveOccurred())
		s.refused(ctx, c, ipamv1.ClaimReadyAllocationFailedReason, strings.TrimSuffix(first.Spec.CIDR, "/32"))
		Expect(s.records(ctx, c)).To(BeEmpty())
		Expect(proxy.Writes()).To(Equal(before+1), "its record was stored, and has gone")
		waiting := s.owned(ctx, c)
		Expect(waiting).To(ConsistOf(HaveField("Address.String()", strings.TrimSuffix(first.Spec.CIDR, "/32"))))

		suite.Change(ctx, k, first, func() { controllerutil.RemoveFinalizer(first, inUse) })
		Expect(s.allocated(ctx, c)).To(Equal(waiting[0]))
		Expect(madeBy(s.fake(), "CreateFloatingIP")).To(Equal(2))
		Expect(madeBy(s.fake(), "DeleteFloatingIP")).To(BeZero())
		s.isBalanced(ctx)
	}, SpecTimeout(limit))
}))

// storeBefore stores a record of the address that the claim a has in the cloud.
func (s *spec) storeBefore(ctx context.Context, r *ipamv1.IPAllocation) error {
	for _, f := range s.fake().FloatingIPs() {
		if strings.HasSuffix(f.Description, "/"+s.ns+"/a") {
			r.Spec.CIDR, r.Spec.External.ID = f.Address.String()+"/32", f.ID
		}
	}
	return k.Create(ctx, r, client.FieldOwner(ipamv1.FieldManager))
}

// addSecond makes a second floating IP of a claim, with its record, as another manager does that answers the claim at the same moment.
func (s *spec) addSecond(ctx context.Context, c *ipamv1beta2.IPAddressClaim, first openstack.FloatingIP) {
	GinkgoHelper()
	s.recordSecond(ctx, c, s.makeSecond(ctx, first))
}

func (s *spec) makeSecond(ctx context.Context, first openstack.FloatingIP) neutron.FloatingIP {
	GinkgoHelper()
	return s.madeWith(ctx, first.Description)
}

func (s *spec) recordSecond(ctx context.Context, c *ipamv1beta2.IPAddressClaim, made neutron.FloatingIP) {
	GinkgoHelper()
	known := s.record(ctx, c)
	second := &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: known.Namespace, Name: known.Name + "-second", Labels: known.Labels, OwnerReferences: known.OwnerReferences, Finalizers: known.Finalizers,
		},
		Spec: *known.Spec.DeepCopy(),
	}
	second.Spec.CIDR, second.Spec.External.ID, second.Spec.State = made.Address.String()+"/32", made.ID, ""
	Expect(k.Create(ctx, second, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
}

var _ = Describe("A manager whose gate is closed", onFake(func(s *spec) {
	It("refuses pools of floating IPs, keeps their claims waiting, reads no Secret and calls no cloud", func(ctx SpecContext) {
		s.filter = s.ns
		before := s.openManager(ctx, nil)
		pool := s.pool(ctx)
		had, f := s.newAllocated(ctx, "had")
		Expect(before.Stop()).To(Succeed())

		secrets, err := site.NewWriteProxy(site.Config(), 0, framework.RequestLost)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(secrets.Stop)
		secrets.Counting(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/secrets") })
		s.fake().Reset()
		closed := s.manager(ctx, secrets.Config())
		late := s.newPool("late")
		Expect(k.Create(ctx, late)).To(Succeed())
		hasCondition(ctx, late, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyInvalidSpecReason, gateOpen)
		hasCondition(ctx, pool, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyInvalidSpecReason, gateOpen)
		c := s.claim(ctx, "a")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason)
		Expect(k.Delete(ctx, had)).To(Succeed())
		s.isKept(ctx, had, ipamv1.WaitingForCloudReason, "gate")
		s.hasAll(ctx, had, f)

		callWebhooks(ctx, closed.WebhookAddress())
		DeferCleanup(func(ctx SpecContext) { callWebhooks(ctx, webhooks) })
		refusal := suite.Refused(http.StatusUnprocessableEntity, "spec.openStack", gateOpen)
		Eventually(func() error { return k.Create(ctx, s.newPool("refused"), client.DryRunAll) }, patience, "100ms").Should(refusal)
		Expect(k.Delete(ctx, pool)).To(suite.Refused(http.StatusForbidden, f.Address.String()))
		Expect(s.fake().Calls()).To(BeEmpty())
		Expect(secrets.Writes()).To(BeZero(), "requests about Secrets")

		callWebhooks(ctx, webhooks)
		Eventually(func() error { return k.Create(ctx, s.newPool("accepted"), client.DryRunAll) }, patience, "100ms").Should(Succeed())
		Expect(closed.Stop()).To(Succeed())
		s.openManager(ctx, nil)
		s.gone(ctx, had)
		s.allocated(ctx, c)
		hasCondition(ctx, late, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason)
		s.isBalanced(ctx)
	}, SpecTimeout(limit))
}))

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/weir"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// copies is the controller of pools of one manager of the member edge-a.
type copies struct {
	*manager

	*pool.Reconciler
	registry *pools.Registry
	// recordStored is asked before a block is handed back.
	recordStored func(context.Context, ipamv1.PoolReference) error
}

// newCopies has the controller read pools from c as from a cache.
func newCopies(ctx context.Context, ns string, c client.Client) *copies {
	GinkgoHelper()
	m := &copies{manager: startManager(ctx, clock.RealClock{})}
	m.registry = &pools.Registry{
		Client: c, Live: k, Ledger: m.Ledger, Rules: &tenancy.Rules{Client: k, Live: k}, Namespace: ns, Cluster: "edge-a", Federation: true,
	}
	m.recordStored = func(context.Context, ipamv1.PoolReference) error { return nil }
	m.Reconciler = pool.NewReconciler(pool.Options{
		Client: c, Live: k, Registry: m.registry, Ledger: m.Ledger, Recorder: events.NewFakeRecorder(1000), Clock: clock.RealClock{}, Kind: pools.IPPools,
		RecordStored: func(ctx context.Context, p ipamv1.PoolReference) error { return m.recordStored(ctx, p) },
	})
	return m
}

// recordsWhatIsStored has the manager record what is stored out of a copy as the manager's wiring does: answers to IPAddressClaims, and IPClaims.
func (m *copies) recordsWhatIsStored(c client.Client) {
	charts := &claim.Charts{}
	claim.New(claim.Options{
		Client: c, Live: k, Ledger: m.Ledger, Form: clusterapi.Form{}, Source: weir.Source(m.registry), Rules: m.registry.Rules,
		Recorder: events.NewFakeRecorder(1000), Arrivals: claim.NewArrivals(clock.RealClock{}, time.Minute), Clock: clock.RealClock{}, Charts: charts,
	})
	m.recordStored = func(ctx context.Context, p ipamv1.PoolReference) error {
		return errors.Join(charts.Record(ctx, p), ipclaim.CheckRecorded(ctx, m.registry, p))
	}
}

// reaches reconciles the copy again and again until it is Ready, or not, for this reason.
func (m *copies) reaches(ctx context.Context, p *ipamv1.IPPool, reason string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		_, _ = m.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)}) // what it came to the pool says
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(conditions.GetReason(p, ipamv1.ReadyCondition)).To(Equal(reason), conditions.GetMessage(p, ipamv1.ReadyCondition))
	}, "1m", "20ms").Should(Succeed())
}

// goes reconciles the copy, which is being deleted, until it has gone.
func (m *copies) goes(ctx context.Context, p *ipamv1.IPPool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		_, _ = m.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		err := k.Get(ctx, client.ObjectKeyFromObject(p), p)
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		g.Expect(err).To(HaveOccurred(), conditions.GetMessage(p, ipamv1.ReadyCondition))
	}, "1m", "20ms").Should(Succeed())
}

// handBackOf is the record by which a pool of that name has handed back the block of copies.
func handBackOf(ns, name, template string) *ipamv1.IPAllocation {
	of := copied(ns, template).PoolReference()
	of.Name = name
	claim := book.Claim{Ref: book.ClaimOf(of, template), Pool: of}
	record := rivalFor(claim, ns, prefix("10.0.0.0/24"))
	record.Spec.Purpose, record.Spec.State = ipamv1.HandBackPurpose, ipamv1.ConfirmedState
	return record
}

// copied is a copy of a template.
func copied(ns, template string) *ipamv1.IPPool {
	return builder.IPPool(ns, "team").WithCIDR("10.0.0.0/24").WithSpace(ns).WithParent(ipamv1.GlobalIPPoolKind, "", "of-the-hub").DelegatedTo("edge-a").
		WithAnnotation(ipamv1.TemplateAnnotation, template).Build()
}

func takesBack(ctx context.Context, p *ipamv1.IPPool) {
	GinkgoHelper()
	suite.Change(ctx, k, p, func() { p.Spec.Mode = ipamv1.ClosingMode })
}

// applies has somebody apply the manifest of a template in the place of the copy that is there.
func applies(ctx context.Context, p *ipamv1.IPPool, template string) {
	GinkgoHelper()
	suite.Change(ctx, k, p, func() { p.Spec.Mode, p.Annotations[ipamv1.TemplateAnnotation] = ipamv1.ServingMode, template })
}

// stale shows a pool as it was.
type stale struct {
	client.Client

	pool *ipamv1.IPPool
}

func (s stale) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if p, ok := obj.(*ipamv1.IPPool); ok && key == client.ObjectKeyFromObject(s.pool) {
		s.pool.DeepCopyInto(p)
		return nil
	}
	return s.Client.Get(ctx, key, obj, opts...)
}

// behind shows nothing of what lists would: it is a cache that has not seen any of it yet.
type behind struct{ client.Client }

func (behind) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// templates returns those whose hand-backs hold the block.
func templates(ctx context.Context, ns string) []string {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	var found []string
	for _, a := range list.Items {
		if a.Spec.Purpose == ipamv1.HandBackPurpose && a.Spec.State != ipamv1.EndedState {
			found = append(found, a.Spec.ClaimRef.UID)
		}
	}
	return found
}

var _ = Describe("A copy whose hub takes the block back", func() {
	It("reports nothing before the record has won, and nothing else after", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "one")
		Expect(k.Create(ctx, p)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		shape := book.Pool{Ref: p.PoolReference(), Shape: newPool(ns, "team", "10.0.0.0/24").Shape}
		claim := newClaim(shape, "c")
		reserved(ctx, m.manager, claim)
		half := claim
		half.Ref = book.ClaimOf(p.PoolReference(), "one")
		record := rivalFor(half, ns, prefix("10.0.0.0/24"))
		record.Spec.Purpose = ipamv1.HandBackPurpose
		Expect(k.Create(ctx, record)).To(Succeed())
		takesBack(ctx, p)
		m.reaches(ctx, p, ipamv1.PoolReadyClosingReason)
		Expect(p.Status.Released).To(BeNil())
		release(ctx, m.manager, claim)
		m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
		Expect(p.Status.Released).To(Equal(&ipamv1.ReleasedTemplate{TemplateUID: "one"}))
		Expect(templates(ctx, ns)).To(ConsistOf("one"))
	}, SpecTimeout(5*time.Minute))

	It("hands nothing back while what is stored may have no record", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "one")
		m.recordStored = func(context.Context, ipamv1.PoolReference) error { return errors.New("an IPAddress has none") }
		Expect(k.Create(ctx, p)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		takesBack(ctx, p)
		m.reaches(ctx, p, ipamv1.PoolReadyClosingReason)
		Expect(conditions.GetMessage(p, ipamv1.ReadyCondition)).To(ContainSubstring("has no IPAllocation yet"))
		Expect(templates(ctx, ns)).To(BeEmpty())
		m.recordStored = func(context.Context, ipamv1.PoolReference) error { return nil }
		m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
	}, SpecTimeout(5*time.Minute))

	DescribeTable("hands nothing back while something is stored without a record that its cache does not show yet",
		func(ctx SpecContext, store func(ns string) client.Object, why string) {
			ns := newNamespace(ctx)
			m, p := newCopies(ctx, ns, behind{k}), copied(ns, "one")
			m.recordsWhatIsStored(behind{k})
			Expect(k.Create(ctx, p)).To(Succeed())
			m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
			Expect(k.Create(ctx, store(ns))).To(Succeed())
			takesBack(ctx, p)
			m.reaches(ctx, p, ipamv1.PoolReadyClosingReason)
			Eventually(func() string {
				m.reaches(ctx, p, ipamv1.PoolReadyClosingReason)
				return conditions.GetMessage(p, ipamv1.ReadyCondition)
			}, "1m", "20ms").Should(ContainSubstring(why))
			Expect(templates(ctx, ns)).To(BeEmpty())
		},
		Entry("an IPAddress, which is recorded", SpecTimeout(5*time.Minute), func(ns string) client.Object {
			return &ipamv1beta2.IPAddress{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: ns, Name: "a", Finalizers: []string{ipamv1.AddressFinalizer}, Annotations: map[string]string{ipamv1.ArrivedAnnotation: "true"},
				},
				Spec: ipamv1beta2.IPAddressSpec{
					ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, Address: "10.0.0.7", Prefix: ptr.To[int32](24),
					PoolRef: ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "team"},
				},
			}
		}, "1 allocation is still in use"),
		Entry("an IPClaim", SpecTimeout(5*time.Minute), func(ns string) client.Object {
			return builder.IPClaim(ns, "a").From(ipamv1.IPPoolKind, "team").WithCIDR("10.0.0.7/32").Build()
		}, "/a is not recorded yet"),
		Entry("a carved pool", SpecTimeout(5*time.Minute), func(ns string) client.Object {
			return builder.IPPool(ns, "child").WithCIDR("10.0.0.64/26").WithParent(ipamv1.IPPoolKind, "", "team").Build()
		}, "is carved from the pool"),
		Entry("a carved pool of another namespace, which is not named", SpecTimeout(5*time.Minute), func(ns string) client.Object {
			return builder.IPPool("default", ns).WithCIDR("10.0.0.64/26").WithParent(ipamv1.IPPoolKind, ns, "team").Build()
		}, "if it stays so, delete that (the manager's log names it)"),
	)

	It("goes when it is deleted, closed and without a block, for it has nothing to hand back", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "two")
		m.recordsWhatIsStored(k)
		Expect(k.Create(ctx, handBackOf(ns, "team", "one"))).To(Succeed())
		p.Spec.Mode = ipamv1.ClosingMode
		Expect(k.Create(ctx, p)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
		Expect(conditions.GetMessage(p, ipamv1.ReadyCondition)).To(ContainSubstring("the copy does not serve"))
		Expect(k.Delete(ctx, p)).To(Succeed())
		m.goes(ctx, p)
		Expect(templates(ctx, ns)).To(ConsistOf("one"))
	}, SpecTimeout(5*time.Minute))

	It("goes when it is deleted, closed, while its gate is closed", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "one")
		m.recordsWhatIsStored(k)
		Expect(k.Create(ctx, p)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		m.registry.Federation = false
		takesBack(ctx, p)
		m.reaches(ctx, p, ipamv1.PoolReadyInvalidSpecReason)
		Expect(k.Delete(ctx, p)).To(Succeed())
		m.goes(ctx, p)
		Expect(templates(ctx, ns)).To(ConsistOf("one"))
	}, SpecTimeout(5*time.Minute))

	It("ends what a pool of another name has handed back of its block, and says so where it may not", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "two")
		Expect(k.Create(ctx, p)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		Expect(k.Create(ctx, handBackOf(ns, "former", "one"))).To(Succeed()) // from a backup, or by a manager that is late
		Eventually(func() []string {
			m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
			return templates(ctx, ns)
		}, "1m", "20ms").Should(BeEmpty())
		reserved(ctx, m.manager, newClaim(book.Pool{Ref: p.PoolReference(), Shape: newPool(ns, "team", "10.0.0.0/24").Shape}, "c"))
		suite.Change(ctx, k, p, func() { delete(p.Annotations, ipamv1.TemplateAnnotation) })
		again := handBackOf(ns, "former", "one")
		again.Name += "-again" // the first one has ended
		Expect(k.Create(ctx, again)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
		Expect(conditions.GetMessage(p, ipamv1.ReadyCondition)).To(ContainSubstring("does not name the pool at the hub"))
		Expect(templates(ctx, ns)).To(ConsistOf("one"))
	}, SpecTimeout(5*time.Minute))

	It("hands nothing back by an order that a later template has overtaken, and ends nothing by a later template that has closed", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "one")
		Expect(k.Create(ctx, p)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		old := p.DeepCopy()
		old.Spec.Mode = ipamv1.ClosingMode
		suite.Change(ctx, k, p, func() { p.Annotations[ipamv1.TemplateAnnotation] = "two" })
		late := newCopies(ctx, ns, stale{k, old})
		_, _ = late.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		Expect(templates(ctx, ns)).To(BeEmpty())

		By("going on from there")
		takesBack(ctx, p)
		m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
		serving := p.DeepCopy()
		serving.Spec.Mode, serving.Annotations[ipamv1.TemplateAnnotation] = ipamv1.ServingMode, "three"
		late = newCopies(ctx, ns, stale{k, serving})
		_, _ = late.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		Expect(templates(ctx, ns)).To(ConsistOf("two"))
		applies(ctx, p, "three")
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		Expect(p.Status.Released).To(BeNil())
		Expect(templates(ctx, ns)).To(BeEmpty())
		reserved(ctx, m.manager, newClaim(book.Pool{Ref: p.PoolReference(), Shape: newPool(ns, "team", "10.0.0.0/24").Shape}, "c"))
	}, SpecTimeout(5*time.Minute))

	It("is never served again by a template that has handed it back, whatever template came after", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "one")
		Expect(k.Create(ctx, p)).To(Succeed())
		for _, template := range []string{"one", "two", "three"} {
			applies(ctx, p, template)
			m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
			takesBack(ctx, p)
			m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
			Expect(templates(ctx, ns)).To(ConsistOf(template))
		}
		for _, former := range []string{"one", "two"} {
			applies(ctx, p, former)
			for range 3 {
				m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
				Expect(conditions.GetMessage(p, ipamv1.ReadyCondition)).To(ContainSubstring("an earlier pool at the hub (UID " + former + ")"))
				Expect(templates(ctx, ns)).To(ConsistOf("three"))
			}
			Expect(k.Delete(ctx, p)).To(Succeed())
			m.goes(ctx, p)
			p = copied(ns, former)
			Expect(k.Create(ctx, p)).To(Succeed())
			m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
			Expect(templates(ctx, ns)).To(ConsistOf("three"))
		}
	}, SpecTimeout(5*time.Minute))

	It("is not served by an earlier template while a cache shows a later one", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		m, p := newCopies(ctx, ns, k), copied(ns, "one")
		Expect(k.Create(ctx, p)).To(Succeed())
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		takesBack(ctx, p)
		m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
		applies(ctx, p, "two")
		m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
		late := newCopies(ctx, ns, stale{k, p.DeepCopy()})
		takesBack(ctx, p)
		m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
		applies(ctx, p, "one")
		Eventually(func() []book.Holding { return late.Ledger.Of(p.PoolReference()).HandedBack() }, "1m", "20ms").Should(HaveLen(2))
		_, _ = late.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		Expect(templates(ctx, ns)).To(ConsistOf("two"))
	}, SpecTimeout(5*time.Minute))

	It("is made anew with a part of the block, by a manager that dies at any write, and served, the rest staying handed back", func(ctx SpecContext) {
		points := 0
		for n, reached := 1, true; reached; n++ {
			ns := newNamespace(ctx)
			m, p := newCopies(ctx, ns, k), copied(ns, "one")
			Expect(k.Create(ctx, p)).To(Succeed())
			m.reaches(ctx, p, ipamv1.PoolReadyAvailableReason)
			takesBack(ctx, p)
			m.reaches(ctx, p, ipamv1.PoolReadyHandedBackReason)
			Expect(k.Delete(ctx, p)).To(Succeed())
			m.goes(ctx, p)
			m.stop()
			part := copied(ns, "two")
			part.Spec.CIDR = "10.0.0.0/25"
			Expect(k.Create(ctx, part)).To(Succeed())

			mortal := newCopies(ctx, ns, k)
			mortal.failAt(n, replyLost)
			Eventually(func() bool {
				_, _ = mortal.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(part)})
				Expect(k.Get(ctx, client.ObjectKeyFromObject(part), part)).To(Succeed())
				reached = mortal.begun() >= n
				return reached || conditions.IsTrue(part, ipamv1.ReadyCondition)
			}, "1m", "10ms").Should(BeTrue())
			mortal.stop()
			newCopies(ctx, ns, k).reaches(ctx, part, ipamv1.PoolReadyAvailableReason)
			Expect(stored(ctx, ns)).To(ConsistOf(
				HaveField("Spec", And(HaveField("Purpose", ipamv1.HandBackPurpose), HaveField("CIDR", "10.0.0.128/25"), HaveField("ClaimRef.UID", "one"))),
				HaveField("Spec", And(HaveField("State", ipamv1.EndedState), HaveField("CIDR", "10.0.0.0/24"), HaveField("ClaimRef.UID", "one"))),
				HaveField("Spec", And(HaveField("Purpose", ipamv1.PoolBlockPurpose), HaveField("CIDR", "10.0.0.0/25"), HaveField("ClaimRef.UID", string(part.UID)))),
			))
			points++
		}
		Expect(points).To(BeNumerically(">=", 5))
		framework.Account(fmt.Sprintf("a block that was handed back: a ledger died at %d points", points-1))
	}, SpecTimeout(5*time.Minute))

	It("is looked at by two managers at once, and serves or hands back as one", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		p, managers := copied(ns, "one"), [...]*copies{newCopies(ctx, ns, k), newCopies(ctx, ns, k)}
		Expect(k.Create(ctx, p)).To(Succeed())
		both := func(reason string) {
			GinkgoHelper()
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer GinkgoRecover()
				managers[1].reaches(ctx, p.DeepCopy(), reason)
			}()
			managers[0].reaches(ctx, p, reason)
			Eventually(done, "1m").Should(BeClosed())
		}
		both(ipamv1.PoolReadyAvailableReason)
		takesBack(ctx, p)
		both(ipamv1.PoolReadyHandedBackReason)
		Expect(templates(ctx, ns)).To(ContainElement("one"))
		applies(ctx, p, "two")
		both(ipamv1.PoolReadyAvailableReason)
		Expect(templates(ctx, ns)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// The specs of this file are named after the hazards of docs/design/ledger.md, move.md and restore.md.

// withGets returns a client of which somebody looks at what is read of IPClaims.
func withGets(look func(claim *ipamv1.IPClaim)) client.WithWatch {
	return interceptor.NewClient(site.Client(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			if claim, ok := obj.(*ipamv1.IPClaim); ok && err == nil {
				look(claim)
			}
			return err
		},
	})
}

// unpause makes of a claim what a manager saw before somebody paused it.
func unpause(claim *ipamv1.IPClaim) { claim.Annotations = nil }

// lateClaims is the IPClaims' controller of a second manager, whose cache does not show that a claim is paused. The one of the suite
// leaves such a claim alone. Live reads are as they are given.
func lateClaims(book *ledger.Ledger, live client.Reader) *ipclaim.Reconciler {
	rules := &tenancy.Rules{Client: k, Live: k, Platform: "platform", Namespace: "weir-system"}
	registry := &pools.Registry{Client: k, Live: k, Ledger: book, Rules: rules, Namespace: "weir-system"}
	return &ipclaim.Reconciler{
		Client: withGets(unpause), Live: live, Ledger: book, Entitled: &entitlement.IPClaims{Client: k, Registry: registry},
		Recorder: events.NewFakeRecorder(100),
	}
}

// heldBack is a client whose watch shows nothing before open is called.
func heldBack(open <-chan struct{}, onProof func()) client.WithWatch {
	return interceptor.NewClient(site.Client(), interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			w, err := c.Watch(ctx, list, opts...)
			if err != nil {
				return nil, err
			}
			return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
				<-open
				return event, true
			}), nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			onProof()
			return c.Patch(ctx, obj, patch, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			onProof()
			return c.List(ctx, list, opts...)
		},
	})
}

var _ = Describe("A manager whose cache is old", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
	})

	// paused stores a claim whose prefix is to be retained, and that the suite's manager leaves alone.
	paused := func(ctx context.Context) *ipamv1.IPClaim {
		GinkgoHelper()
		claim := newClaim(ns, "c", "root")
		claim.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
		claim.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		return create(ctx, claim)
	}
	attempt := func(ctx context.Context, late *ipclaim.Reconciler) {
		GinkgoHelper()
		_, err := late.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "c"}})
		Expect(err).NotTo(HaveOccurred())
	}
	goes := func(ctx context.Context, claim client.Object) {
		GinkgoHelper()
		Expect(client.IgnoreNotFound(k.Delete(ctx, claim))).To(Succeed())
		gone(ctx, claim)
	}

	It("does not release the prefix of a claim that it does not see paused", func(ctx SpecContext) {
		claim := paused(ctx)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		attempt(ctx, lateClaims(startLedger(ctx), k))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.Finalizers).To(ConsistOf(ipamv1.ClaimFinalizer))
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		Expect(list.Items).To(ContainElement(And(
			HaveField("Spec.ClaimRef.UID", string(claim.UID)), HaveField("Spec.ReleasedAt", Equal(metav1.Time{})))))
	})

	DescribeTable("does not take what is retained for the next claim of the name on behalf of one that it has read and that is gone",
		func(ctx SpecContext, isDeleted bool) {
			claim := paused(ctx)
			create(ctx, &ipamv1.IPAllocation{ // so that there is something to give up at all
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "before", Finalizers: []string{ipamv1.AllocationFinalizer}},
				Spec: ipamv1.IPAllocationSpec{
					PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "root"},
					AddressSpace: ns, CIDR: "10.0.0.9/32", Purpose: ipamv1.ClaimPurpose, ReleasedAt: metav1.Now(),
					ClaimRef: ipamv1.ClaimReference{
						APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: ns, Name: "c", UID: "before",
					},
					Manager: ipamv1.AllocationManager{Instance: "a dead manager"}, State: ipamv1.RetainedState,
				},
			})
			if isDeleted {
				Expect(k.Delete(ctx, claim)).To(Succeed())
			}
			book := startLedger(ctx)
			var next *ipamv1.IPClaim
			var once sync.Once
			late := lateClaims(book, withGets(func(seen *ipamv1.IPClaim) {
				unpause(seen)
				once.Do(func() { // it hangs: the claim goes, and so does the next of its name
					patch(ctx, claim, `{"metadata":{"annotations":null}}`)
					goes(ctx, claim)
					next = newClaim(ns, "c", "root")
					next.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
					create(ctx, next)
					Expect(next.Spec.CIDR).To(Equal(claim.Spec.CIDR))
					becomes(ctx, next, ipamv1.ReadyCondition)
					goes(ctx, next)
					Eventually(func() []ledger.Holding {
						return book.About(ledger.ClaimOf(ipamv1.PoolReference{Kind: ipamv1.IPClaimKind, Namespace: ns, Name: "c"}, "")).Retained()
					},
						"1m", "5ms").Should(ConsistOf(HaveField("Claim.UID", string(next.UID))))
				})
			}))
			attempt(ctx, late)
			Expect(next).NotTo(BeNil(), "it has read the claim")
			Expect(records(ctx, ns)).To(Equal([]string{"c " + next.Spec.CIDR}))
			Expect(create(ctx, newClaim(ns, "c", "root")).Spec.CIDR).To(Equal(next.Spec.CIDR))
		},
		Entry("while it binds that", false),
		Entry("while it releases that", true),
	)

	It("looks again at a claim whose pool it does not find, until it sees that the claim waits; then the pool wakes it", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "c", "root"))
		becomes(ctx, claim, ipamv1.ReadyCondition)
		patch(ctx, claim, `{"metadata":{"annotations":{"`+clusterv1.PausedAnnotation+`":""}}}`)
		becomes(ctx, claim, clusterv1.PausedCondition)
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns), client.MatchingFields{"spec.claimRef.name": "c"})).To(Succeed())
		Expect(list.Items).To(HaveLen(1)) // somebody removes it by hand, and the pool
		Expect(k.Delete(ctx, &list.Items[0])).To(Succeed())
		patch(ctx, &list.Items[0], `{"metadata":{"finalizers":null}}`)
		goes(ctx, &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "root"}})
		late := lateClaims(startLedger(ctx), k)
		again := func() time.Duration {
			result, err := late.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(claim)})
			Expect(err).NotTo(HaveOccurred())
			return result.RequeueAfter
		}
		Expect(again()).To(BeNumerically(">", 0), "a pool that comes now wakes those that the cache shows to wait")
		Expect(again()).To(BeZero(), "the pool wakes it")
		patch(ctx, claim, `{"metadata":{"annotations":null}}`)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.IsFalse(claim, clusterv1.PausedCondition)).To(BeTrue())
		}, "1m", "100ms").Should(Succeed())
		Expect(conditions.IsFalse(claim, ipamv1.ReadyCondition)).To(BeTrue())
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		becomes(ctx, claim, ipamv1.ReadyCondition)
		Expect(records(ctx, ns)).To(Equal([]string{"c " + claim.Spec.CIDR}))
	})

	It("does not let a claim go whose record it does not know, which is to be retained", func(ctx SpecContext) {
		open := make(chan struct{})
		proved := sync.OnceFunc(func() { close(open) })
		book := startLedgerWith(ctx, heldBack(open, proved))
		DeferCleanup(proved)
		claim := paused(ctx)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		late := lateClaims(book, withGets(unpause))
		Eventually(func() error {
			attempt(ctx, late)
			return k.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		}, "1m", "100ms").ShouldNot(Succeed())
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		Expect(list.Items).To(ContainElement(And(
			HaveField("Spec.ClaimRef.UID", string(claim.UID)), HaveField("Spec.State", ipamv1.RetainedState))))
	})
})

var _ = Describe("A prefix that is retained", func() {
	It("is not given up like what has cooled down", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		root := newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns})
		serving(ctx, root)
		claim := newClaim(ns, "c", "root")
		claim.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
		create(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
		book := startLedger(ctx)
		registry := &pools.Registry{Client: k, Live: k, Ledger: book, Namespace: "weir-system"}
		late := pool.NewReconciler(pool.Options{
			Client: k, Live: k, Registry: registry, Ledger: book, Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{}, Kind: pools.IPPools,
		})
		_, err := late.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(root)})
		Expect(err).NotTo(HaveOccurred())
		Expect(records(ctx, ns)).To(Equal([]string{"c " + claim.Spec.CIDR}))
		create(ctx, newClaim(ns, "other", "root"))
		Expect(create(ctx, newClaim(ns, "c", "root")).Spec.CIDR).To(Equal(claim.Spec.CIDR))
	})
})

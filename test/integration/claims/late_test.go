// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/repair"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/weir"
)

// late reads from the API server, but the first so many reads of a claim show it as it once was: not there, if it had no UID yet.
type late struct {
	client.Client
	claim *ipamv1beta2.IPAddressClaim
	reads int
	// made is how many objects it has created.
	made int
}

func (l *late) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	l.made++
	return l.Client.Create(ctx, obj, opts...)
}

func (l *late) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c, ok := obj.(*ipamv1beta2.IPAddressClaim)
	if !ok || l.reads == 0 || key != client.ObjectKeyFromObject(l.claim) {
		return l.Client.Get(ctx, key, obj, opts...)
	}
	l.reads--
	if l.claim.UID == "" {
		return apierrors.NewNotFound(ipamv1beta2.GroupVersion.WithResource("ipaddressclaims").GroupResource(), key.Name)
	}
	l.claim.DeepCopyInto(c)
	return nil
}

// List knows no index: it returns all of the claim's namespace.
func (l *late) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	return l.Client.List(ctx, list, client.InNamespace(l.claim.Namespace))
}

// lateReconciler is the controller of a late manager, with what it reads and writes by.
type lateReconciler struct {
	*claim.Reconciler

	cache, live *late
	ledger      *ledger.Ledger
	rules       *tenancy.Rules
	clock       *clocktesting.FakePassiveClock
}

// lateManager is a second manager, which works on one claim as it once was: its cache shows that, and so do its first live reads. The
// one of the suite leaves the claim alone, for that is paused.
func lateManager(ctx context.Context, was *ipamv1beta2.IPAddressClaim, liveReads int) (*lateReconciler, *clocktesting.FakePassiveClock) {
	GinkgoHelper()
	return lateManagerThat(ctx, was, liveReads, interceptor.Funcs{})
}

// lateManagerThat is one to whose writes of records something is done.
func lateManagerThat(
	ctx context.Context, was *ipamv1beta2.IPAddressClaim, liveReads int, writes interceptor.Funcs,
) (*lateReconciler, *clocktesting.FakePassiveClock) {
	GinkgoHelper()
	lists, err := ledger.ListClient(site.Config())
	Expect(err).NotTo(HaveOccurred())
	direct, err := site.ClientFor(site.Config())
	Expect(err).NotTo(HaveOccurred())
	direct = interceptor.NewClient(direct, writes)
	clock := clocktesting.NewFakePassiveClock(time.Now())
	book := ledger.New(ledger.Options{Client: direct, REST: lists, Instance: "late " + was.Namespace, Clock: clock})
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(stop)
	go func() {
		defer GinkgoRecover()
		Expect(book.Start(run)).To(Succeed())
	}()
	Expect(book.WaitForSync(ctx)).To(Succeed())
	cache, live := &late{Client: k, claim: was, reads: 1000}, &late{Client: k, claim: was, reads: liveReads}
	rules := &tenancy.Rules{Client: k, Live: k, Platform: "platform", Namespace: "weir-system"}
	registry := &pools.Registry{Client: k, Live: k, Ledger: book, Rules: rules, Namespace: "weir-system"}
	r := claim.New(claim.Options{
		Client: cache, Live: live, Ledger: book, Form: clusterapi.Form{}, Source: weir.Source(registry), Rules: rules,
		Recorder: events.NewFakeRecorder(100), Arrivals: claim.NewArrivals(clock, 10*time.Minute), Clock: clock,
	})
	return &lateReconciler{Reconciler: r, cache: cache, live: live, ledger: book, rules: rules, clock: clock}, clock
}

// reconciled has the claim worked on until that comes to an end, letting time pass.
func reconciled(ctx context.Context, r *lateReconciler, clock *clocktesting.FakePassiveClock, claim client.Object) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		clock.SetTime(clock.Now().Add(time.Minute))
		result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(claim)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RequeueAfter).To(Or(BeZero(), BeNumerically(">", 10*time.Second)), "not what is tried again soon")
	}, "1m", "100ms").Should(Succeed())
}

func claimOwner(claim *ipamv1beta2.IPAddressClaim) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: claim.Name, UID: claim.UID, Controller: ptr.To(true),
	}
}

// record is of an address for a claim of this UID, made by a manager that has died since.
func record(ns, name string, uid types.UID, purpose ledger.Purpose) *ipamv1.IPAllocation {
	r := &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: []string{ipamv1.AllocationFinalizer}},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "p"}, AddressSpace: ns,
			CIDR: "10.1.0.7/32", Manager: ipamv1.AllocationManager{Instance: "a dead manager"},
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: ipamv1beta2.GroupVersion.Group, Kind: "IPAddressClaim", Namespace: ns, Name: "a", UID: string(uid),
			},
		},
	}
	purpose.Write(&r.Spec)
	return r
}

var _ = Describe("A manager that is late", func() {
	var ns string

	// paused stores a claim that the suite's manager leaves alone, and returns it as a manager sees it that knows of no pause.
	paused := func(ctx context.Context) (stored, seen *ipamv1beta2.IPAddressClaim) {
		stored = newClaim(ns, "a", "IPPool", "p")
		stored.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		stored.Finalizers = []string{ipamv1.ClaimFinalizer}
		create(ctx, stored)
		saysPaused(ctx, stored) // the last that the suite's manager writes
		seen = stored.DeepCopy()
		seen.Annotations, seen.Status = nil, ipamv1beta2.IPAddressClaimStatus{}
		return stored, seen
	}
	arrived := func(owners ...metav1.OwnerReference) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a", Finalizers: []string{ipamv1.AddressFinalizer}, OwnerReferences: owners},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, PoolRef: newClaim(ns, "a", "IPPool", "p").Spec.PoolRef,
				Address: "10.1.0.7", Prefix: ptr.To[int32](24),
			},
		}
	}
	vanish := func(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
		GinkgoHelper()
		change(ctx, claim, func() { claim.Finalizers = nil })
		Expect(k.Delete(ctx, claim)).To(Succeed())
	}

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
	})

	It("does not give the answer that a claim came with to one before it, which is gone", func(ctx SpecContext) {
		first, seen := paused(ctx)
		manager, clock := lateManager(ctx, seen, 0)
		vanish(ctx, first)
		paused(ctx)
		answer := create(ctx, arrived())
		reconciled(ctx, manager, clock, first)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(answer), answer)).To(Succeed())
		Expect(answer.OwnerReferences).To(BeEmpty())
	})

	It("does not remove the answer that a claim came with when it releases one before it, which is gone", func(ctx SpecContext) {
		first, _ := paused(ctx)
		Expect(k.Delete(ctx, first)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(first), first)).To(Succeed())
		seen := first.DeepCopy()
		seen.Annotations, seen.Status = nil, ipamv1beta2.IPAddressClaimStatus{}
		manager, clock := lateManager(ctx, seen, 1) // it reads that the claim is being deleted, and hangs
		change(ctx, first, func() { first.Finalizers = nil })
		paused(ctx)
		answer := create(ctx, arrived())
		reconciled(ctx, manager, clock, first)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(answer), answer)).To(Succeed())
		Expect(answer.DeletionTimestamp).To(BeNil())
	})

	It("does not answer a claim that has gone while it hung", func(ctx SpecContext) {
		stored, seen := paused(ctx)
		recorded := 0
		var hang func()
		manager, clock := lateManagerThat(ctx, seen, 0, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				err := c.Create(ctx, obj, opts...)
				if uid := obj.(*ipamv1.IPAllocation).Spec.ClaimRef.UID; uid == string(stored.UID) {
					recorded++
					vanish(ctx, stored)
					hang()
				}
				return err
			},
		})
		hang = func() { clock.SetTime(clock.Now().Add(5 * time.Second)) }
		reconciled(ctx, manager, clock, seen)
		Expect(recorded).To(Equal(1))
		Expect(apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(seen), &ipamv1beta2.IPAddress{}))).To(BeTrue())
	})

	It("does not complain of a namespace that is being deleted", func(ctx SpecContext) {
		_, seen := paused(ctx)
		refused := 0
		manager, _ := lateManagerThat(ctx, seen, 0, interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, _ client.Object, _ ...client.CreateOption) error {
				refused++
				err := apierrors.NewForbidden(ipamv1.GroupVersion.WithResource("ipallocations").GroupResource(), "a", errors.New("the namespace is being terminated"))
				err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
				return err
			},
		})
		Eventually(func(g Gomega) {
			_, err := manager.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(seen)})
			Expect(err).NotTo(HaveOccurred())
			g.Expect(refused).To(BeNumerically(">", 0))
		}, "1m", "100ms").Should(Succeed())
	})

	It("does not answer a claim that has long been gone, and that its cache still shows", func(ctx SpecContext) {
		stored, seen := paused(ctx)
		manager, clock := lateManager(ctx, seen, 0)
		vanish(ctx, stored)
		reconciled(ctx, manager, clock, seen)
		Expect(manager.cache.made).To(BeZero(), "no IPAddress is made")
	})

	It("makes an arrived claim one like any other before it answers that afresh, also after a pause", func(ctx SpecContext) {
		cluster := create(ctx, newCluster(ns, true))
		stored := newClaim(ns, "a", "IPPool", "p")
		stored.Annotations = map[string]string{clusterv1.PausedAnnotation: "", ipamv1.ArrivedAnnotation: "true"}
		stored.Finalizers, stored.Spec.ClusterName = []string{ipamv1.ClaimFinalizer}, "c"
		create(ctx, stored)
		seen := &ipamv1beta2.IPAddressClaim{}
		see := func(why string) { // what the claim is once the suite's manager has written its last
			Eventually(func() string { return saysPaused(ctx, stored) }, "1m", "100ms").Should(HavePrefix(why))
			stored.DeepCopyInto(seen)
			delete(seen.Annotations, clusterv1.PausedAnnotation)
		}
		see("Cluster")
		marked := 0
		manager, clock := lateManagerThat(ctx, seen, 0, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				now := &ipamv1beta2.IPAddressClaim{}
				Expect(k.Get(ctx, client.ObjectKeyFromObject(stored), now)).To(Succeed())
				if _, isMarked := now.Annotations[ipamv1.ArrivedAnnotation]; isMarked {
					marked++
				}
				return c.Create(ctx, obj, opts...)
			},
		})
		reconciled(ctx, manager, clock, stored) // while the Cluster is paused
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		see("the IPAddressClaim")
		Eventually(func(g Gomega) { // its cache never shows what it does
			_, err := manager.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stored)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
			g.Expect(stored.Status.AddressRef.Name).NotTo(BeEmpty())
		}, "1m", "100ms").Should(Succeed())
		Expect(marked).To(BeZero(), "what is recorded for a marked claim counts as what it came with")
	})

	It("looks again at an answered claim whose pool it does not find, until its cache shows that the claim waits", func(ctx SpecContext) {
		stored := newClaim(ns, "a", "IPPool", "absent")
		stored.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		stored.Finalizers = []string{ipamv1.ClaimFinalizer}
		create(ctx, stored)
		saysPaused(ctx, stored)
		seen := stored.DeepCopy()
		seen.Annotations = nil
		seen.Status = ipamv1beta2.IPAddressClaimStatus{AddressRef: ipamv1beta2.IPAddressReference{Name: "a"}, Conditions: []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: ipamv1.ClaimReadyAllocatedReason, LastTransitionTime: metav1.Now(),
		}}}
		manager, clock := lateManager(ctx, seen, 0)
		clock.SetTime(clock.Now().Add(time.Minute)) // events of young claims have it looked at again, too
		again := func() time.Duration {
			result, err := manager.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(stored)})
			Expect(err).NotTo(HaveOccurred())
			return result.RequeueAfter
		}
		Expect(again()).To(BeNumerically(">", 0), "a pool that comes now wakes those that the cache shows to wait")
		Expect(k.Get(ctx, client.ObjectKeyFromObject(stored), seen)).To(Succeed())
		Expect(conditions.GetReason(seen, "Ready")).To(Equal(ipamv1.ClaimReadyPoolNotReadyReason))
		seen.Annotations = nil
		Expect(again()).To(BeZero(), "the pool wakes it")
	})

	It("leaves no record of a claim that was before it in the way of one that has the same address", func(ctx SpecContext) {
		stored, seen := paused(ctx)
		create(ctx, arrived(claimOwner(stored)))
		own := create(ctx, record(ns, "own", stored.UID, ledger.ForClaim))
		create(ctx, record(ns, "junk", "11111111-2222-3333-4444-555555555555", ledger.ForAdopted))
		manager, clock := lateManager(ctx, seen, 0)
		reconciled(ctx, manager, clock, stored)
		answered(ctx, stored)
		Expect(records(ctx, ns)).To(ConsistOf(HaveField("Name", own.Name)))
	})

	It("does not take a record that has lost for that of the answer which a claim came with", func(ctx SpecContext) {
		answered(ctx, create(ctx, newClaim(ns, "other", "IPPool", "p")))
		stored, seen := paused(ctx)
		create(ctx, arrived(claimOwner(stored)))
		lost := create(ctx, record(ns, "lost", stored.UID, ledger.ForAdopted))
		manager, clock := lateManager(ctx, seen, 0)
		reconciled(ctx, manager, clock, stored)
		ready(ctx, stored, metav1.ConditionFalse, "AddressConflict")
		Expect(k.Get(ctx, client.ObjectKeyFromObject(lost), lost)).To(Succeed(), "it keeps the address when the other lets go of it")
	})
})

var _ = Describe("A claim with a second record of its address, which a manager left that died", func() {
	It("keeps its address, says nothing else, and loses the record", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, claim)
		first := records(ctx, ns)[0]
		second := &ipamv1.IPAllocation{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: first.Name + "-second", OwnerReferences: first.OwnerReferences, Finalizers: first.Finalizers,
			},
			Spec: *first.Spec.DeepCopy(),
		}
		Expect(k.Create(ctx, second, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
		dropped := second.DeepCopy() // it died between the two writes of a drop
		dropped.Finalizers, dropped.Spec.Manager.CreatedRevision = nil, second.ResourceVersion
		Expect(k.Patch(ctx, dropped, client.MergeFrom(second), client.FieldOwner(ipamv1.FieldManager))).To(Succeed())

		manager, clock := lateManager(ctx, claim.DeepCopy(), 0)
		concerned := manager.ledger.Notices().Concerned(ctx)
		sweep := repair.Repairer{
			Ledger: manager.ledger, Namespace: ns, Kind: repair.Kind{GroupKind: kinds.IPAddressClaim, Living: manager.Living, Settle: manager.Settle},
		}
		Expect(sweep.Sweep(ctx)).To(Succeed())
		Eventually(concerned, "1m").Should(Receive(HaveField("Name", claim.Name)), "who lives and has two is looked at again")
		reconciled(ctx, manager, clock, claim)
		gone(ctx, second)
		answered(ctx, claim)
		Expect(records(ctx, ns)).To(ConsistOf(HaveField("Name", first.Name)))
	})
})

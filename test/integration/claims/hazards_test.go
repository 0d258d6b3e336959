// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// The specs of this file are named after the hazards of docs/design/ledger.md, move.md and restore.md.

// looked has a late manager work on the claim a few times. It comes to no end: what it writes fails.
func looked(ctx context.Context, r *lateReconciler, claim client.Object) {
	GinkgoHelper()
	for range 3 {
		_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(claim)})
		Expect(err).NotTo(HaveOccurred())
	}
}

// onWrites has something done to what a late manager writes beside its records.
func onWrites(r *lateReconciler, writes interceptor.Funcs) {
	r.cache.Client = interceptor.NewClient(site.Client(), writes)
}

// onLiveReads has something done to what it reads live.
func onLiveReads(r *lateReconciler, reads interceptor.Funcs) {
	r.live.Client = interceptor.NewClient(site.Client(), reads)
}

// lives stores a claim that the suite's manager leaves alone.
func lives(ctx context.Context, ns, name string) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	c := newClaim(ns, name, "IPPool", "p")
	c.Annotations, c.Finalizers = map[string]string{clusterv1.PausedAnnotation: ""}, []string{ipamv1.ClaimFinalizer}
	create(ctx, c)
	saysPaused(ctx, c) // the last that the suite's manager writes
	return c
}

// unpaused is the claim as a manager sees it that knows of no pause.
func unpaused(c *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddressClaim {
	seen := c.DeepCopy()
	seen.Annotations = nil
	conditions.Delete(seen, clusterv1.PausedCondition)
	return seen
}

// unpausing reads claims as if they were not paused.
type unpausing struct{ client.Client }

func (u unpausing) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := u.Client.Get(ctx, key, obj, opts...)
	if c, ok := obj.(*ipamv1beta2.IPAddressClaim); ok {
		delete(c.Annotations, clusterv1.PausedAnnotation)
	}
	return err
}

// dies removes a claim past Weir.
func dies(ctx context.Context, c *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	change(ctx, c, func() { c.Finalizers = nil })
	Expect(k.Delete(ctx, c)).To(Succeed())
}

// answerOf is an IPAddress that answers the claim with the pool's only address.
func answerOf(c *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddress {
	return &ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name, Finalizers: []string{ipamv1.AddressFinalizer},
			OwnerReferences: []metav1.OwnerReference{claimOwner(c)},
		},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: c.Name}, PoolRef: c.Spec.PoolRef,
			Address: "10.1.0.7", Prefix: ptr.To[int32](24),
		},
	}
}

// recordOf is a record that a manager of Weir's has made for the claim.
func recordOf(ctx context.Context, name string, c *ipamv1beta2.IPAddressClaim, purpose ledger.Purpose) *ipamv1.IPAllocation {
	GinkgoHelper()
	r := record(c.Namespace, name, c.UID, purpose)
	r.Spec.ClaimRef.Name = c.Name
	r.OwnerReferences = []metav1.OwnerReference{claimOwner(c), {
		APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPPoolKind, Name: "p", UID: poolOf(ctx, c.Namespace).UID,
	}}
	Expect(k.Create(ctx, r, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
	return r
}

// untouched matches the very record, of which nobody has let go.
func untouched(r *ipamv1.IPAllocation) gomegatypes.GomegaMatcher {
	return And(HaveField("UID", r.UID), HaveField("DeletionTimestamp", BeNil()), HaveField("Spec.ReleasedAt", metav1.Time{}))
}

func poolOf(ctx context.Context, ns string) *ipamv1.IPPool {
	GinkgoHelper()
	p := &ipamv1.IPPool{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: ns, Name: "p"}, p)).To(Succeed())
	return p
}

// latePool is the pools' controller of a late manager.
func latePool(r *lateReconciler, c client.Client) *pool.Reconciler {
	registry := &pools.Registry{Client: k, Live: k, Ledger: r.ledger, Rules: r.rules, Namespace: "weir-system"}
	return pool.NewReconciler(pool.Options{
		Client: c, Live: k, Registry: registry, Ledger: r.ledger, Recorder: events.NewFakeRecorder(100), Clock: r.clock, Kind: pools.IPPools,
	})
}

var _ = Describe("A manager whose cache is old", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
	})

	// stays expects that the living claim's answer and record are as they were.
	stays := func(ctx context.Context, answer *ipamv1beta2.IPAddress, held *ipamv1.IPAllocation) {
		GinkgoHelper()
		now := answer.DeepCopy()
		Expect(k.Get(ctx, client.ObjectKeyFromObject(answer), now)).To(Succeed())
		Expect(now.UID).To(Equal(answer.UID))
		Expect(now.DeletionTimestamp).To(BeNil())
		Expect(now.OwnerReferences).To(Equal(answer.OwnerReferences))
		Expect(records(ctx, ns)).To(ConsistOf(untouched(held)))
	}

	It("neither takes nor removes the answer of the claim that lives, for the namesake that it sees and that is dead", func(ctx SpecContext) {
		dead := lives(ctx, ns, "a")
		manager, clock := lateManager(ctx, unpaused(dead), 0)
		dies(ctx, dead)
		living := lives(ctx, ns, "a")
		answer, held := create(ctx, answerOf(living)), recordOf(ctx, "held", living, ledger.ForClaim)
		reconciled(ctx, manager, clock, living)
		stays(ctx, answer, held)
	})

	It("makes no answer for a claim that has gone, where the cache has shown nothing of the claims for a while", func(ctx SpecContext) {
		dead := lives(ctx, ns, "a")
		manager, clock := lateManager(ctx, unpaused(dead), 0)
		dies(ctx, dead)
		made := 0
		onWrites(manager, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				made++
				return c.Create(ctx, obj, opts...)
			},
		})
		clock.SetTime(dead.CreationTimestamp.Add(time.Minute))
		looked(ctx, manager, dead)
		Expect(made).To(BeZero(), "IPAddresses that were made")
	})

	It("does not name the answer of a dead claim in the status of the next of its name", func(ctx SpecContext) {
		dead := lives(ctx, ns, "a")
		manager, _ := lateManager(ctx, unpaused(dead), 0)
		var living *ipamv1beta2.IPAddressClaim
		onWrites(manager, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				err := c.Create(ctx, obj, opts...)
				if living == nil { // it hangs
					dies(ctx, dead)
					living = lives(ctx, ns, "a")
				}
				return err
			},
		})
		looked(ctx, manager, dead)
		Expect(living).NotTo(BeNil(), "the dead claim was answered")
		now := living.DeepCopy()
		Expect(k.Get(ctx, client.ObjectKeyFromObject(living), now)).To(Succeed())
		Expect(now.Status).To(Equal(living.Status))
		Expect(now.Status.AddressRef.Name).To(BeEmpty())
	})

	Context("and an answer says a prefix length", func() {
		var living *ipamv1beta2.IPAddressClaim

		// answeredWith makes a living claim, whose pool gives single addresses of a /24, an IPAddress that says this.
		answeredWith := func(ctx context.Context, address string, bits int32) {
			GinkgoHelper()
			ns = newNamespace(ctx)
			poolReady(ctx, create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
				Addresses: []ipamv1.AddressEntry{"10.1.0.0/24"}, AddressSpace: ns,
				Allocation: &ipamv1.AllocationPolicy{ReservedAddresses: ipamv1.ReservedAddressesAllocate},
			})), metav1.ConditionTrue, "Available")
			living = lives(ctx, ns, "a")
			answer := answerOf(living)
			answer.Spec.Address, answer.Spec.Prefix = address, ptr.To(bits)
			create(ctx, answer)
		}
		recorded := func(ctx context.Context, uid types.UID, cidr string) *ipamv1.IPAllocation {
			GinkgoHelper()
			r := record(ns, "of-"+string(uid), uid, ledger.ForClaim)
			r.Spec.CIDR = cidr
			Expect(k.Create(ctx, r, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
			return r
		}

		It("holds no more for an answer than is recorded, however large its pool's network was when it was given", func(ctx SpecContext) {
			answeredWith(ctx, "10.1.0.0", 30)
			held := recorded(ctx, living.UID, "10.1.0.0/32")
			manager, clock := lateManager(ctx, unpaused(living), 0)
			reconciled(ctx, manager, clock, living)
			Expect(records(ctx, ns)).To(ConsistOf(untouched(held)))
		})

		It("holds no less for an answer than it says, whatever an earlier claim of the name has left", func(ctx SpecContext) {
			answeredWith(ctx, "10.1.0.16", 28)
			left := recorded(ctx, "dead", "10.1.0.16/32")
			manager, clock := lateManager(ctx, unpaused(living), 0)
			reconciled(ctx, manager, clock, living)
			Expect(records(ctx, ns)).To(ConsistOf(untouched(left)), "part of the block is no record of it")
			Expect(k.Patch(ctx, left, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
			Expect(k.Delete(ctx, left)).To(Succeed())
			Expect(k.Get(ctx, client.ObjectKeyFromObject(living), living)).To(Succeed())
			manager, _ = lateManager(ctx, unpaused(living), 0)
			looked(ctx, manager, living)
			Expect(records(ctx, ns)).To(ConsistOf(HaveField("Spec.CIDR", "10.1.0.16/28")))
		})

		It("records all of a block that was restored while its claim is paused, whatever an earlier claim of the name has left", func(ctx SpecContext) {
			answeredWith(ctx, "10.1.0.16", 28)
			left := recorded(ctx, "dead", "10.1.0.16/32")
			paused, restored := living.DeepCopy(), answerOf(living)
			Expect(k.Get(ctx, client.ObjectKeyFromObject(restored), restored)).To(Succeed())
			marked := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+ipamv1.ArrivedAnnotation+`":"true"}}}`))
			Expect(k.Patch(ctx, restored, marked)).To(Succeed())
			manager, clock := lateManager(ctx, paused, 0)
			reconciled(ctx, manager, clock, living)
			Expect(records(ctx, ns)).To(ConsistOf(untouched(left), And(
				HaveField("Spec.CIDR", "10.1.0.16/28"), HaveField("Spec.ClaimRef.UID", string(living.UID)))))
		})
	})

	It("does not remove as left over the answer of a claim that it does not see yet", func(ctx SpecContext) {
		living := lives(ctx, ns, "a")
		answer, held := create(ctx, answerOf(living)), recordOf(ctx, "held", living, ledger.ForClaim)
		manager, clock := lateManager(ctx, newClaim(ns, "a", "IPPool", "p"), 0)
		reconciled(ctx, manager, clock, living)
		stays(ctx, answer, held)
	})

	It("does not drop with a dead claim's record that of the next of its name, made after it had read that there is none", func(ctx SpecContext) {
		dead := lives(ctx, ns, "a")
		left := recordOf(ctx, "left", dead, ledger.ForClaim)
		manager, clock := lateManager(ctx, newClaim(ns, "a", "IPPool", "p"), 0)
		var held *ipamv1.IPAllocation
		onLiveReads(manager, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if _, isClaim := obj.(*ipamv1beta2.IPAddressClaim); !isClaim || held != nil {
					return c.Get(ctx, key, obj, opts...)
				}
				dies(ctx, dead)
				err := c.Get(ctx, key, obj, opts...) // and hangs
				_ = k.Patch(ctx, left, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
				Expect(client.IgnoreNotFound(k.Delete(ctx, left))).To(Succeed())
				held = recordOf(ctx, "held", lives(ctx, ns, "a"), ledger.ForClaim)
				Eventually(func() []ledger.Holding { return manager.ledger.About(held.Spec.ClaimRef).Recorded() }, "1m", "5ms").
					Should(ConsistOf(HaveField("Record.Name", held.Name)))
				return err
			},
		})
		reconciled(ctx, manager, clock, dead)
		Expect(held).NotTo(BeNil(), "it has read that there is no claim")
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").
			Should(ConsistOf(untouched(held)))
	})

	It("does not drop the record of a claim that lives for the address that the dead namesake waits for which it sees", func(ctx SpecContext) {
		dead := lives(ctx, ns, "a")
		manager, clock := lateManager(ctx, unpaused(dead), 0)
		dies(ctx, dead)
		held := recordOf(ctx, "held", lives(ctx, ns, "a"), ledger.ForClaim) // whoever has made it hangs before the answer
		told := 0
		onWrites(manager, interceptor.Funcs{
			SubResourcePatch: func(
				ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
			) error {
				told++
				return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
			},
		})
		Eventually(func(g Gomega) {
			clock.SetTime(clock.Now().Add(time.Minute))
			looked(ctx, manager, dead)
			g.Expect(told).To(BeNumerically(">", 1), "that nothing is free")
		}, "1m", "100ms").Should(Succeed())
		Expect(records(ctx, ns)).To(ConsistOf(untouched(held)))
	})

	It("does not release the address of a claim that it does not see paused", func(ctx SpecContext) {
		paused := lives(ctx, ns, "a")
		answer, held := create(ctx, answerOf(paused)), recordOf(ctx, "held", paused, ledger.ForClaim)
		Expect(k.Delete(ctx, paused)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(paused), paused)).To(Succeed())
		manager, clock := lateManager(ctx, unpaused(paused), 0)
		reconciled(ctx, manager, clock, paused)
		stays(ctx, answer, held)
	})

	It("does not give up the block of a pool that it does not see", func(ctx SpecContext) {
		manager, _ := lateManager(ctx, newClaim(ns, "a", "IPPool", "p"), 0)
		blind := interceptor.NewClient(site.Client(), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if _, isPool := obj.(*ipamv1.IPPool); isPool {
					return apierrors.NewNotFound(ipamv1.GroupVersion.WithResource("ippools").GroupResource(), key.Name)
				}
				return c.Get(ctx, key, obj, opts...)
			},
		})
		before := blocks(ctx, ns, "p")
		Expect(before).To(HaveLen(1))
		late := latePool(manager, blind)
		for range 3 { // the proof that nothing is handed out of it changes the block
			_, err := late.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "p"}})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(blocks(ctx, ns, "p")).To(Equal(before))
	})
})

var _ = Describe("A manager that begins with a pool", func() {
	It("records what IPAddresses there are of it before it hands out the first address", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		restored := lives(ctx, ns, "restored")
		create(ctx, answerOf(restored)) // while nobody looks: it has no record
		next := lives(ctx, ns, "a")
		manager, clock := lateManager(ctx, unpaused(next), 0)
		reconciled(ctx, manager, clock, next)
		Expect(apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(next), &ipamv1beta2.IPAddress{}))).To(BeTrue(), "nobody has the address twice")
		Expect(records(ctx, ns)).To(ConsistOf(HaveField("Spec.ClaimRef.UID", string(restored.UID))))
	})
})

var _ = Describe("A claim that came with its answer", func() {
	var ns string
	var third, stored *ipamv1beta2.IPAddressClaim

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		third, stored = lives(ctx, ns, "third"), lives(ctx, ns, "a")
		create(ctx, answerOf(stored))
	})

	It("keeps the record of the one before it, of its name, while its own has not won: the address would go to a third", func(ctx SpecContext) {
		former := create(ctx, record(ns, "former", "11111111-2222-3333-4444-555555555555", ledger.ForAdopted))
		holder := recordOf(ctx, "third", third, ledger.ForClaim)
		own := recordOf(ctx, "own", stored, ledger.ForAdopted)
		manager, clock := lateManager(ctx, unpaused(stored), 0)
		reconciled(ctx, manager, clock, stored)
		ready(ctx, stored, metav1.ConditionFalse, "AddressConflict")
		Expect(records(ctx, ns)).To(ConsistOf(untouched(former), untouched(own), untouched(holder)), "what is in the way stays, too")
	})

	It("is not told that it has the address for a half-made record of its own that has lost", func(ctx SpecContext) {
		recordOf(ctx, "third", third, ledger.ForClaim)
		recordOf(ctx, "lost", stored, ledger.ForClaim)
		manager, clock := lateManager(ctx, unpaused(stored), 0)
		reconciled(ctx, manager, clock, stored)
		ready(ctx, stored, metav1.ConditionFalse, "AddressConflict")
	})
})

var _ = Describe("A claim that is released", func() {
	It("loses its finalizer last: whoever dies in between leaves what the next manager goes on with", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		poolReady(ctx, create(ctx, newPool(ns, "p", singleAddress(ns, 0))), metav1.ConditionTrue, "Available")
		stored := lives(ctx, ns, "a")
		create(ctx, answerOf(stored))
		recordOf(ctx, "held", stored, ledger.ForClaim)
		Expect(k.Delete(ctx, stored)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())

		var order []string
		note := func(obj client.Object) {
			kind, err := k.GroupVersionKindFor(obj)
			Expect(err).NotTo(HaveOccurred())
			order = append(order, kind.Kind)
		}
		writes := interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				note(obj)
				return c.Patch(ctx, obj, patch, opts...)
			},
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				note(obj)
				return c.Update(ctx, obj, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				note(obj)
				return c.Delete(ctx, obj, opts...)
			},
		}
		manager, clock := lateManagerThat(ctx, unpaused(stored), 0, writes) // the pause is the suite's, and not what this is about
		manager.live.Client = unpausing{k}
		onWrites(manager, writes)
		reconciled(ctx, manager, clock, stored)
		gone(ctx, stored)
		Expect(slices.Compact(order)).To(Equal([]string{"IPAddress", "IPAllocation", "IPAddressClaim"}))
	})
})

var _ = Describe("A record that has won", func() {
	It("cools down where the claim has another answer: the claim may be on its way out, and have been told of both", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		spec := ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](3600)}}
		poolReady(ctx, create(ctx, newPool(ns, "p", spec)), metav1.ConditionTrue, "Available")
		stored := lives(ctx, ns, "a")
		manager, clock := lateManager(ctx, unpaused(stored), 0)
		manager.live.Client = unpausing{k}
		other := answerOf(stored)
		other.Spec.Address = "10.1.0.9"
		onWrites(manager, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				if _, ok := obj.(*ipamv1beta2.IPAddress); ok && other.UID == "" {
					create(ctx, other)
				}
				return c.Create(ctx, obj, opts...)
			},
		})
		reconciled(ctx, manager, clock, stored)
		Expect(records(ctx, ns)).To(ConsistOf(
			And(HaveField("Spec.CIDR", "10.1.0.9/32"), HaveField("Spec.ReleasedAt", metav1.Time{})),
			And(HaveField("Spec.CIDR", Not(Equal("10.1.0.9/32"))), HaveField("Spec.State", ipamv1.CoolingState)),
		))
	})
})

var _ = Describe("A claim that asks for an address", func() {
	It("that somebody else has does not drop a record of the claim that another manager may still tell it", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		poolReady(ctx, create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns})), metav1.ConditionTrue, "Available")
		other := newClaim(ns, "other", "IPPool", "p")
		other.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.1.0.9"}
		answered(ctx, create(ctx, other))
		stored := lives(ctx, ns, "a")
		for name, cidr := range map[string]string{"one": "10.1.0.20/32", "two": "10.1.0.21/32"} { // of managers that hang
			r := record(ns, name, stored.UID, ledger.ForClaim)
			r.Spec.CIDR = cidr
			Expect(k.Create(ctx, r, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
		}
		seen := unpaused(stored)
		seen.Annotations = other.Annotations
		manager, clock := lateManager(ctx, seen, 0)
		reconciled(ctx, manager, clock, stored)
		ready(ctx, stored, metav1.ConditionFalse, "AllocationFailed")
		Expect(records(ctx, ns)).To(ContainElements(HaveField("Name", "one"), HaveField("Name", "two")))
	})
})

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"net/netip"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	// first is the first address of every pool.
	first = "10.0.0.0"
	// claimName is the name of a world's only claim.
	claimName = "a"
)

// world is a namespace with a pool for one walk along a path. The pool's name and address space are the namespace's.
type world struct {
	name string
	pool interface {
		client.Object
		conditions.Getter
		PoolSpec() *ipamv1.IPPoolSpec
		PoolReference() ipamv1.PoolReference
	}
	// others are what the other front door has under the same names, where it has anything. They must be left alone.
	others []types.UID
}

// path is what a manager does about one event.
type path struct {
	// before is done with a healthy manager, event with none.
	before, event func(ctx context.Context, w *world)
	// asks makes, instead of an event, the object about which the manager that dies is asked while it is created.
	asks func(w *world) client.Object
	// done fails until the path has been walked to its end.
	done func(ctx context.Context, w *world, g Gomega)
	// lost is the claim whose record the event takes away.
	lost string
	// isShared has the other front door's objects in each third of the worlds, in all of them at soak size.
	isShared bool
	// isMain where every user's claim goes this path: each gate walks it.
	isMain bool
	// place of the path among those of its sort, by name: of those that are not main the gate walks every second one.
	place int
	// kindMatters where the kind of pool changes what is written: then the gate, too, walks the path with both.
	kindMatters bool
}

var paths = map[string]path{
	"recording the blocks of a new pool": {
		before: func(context.Context, *world) {},
		event:  func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30") },
		done:   func(ctx context.Context, w *world, g Gomega) { w.hasBlocks(ctx, g, "10.0.0.0/30") },
	},
	"answering a claim": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.isReady(ctx) },
		event:  func(ctx context.Context, w *world) { w.createClaim(ctx) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isAnswered(ctx, g) },
		isMain: true,
	},
	"releasing an address": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.answerClaim(ctx) },
		event:  func(ctx context.Context, w *world) { w.deleteClaim(ctx) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.isGone(ctx, g)
			g.Expect(w.records(ctx, g)).To(BeEmpty())
		},
		isMain: true,
	},
	"letting an address cool down": {
		before: func(ctx context.Context, w *world) {
			w.pool.PoolSpec().Allocation.CooldownSeconds = ptr.To[int32](3600)
			w.createPool(ctx, "10.0.0.0/30")
			w.answerClaim(ctx)
		},
		event: func(ctx context.Context, w *world) { w.deleteClaim(ctx) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.isGone(ctx, g)
			w.cools(ctx, g, "10.0.0.0/32")
		},
	},
	"giving up what has cooled down": {
		before: func(ctx context.Context, w *world) {
			w.pool.PoolSpec().Allocation.CooldownSeconds = ptr.To[int32](3600)
			w.createPool(ctx, "10.0.0.0/30")
			w.answerClaim(ctx)
			w.deleteClaim(ctx)
			Eventually(func(g Gomega) { w.cools(ctx, g, "10.0.0.0/32") }, "1m", "100ms").Should(Succeed())
		},
		event: func(ctx context.Context, w *world) {
			w.change(ctx, func(spec *ipamv1.IPPoolSpec) { spec.Allocation.CooldownSeconds = nil })
		},
		done: func(ctx context.Context, w *world, g Gomega) { g.Expect(w.records(ctx, g)).To(BeEmpty()) },
	},
	"growing a pool from its cidr": {
		before: func(ctx context.Context, w *world) {
			w.pool.PoolSpec().CIDR = "10.0.0.0/30"
			w.createPool(ctx)
			w.answerClaim(ctx)
		},
		event: func(ctx context.Context, w *world) {
			w.change(ctx, func(spec *ipamv1.IPPoolSpec) {
				spec.CIDR, spec.Addresses = "", []ipamv1.AddressEntry{"10.0.0.0/29", "10.0.0.64/30"}
			})
		},
		done: func(ctx context.Context, w *world, g Gomega) {
			w.hasBlocks(ctx, g, "10.0.0.0/29", "10.0.0.64/30")
			w.isAnswered(ctx, g)
		},
	},
	"shrinking and growing a pool": {
		before: func(ctx context.Context, w *world) {
			w.createPool(ctx, "10.0.0.0/31", "10.0.0.8/31")
			w.answerClaim(ctx)
		},
		event: func(ctx context.Context, w *world) {
			w.change(ctx, func(spec *ipamv1.IPPoolSpec) { spec.Addresses = []ipamv1.AddressEntry{"10.0.0.0/31", "10.0.0.64/30"} })
		},
		done: func(ctx context.Context, w *world, g Gomega) {
			w.hasBlocks(ctx, g, "10.0.0.0/31", "10.0.0.64/30")
			w.isAnswered(ctx, g)
		},
	},
	"adopting an answer that came without its record": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.answerClaim(ctx) },
		event:  func(ctx context.Context, w *world) { w.strip(ctx, w.recordOf(ctx)) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isAnswered(ctx, g) },
		lost:   claimName,
	},
	"repairing what a claim left behind that died alone": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.answerClaim(ctx) },
		event:  func(ctx context.Context, w *world) { w.strip(ctx, w.theClaim(ctx)) },
		done: func(ctx context.Context, w *world, g Gomega) {
			g.Expect(w.records(ctx, g)).To(BeEmpty())
			g.Expect(w.answers(ctx, g)).To(BeEmpty())
		},
	},
	"adopting the answer of a namesake that died alone": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.answerClaim(ctx) },
		event: func(ctx context.Context, w *world) {
			w.disown(ctx) // as the garbage collector would, at some time
			w.strip(ctx, w.theClaim(ctx))
			w.createClaim(ctx)
		},
		done: func(ctx context.Context, w *world, g Gomega) {
			w.isAnswered(ctx, g)
			found := w.records(ctx, g)
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0].Spec.ClaimRef.UID).To(BeEquivalentTo(w.theClaim(ctx).UID))
		},
	},
	"giving up the blocks of a pool that vanished": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.isReady(ctx) },
		event:  func(ctx context.Context, w *world) { w.strip(ctx, w.pool) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.hasBlocks(ctx, g) },
	},
	"letting a pool go": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.isReady(ctx) },
		event:  func(ctx context.Context, w *world) { Expect(k.Delete(ctx, w.pool)).To(Succeed()) },
		done: func(ctx context.Context, w *world, g Gomega) {
			g.Expect(apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(w.pool), w.pool))).To(BeTrue())
			w.hasBlocks(ctx, g)
		},
	},
}

func (w *world) createPool(ctx context.Context, addresses ...ipamv1.AddressEntry) {
	GinkgoHelper()
	w.pool.PoolSpec().Addresses = addresses
	Expect(k.Create(ctx, w.pool)).To(Succeed())
}

// change changes the pool's spec.
func (w *world) change(ctx context.Context, how func(*ipamv1.IPPoolSpec)) {
	GinkgoHelper()
	suite.Change(ctx, k, w.pool, func() { how(w.pool.PoolSpec()) })
}

func (w *world) isReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(w.pool), w.pool)).To(Succeed())
		g.Expect(conditions.IsTrue(w.pool, ipamv1.ReadyCondition)).To(BeTrue())
	}, "1m", "100ms").Should(Succeed())
}

func (w *world) createClaim(ctx context.Context) {
	GinkgoHelper()
	Expect(k.Create(ctx, &ipamv1beta2.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: claimName},
		Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{
			APIGroup: ipamv1.GroupVersion.Group, Kind: w.pool.PoolReference().Kind, Name: w.name,
		}},
	})).To(Succeed())
}

// answerClaim makes the claim and waits until it is answered.
func (w *world) answerClaim(ctx context.Context) {
	GinkgoHelper()
	w.createClaim(ctx)
	Eventually(func(g Gomega) { w.isAnswered(ctx, g) }, "1m", "100ms").Should(Succeed())
}

func (w *world) theClaim(ctx context.Context) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	claim := &ipamv1beta2.IPAddressClaim{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: w.name, Name: claimName}, claim)).To(Succeed())
	return claim
}

func (w *world) deleteClaim(ctx context.Context) {
	GinkgoHelper()
	Expect(k.Delete(ctx, w.theClaim(ctx))).To(Succeed())
}

// strip removes an object behind its finalizers' backs.
func (w *world) strip(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(k.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	Expect(k.Delete(ctx, obj)).To(Succeed())
}

// disown takes the claim off the owners of its answer.
func (w *world) disown(ctx context.Context) {
	GinkgoHelper()
	answer := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: w.name, Name: claimName}, answer)).To(Succeed())
	answer.OwnerReferences = slices.DeleteFunc(answer.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "IPAddressClaim" })
	Expect(k.Update(ctx, answer)).To(Succeed())
}

func (w *world) recordOf(ctx context.Context) *ipamv1.IPAllocation {
	GinkgoHelper()
	found := w.records(ctx, NewWithT(GinkgoT()))
	Expect(found).To(HaveLen(1))
	return &found[0]
}

// records are those of the world's pool but for its blocks.
func (w *world) records(ctx context.Context, g Gomega) []ipamv1.IPAllocation {
	return w.list(ctx, g, func(a *ipamv1.IPAllocation) bool { return !a.Spec.IsRootBlock() })
}

func (w *world) list(ctx context.Context, g Gomega, wanted func(*ipamv1.IPAllocation) bool) []ipamv1.IPAllocation {
	list := &ipamv1.IPAllocationList{}
	g.Expect(k.List(ctx, list)).To(Succeed())
	var found []ipamv1.IPAllocation
	for _, a := range list.Items {
		if a.Spec.AddressSpace == w.name && wanted(&a) {
			found = append(found, a)
		}
	}
	return found
}

func (w *world) answers(ctx context.Context, g Gomega) []ipamv1beta2.IPAddress {
	list := &ipamv1beta2.IPAddressList{}
	g.Expect(k.List(ctx, list, client.InNamespace(w.name))).To(Succeed())
	return list.Items
}

func (w *world) isAnswered(ctx context.Context, g Gomega) {
	claim, answer := &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}
	key := client.ObjectKey{Namespace: w.name, Name: claimName}
	g.Expect(k.Get(ctx, key, claim)).To(Succeed())
	g.Expect(claim.Status.AddressRef.Name).To(Equal(claimName))
	g.Expect(claim.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))
	g.Expect(k.Get(ctx, key, answer)).To(Succeed())
	g.Expect(answer.Spec.Address).To(Equal(first))
	g.Expect(w.isRecorded(ctx, g, answer)).To(BeTrue(), "%s is not recorded", first)
}

func (w *world) isGone(ctx context.Context, g Gomega) {
	g.Expect(apierrors.IsNotFound(k.Get(ctx, client.ObjectKey{Namespace: w.name, Name: claimName}, &ipamv1beta2.IPAddressClaim{}))).To(BeTrue())
	g.Expect(w.answers(ctx, g)).To(BeEmpty())
}

func (w *world) cools(ctx context.Context, g Gomega, cidr string) {
	found := w.records(ctx, g)
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Spec.CIDR).To(Equal(cidr))
	g.Expect(found[0].Spec.ReleasedAt.IsZero()).To(BeFalse())
	g.Expect(found[0].Finalizers).To(ConsistOf(ipamv1.AllocationFinalizer))
}

// hasBlocks says that just these are recorded and confirmed as the pool's own.
func (w *world) hasBlocks(ctx context.Context, g Gomega, want ...string) {
	blocks := w.list(ctx, g, func(a *ipamv1.IPAllocation) bool { return a.Spec.IsRootBlock() })
	found := make([]string, 0, len(blocks))
	for _, a := range blocks {
		g.Expect(a.Spec.State).To(Equal(ipamv1.ConfirmedState))
		found = append(found, a.Spec.CIDR)
	}
	g.Expect(found).To(ConsistOf(want))
}

// isRecorded says whether the ledger holds the very address of an answer.
func (w *world) isRecorded(ctx context.Context, g Gomega, answer *ipamv1beta2.IPAddress) bool {
	for _, a := range w.records(ctx, g) {
		if netip.MustParsePrefix(a.Spec.CIDR).Addr().String() == answer.Spec.Address && a.Spec.ClaimRef.Name == answer.Name {
			return true
		}
	}
	return false
}

// isSafe is what holds at every moment: no two answers overlap, and what a claim was told is recorded, also while it is given
// back. Only what the event itself has taken out of the ledger is not.
func (w *world) isSafe(ctx context.Context, lost string) {
	GinkgoHelper()
	if lost == "" {
		report, err := fsck.CheckAdmitted(ctx, config)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Safe()).To(Succeed())
	}
	g := NewWithT(GinkgoT())
	told := map[string]string{}
	for _, answer := range w.answers(ctx, g) {
		Expect(told).NotTo(HaveKey(answer.Spec.Address))
		told[answer.Spec.Address] = answer.Name
		Expect(answer.Name == lost || w.isRecorded(ctx, g, &answer)).To(BeTrue(), "%s is told and not recorded", answer.Spec.Address)
	}
}

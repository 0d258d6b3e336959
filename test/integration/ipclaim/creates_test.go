// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

func newPool(ns, name string, spec ipamv1.IPPoolSpec) *ipamv1.IPPool {
	return &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
}

// carved is the spec of a pool carved from pool root of its namespace.
func carved(length int32) ipamv1.IPPoolSpec {
	return ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "root"}, PrefixLength: ptr.To(length)}
}

func newClaim(ns, name, pool string) *ipamv1.IPClaim {
	return &ipamv1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: pool}},
	}
}

// create creates an object and returns it.
func create[T client.Object](ctx context.Context, obj T) T {
	GinkgoHelper()
	Expect(k.Create(ctx, obj)).To(Succeed())
	return obj
}

// conditional is an object that has conditions.
type conditional interface {
	client.Object
	conditions.Getter
}

// becomes waits until a condition of an object is true.
func becomes(ctx context.Context, obj conditional, condition string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(conditions.IsTrue(obj, condition)).To(BeTrue())
	}, patience, "100ms").Should(Succeed())
}

// serving creates a pool and waits until it hands out prefixes.
func serving(ctx context.Context, pool *ipamv1.IPPool) {
	GinkgoHelper()
	becomes(ctx, create(ctx, pool), ipamv1.ReadyCondition)
}

// patch changes an object by a merge patch.
func patch(ctx context.Context, obj client.Object, body string) {
	GinkgoHelper()
	Expect(k.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
}

// records returns what the records of a namespace hold, without the blocks of its root pools.
func records(ctx context.Context, ns string) []string {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	var found []string
	for _, a := range list.Items {
		if !a.Spec.IsRootBlock() {
			found = append(found, a.Spec.ClaimRef.Name+" "+a.Spec.CIDR)
		}
	}
	return found
}

func gone(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	suite.Gone(ctx, k, obj)
}

var _ = Describe("What is answered while it is created", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{
			CIDR: "10.0.0.0/16", AddressSpace: ns,
			Allocation: &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](16), MaxPrefixLength: ptr.To[int32](32)},
		}))
	})

	It("is recorded once however often it is created", func(ctx SpecContext) {
		create(ctx, newClaim(ns, "c", "root"))
		create(ctx, newPool(ns, "p", carved(24)))
		for range 3 {
			Expect(apierrors.IsAlreadyExists(k.Create(ctx, newClaim(ns, "c", "root")))).To(BeTrue())
			Expect(apierrors.IsAlreadyExists(k.Create(ctx, newPool(ns, "p", carved(24))))).To(BeTrue())
		}
		Expect(records(ctx, ns)).To(HaveLen(2))
	})

	It("is refused where no pool can have the name that it asks for", func(ctx SpecContext) {
		for _, name := range []string{"", "..", "a/b"} {
			Expect(apierrors.IsNotFound(k.Create(ctx, newClaim(ns, "c", name)))).To(BeTrue(), name)
		}
		spec := carved(24)
		spec.ParentRef.Namespace = "a/b"
		Expect(apierrors.IsNotFound(k.Create(ctx, newPool(ns, "p", spec)))).To(BeTrue())
	})

	It("is refused where neither it nor its parent says how long a block it is to have", func(ctx SpecContext) {
		spec := carved(24)
		spec.PrefixLength = nil
		err := k.Create(ctx, newPool(ns, "p", spec))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(`spec.prefixLength: required, because IPPool "root" has no allocation.defaultPrefixLength`)))
		patch(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{}), `{"spec":{"allocation":{"defaultPrefixLength":26}}}`)
		Eventually(func(g Gomega) {
			pool := newPool(ns, "p", spec)
			g.Expect(k.Create(ctx, pool)).To(Succeed())
			g.Expect(pool.Spec.CIDR).To(HaveSuffix("/26"))
		}, "1m", "100ms").Should(Succeed())
	})

	It("keeps its block, and is told that only root pools grow", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", carved(24)))
		body := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cidr":null,"addresses":["10.0.0.0/16"]}}`))
		Expect(k.Patch(ctx, pool.DeepCopy(), body)).To(MatchError(ContainSubstring("to grow a root pool, replace cidr by addresses that contain it")))
	})

	It("is recorded for its UID when it is applied", func(ctx SpecContext) {
		claim := newClaim(ns, "c", "root")
		claim.SetGroupVersionKind(ipamv1.GroupVersion.WithKind("IPClaim"))
		Expect(k.Patch(ctx, claim, client.Apply, client.ForceOwnership, client.FieldOwner("apply"))).To(Succeed()) //nolint:staticcheck // a whole object is what kubectl applies
		Expect(claim.Spec.CIDR).NotTo(BeEmpty())
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		var uids []string
		for _, a := range list.Items {
			if a.Spec.Purpose == ipamv1.ClaimPurpose {
				uids = append(uids, a.Spec.ClaimRef.UID)
			}
		}
		Expect(uids).To(Equal([]string{string(claim.UID)}))
	})

	It("stays while the garbage collector holds it, although its prefix is given back", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "c", "root"))
		dependent := create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "dependent", Finalizers: []string{"example.org/in-use"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: ipamv1.GroupVersion.String(), Kind: "IPClaim", Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: ptr.To(true),
			}},
		}})
		Expect(k.Delete(ctx, claim, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, "1m", "100ms").Should(BeEmpty())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(claim.Finalizers).To(Equal([]string{metav1.FinalizerDeleteDependents}))
		}, "1m", "100ms").Should(Succeed())
		patch(ctx, dependent, `{"metadata":{"finalizers":null}}`)
	})

	It("gives back its block although nobody ever worked on it", func(ctx SpecContext) {
		pool := newPool(ns, "p", carved(24))
		pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		create(ctx, pool)
		Consistently(func() []string { return records(ctx, ns) }, "1s", "100ms").Should(HaveLen(1))
		Expect(k.Delete(ctx, pool)).To(Succeed())
		patch(ctx, pool, `{"metadata":{"annotations":null}}`)
		gone(ctx, pool)
		Eventually(func() []string { return records(ctx, ns) }, "1m", "100ms").Should(BeEmpty())
	})

	It("is recorded again when somebody has removed the record of its block, although something was handed out of that", func(ctx SpecContext) {
		child := newPool(ns, "p", carved(24))
		serving(ctx, child)
		create(ctx, newClaim(ns, "before", "p"))
		blocks := func(g Gomega) []ipamv1.IPAllocation {
			list := &ipamv1.IPAllocationList{}
			g.Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			return slices.DeleteFunc(list.Items, func(a ipamv1.IPAllocation) bool {
				return a.Spec.Purpose != ipamv1.PoolBlockPurpose || a.Spec.IsRootBlock()
			})
		}
		lost := blocks(NewWithT(GinkgoT()))[0]
		patch(ctx, &lost, `{"metadata":{"finalizers":null}}`)
		Expect(client.IgnoreNotFound(k.Delete(ctx, &lost))).To(Succeed())
		Eventually(func(g Gomega) {
			found := blocks(g)
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0].UID).NotTo(Equal(lost.UID))
			g.Expect(found[0].Spec.CIDR).To(Equal(lost.Spec.CIDR))
			g.Expect(found[0].Spec.State).To(Equal(ipamv1.ConfirmedState))
		}, "1m", "100ms").Should(Succeed())
		Eventually(func() error { return k.Create(ctx, newClaim(ns, "after", "p")) }, "1m", "100ms").Should(Succeed())
	})

	It("comes from the first pool with room, however many do not serve", func(ctx SpecContext) {
		for _, name := range []string{"a", "b", "c", "d"} {
			pool := newPool(ns, name, carved(24))
			pool.Labels = map[string]string{"tier": "x"}
			pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			create(ctx, pool)
		}
		full := newPool(ns, "e", carved(32))
		full.Labels = map[string]string{"tier": "x"}
		serving(ctx, full)
		create(ctx, newClaim(ns, "fills", "e"))
		last := newPool(ns, "f", carved(24))
		last.Labels = map[string]string{"tier": "x"}
		serving(ctx, last)
		claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c"}, Spec: ipamv1.IPClaimSpec{PoolSelector: &ipamv1.PoolSelector{
			Kind: ipamv1.IPPoolKind, LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": "x"}},
		}}}
		Expect(k.Create(ctx, claim)).To(Succeed()) // an answer that waited for each of them would come too late
		Expect(claim.Spec.PoolRef.Name).To(Equal("f"))
	})

	It("is nothing that a pool above excludes, also by a manager that has met only the pool itself", func(ctx SpecContext) {
		leaf := carved(28)
		leaf.ParentRef.Name = "middle"
		serving(ctx, newPool(ns, "middle", carved(24)))
		serving(ctx, newPool(ns, "leaf", leaf))
		root := newPool(ns, "root", ipamv1.IPPoolSpec{})
		book := startLedger(ctx)
		registry := &pools.Registry{Client: k, Live: k, Ledger: book, Namespace: "weir-system"}
		ref := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "leaf"}
		gets := func() string {
			GinkgoHelper()
			found, err := registry.Find(ctx, ref)
			Expect(err).NotTo(HaveOccurred())
			Expect(found.Invalid).To(BeEmpty())
			cidr, err := book.Preview(ledger.Claim{Ref: ledger.ClaimOf(ref, "a"), Pool: ref, Bits: 32, Purpose: ledger.ForClaim})
			Expect(err).NotTo(HaveOccurred())
			return cidr.String()
		}
		Expect(gets()).To(Equal("10.0.0.1/32"))
		patch(ctx, root, `{"spec":{"excludedAddresses":["10.0.0.0-10.0.0.4"]}}`)
		Expect(gets()).To(Equal("10.0.0.5/32"))
		patch(ctx, root, `{"spec":{"excludedAddresses":null}}`)
		Expect(gets()).To(Equal("10.0.0.1/32"))
	})
})

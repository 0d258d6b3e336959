// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// childName is the name of a world's only carved pool.
const childName = "child"

// ownPaths are those of Weir's own kinds. Where the path begins in a create call, the manager that dies is asked about it; the other
// objects come past the webhooks, so that the controller does it all.
var ownPaths = map[string]path{
	"answering an IPClaim while it is created": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.isReady(ctx) },
		asks:   func(w *world) client.Object { return w.ownClaim() },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isBound(ctx, g) },

		kindMatters: true, // create calls are not compared
	},
	"carving a pool while it is created": {
		before: func(ctx context.Context, w *world) { w.createParent(ctx) },
		asks:   func(w *world) client.Object { return w.child() },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isCarved(ctx, g) },

		kindMatters: true,
	},
	"answering an IPClaim that came past the webhooks": {
		before: func(ctx context.Context, w *world) { w.createPool(ctx, "10.0.0.0/30"); w.isReady(ctx) },
		event:  func(ctx context.Context, w *world) { w.create(ctx, w.ownClaim()) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isBound(ctx, g) },
	},
	"releasing an IPClaim's prefix": {
		before: func(ctx context.Context, w *world) {
			w.createPool(ctx, "10.0.0.0/30")
			w.answerOwn(ctx, w.ownClaim())
		},
		event: func(ctx context.Context, w *world) { w.delete(ctx, w.ownClaim()) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.lacks(ctx, g, w.ownClaim())
			g.Expect(w.records(ctx, g)).To(BeEmpty())
		},
	},
	"retaining an IPClaim's prefix": {
		before: func(ctx context.Context, w *world) {
			w.createPool(ctx, "10.0.0.0/30")
			w.answerOwn(ctx, w.retained())
		},
		event: func(ctx context.Context, w *world) { w.delete(ctx, w.ownClaim()) },
		done:  func(ctx context.Context, w *world, g Gomega) { w.retains(ctx, g) },
	},
	"giving what is retained to the next IPClaim of the name": {
		before: func(ctx context.Context, w *world) {
			w.createPool(ctx, "10.0.0.0/32")
			w.answerOwn(ctx, w.retained())
			w.delete(ctx, w.ownClaim())
			Eventually(func(g Gomega) { w.retains(ctx, g) }, "1m", "100ms").Should(Succeed())
		},
		event: func(ctx context.Context, w *world) { w.create(ctx, w.ownClaim()) },
		done:  func(ctx context.Context, w *world, g Gomega) { w.isBound(ctx, g) },
	},
	"carving a pool that came past the webhooks": {
		before: func(ctx context.Context, w *world) { w.createParent(ctx) },
		event:  func(ctx context.Context, w *world) { w.create(ctx, w.child()) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isCarved(ctx, g) },
	},
	"carving a delegated pool while it is created": {
		before: func(ctx context.Context, w *world) { w.createParent(ctx) },
		asks:   func(w *world) client.Object { return w.delegated() },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isDelegated(ctx, g) },
	},
	"letting a delegated pool go that is released by force": {
		before: func(ctx context.Context, w *world) { w.delegates(ctx) },
		event: func(ctx context.Context, w *world) {
			p := w.delegated()
			suite.Change(ctx, k, p, func() { annotations.AddAnnotations(p, map[string]string{ipamv1.ForceReleaseAnnotation: "edge-a"}) })
			w.delete(ctx, p)
		},
		done: func(ctx context.Context, w *world, g Gomega) {
			w.lacks(ctx, g, w.delegated())
			g.Expect(w.records(ctx, g)).To(BeEmpty())
		},
	},
	"letting a delegated pool go whose member has handed its block back": {
		before: func(ctx context.Context, w *world) { w.delegates(ctx) },
		event: func(ctx context.Context, w *world) {
			p := w.delegated()
			Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			unreported := p.DeepCopy()
			p.Status.Member = &ipamv1.MemberStatus{Cluster: "edge-a", Released: &ipamv1.ReleasedTemplate{TemplateUID: string(p.UID)}}
			Expect(k.Status().Patch(ctx, p, client.MergeFrom(unreported))).To(Succeed())
			w.delete(ctx, p)
		},
		done: func(ctx context.Context, w *world, g Gomega) {
			w.lacks(ctx, g, w.delegated())
			g.Expect(w.records(ctx, g)).To(BeEmpty())
		},
	},
	"letting a copy go that is to hand its block back": {
		before: func(ctx context.Context, w *world) { w.serveCopy(ctx, w.copied("10.1.0.0/30", "one")) },
		event:  func(ctx context.Context, w *world) { w.takeBack(ctx); w.delete(ctx, w.copied("", "")) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.lacks(ctx, g, w.copied("", ""))
			w.hasHandedBack(ctx, g, "one 10.1.0.0/30")
		},
	},
	"letting a carved pool go": {
		before: func(ctx context.Context, w *world) {
			w.createParent(ctx)
			w.create(ctx, w.child())
			Eventually(func(g Gomega) { w.isCarved(ctx, g) }, "1m", "100ms").Should(Succeed())
		},
		event: func(ctx context.Context, w *world) { w.delete(ctx, w.child()) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.lacks(ctx, g, w.child())
			g.Expect(w.records(ctx, g)).To(BeEmpty())
		},
	},
}

// ask creates the object while the API server asks a manager's webhooks.
func ask(ctx context.Context, m *framework.Manager, obj client.Object) error {
	if err := m.WaitReady(ctx); err != nil {
		return err
	}
	if err := site.PointWebhooks(ctx, m.WebhookAddress()); err != nil {
		return err
	}
	return k.Create(ctx, obj)
}

func (w *world) ownClaim() *ipamv1.IPClaim {
	return builder.IPClaim(w.name, claimName).From(w.pool.PoolReference().Kind, w.name).Build()
}

func (w *world) retained() *ipamv1.IPClaim {
	return builder.IPClaim(w.name, claimName).From(w.pool.PoolReference().Kind, w.name).Retained().Build()
}

func (w *world) child() *ipamv1.IPPool {
	return builder.IPPool(w.name, childName).WithParent(w.pool.PoolReference().Kind, "", w.name).WithBits(31).Build()
}

// delegated is the child, delegated to edge-a.
func (w *world) delegated() *ipamv1.IPPool {
	return builder.IPPool(w.name, childName).WithParent(w.pool.PoolReference().Kind, "", w.name).WithBits(31).DelegatedTo("edge-a").Build()
}

// copied is a copy that was delegated to the managers' cluster, of a template.
func (w *world) copied(cidr, template string) *ipamv1.IPPool {
	return builder.IPPool(w.name, childName).WithCIDR(cidr).WithSpace(w.name).WithParent(ipamv1.GlobalIPPoolKind, "", "of-the-hub").DelegatedTo(clusterName).
		WithAnnotation(ipamv1.TemplateAnnotation, template).Build()
}

// serveCopy makes a copy beside the world's pool, and waits until it is served.
func (w *world) serveCopy(ctx context.Context, p *ipamv1.IPPool) {
	GinkgoHelper()
	w.createPool(ctx, "10.0.0.0/30")
	w.isReady(ctx)
	w.create(ctx, p)
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(conditions.IsTrue(p, ipamv1.ReadyCondition)).To(BeTrue())
	}, "1m", "100ms").Should(Succeed())
}

func (w *world) takeBack(ctx context.Context) {
	GinkgoHelper()
	p := w.copied("", "")
	suite.Change(ctx, k, p, func() { p.Spec.Mode = ipamv1.ClosingMode })
}

// hasHandedBack says that just these are recorded as handed back, each a template and a prefix.
func (w *world) hasHandedBack(ctx context.Context, g Gomega, want ...string) {
	list := &ipamv1.IPAllocationList{}
	g.Expect(k.List(ctx, list)).To(Succeed())
	var got []string
	for _, r := range list.Items {
		if r.Spec.Purpose == ipamv1.HandBackPurpose && r.Spec.State != ipamv1.EndedState && r.Spec.AddressSpace == w.name {
			g.Expect(r.Spec.State).To(Equal(ipamv1.ConfirmedState))
			got = append(got, r.Spec.ClaimRef.UID+" "+r.Spec.CIDR)
		}
	}
	g.Expect(got).To(ConsistOf(want))
}

// createParent makes a pool from which anybody may carve, and waits until it hands out prefixes.
func (w *world) createParent(ctx context.Context) {
	GinkgoHelper()
	w.pool.PoolSpec().Allocation.MinPrefixLength = ptr.To[int32](31)
	w.createPool(ctx, "10.0.0.0/30")
	w.isReady(ctx)
}

func (w *world) create(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(k.Create(ctx, obj)).To(Succeed())
}

func (w *world) delete(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(k.Delete(ctx, obj)).To(Succeed())
}

func (w *world) lacks(ctx context.Context, g Gomega, obj client.Object) {
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Satisfy(apierrors.IsNotFound))
}

func (w *world) answerOwn(ctx context.Context, claim *ipamv1.IPClaim) {
	GinkgoHelper()
	w.create(ctx, claim)
	Eventually(func(g Gomega) { w.isBound(ctx, g) }, "1m", "100ms").Should(Succeed())
}

// isBound says that the claim has been told a prefix, and that the only record beside the pool's blocks is of just that.
func (w *world) isBound(ctx context.Context, g Gomega) {
	claim := w.ownClaim()
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	g.Expect(claim.Spec.CIDR).NotTo(BeEmpty())
	g.Expect(claim.Status.AllocatedCIDR).To(Equal(claim.Spec.CIDR))
	g.Expect(conditions.IsTrue(claim, ipamv1.ReadyCondition)).To(BeTrue())
	g.Expect(claim.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))
	w.isOwned(ctx, g, claim, claim.Spec.CIDR)
}

// isCarved says that the child has a block and hands it out, and that the only record beside the root's blocks is of just that.
func (w *world) isCarved(ctx context.Context, g Gomega) {
	child := w.child()
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
	g.Expect(child.Spec.CIDR).NotTo(BeEmpty())
	g.Expect(conditions.IsTrue(child, ipamv1.ReadyCondition)).To(BeTrue())
	w.isOwned(ctx, g, child, child.Spec.CIDR)
}

// delegates makes the parent, and the pool that is delegated from it.
func (w *world) delegates(ctx context.Context) {
	GinkgoHelper()
	w.createParent(ctx)
	w.create(ctx, w.delegated())
	Eventually(func(g Gomega) { w.isDelegated(ctx, g) }, "1m", "100ms").Should(Succeed())
}

// isDelegated says that the child has a block that edge-a hands out, and that the only record beside the root's blocks is of just that.
func (w *world) isDelegated(ctx context.Context, g Gomega) {
	child := w.delegated()
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
	g.Expect(conditions.IsTrue(child, ipamv1.ReadyCondition)).To(BeTrue())
	g.Expect(child.Annotations).To(HaveKeyWithValue(ipamv1.TemplateAnnotation, string(child.UID)))
	found := w.records(ctx, g)
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Spec).To(And(HaveField("CIDR", child.Spec.CIDR), HaveField("DelegatedTo", "edge-a"), HaveField("State", ipamv1.ConfirmedState)))
	g.Expect(found[0].Spec.ClaimRef.UID).To(BeEquivalentTo(child.UID))
}

func (w *world) isOwned(ctx context.Context, g Gomega, by client.Object, cidr string) {
	found := w.records(ctx, g)
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Spec.CIDR).To(Equal(cidr))
	g.Expect(found[0].Spec.ClaimRef.UID).To(BeEquivalentTo(by.GetUID()))
	g.Expect(metav1.IsControlledBy(&found[0], by)).To(BeTrue(), "its owners are %v", found[0].OwnerReferences)
}

func (w *world) retains(ctx context.Context, g Gomega) {
	w.lacks(ctx, g, w.ownClaim())
	found := w.records(ctx, g)
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Spec.ReleasedAt.IsZero()).To(BeFalse())
	g.Expect(found[0].OwnerReferences).To(BeEmpty())
	g.Expect(found[0].Finalizers).To(ConsistOf(ipamv1.AllocationFinalizer))
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// world is the namespace of a spec, with a root that holds four /26.
type world struct {
	*suite.Spec

	root *ipamv1.IPPool
}

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	w := &world{Spec: suite.New(ctx, site)}
	w.root = w.Root("root", "10.0.0.0/24").WithLengths(24, 32, 0).Build()
	w.Create(ctx, w.root)
	w.Ready(ctx, w.root)
	return w
}

// pool begins a /26 of the root.
func (w *world) pool(name string) *builder.PoolBuilder[*ipamv1.IPPool] {
	return w.Child(name, "root", 26)
}

// delegated begins one, named team, that is delegated to edge-a.
func (w *world) delegated() *builder.PoolBuilder[*ipamv1.IPPool] {
	return w.pool("team").DelegatedTo("edge-a")
}

// make creates a pool and waits until its block is confirmed.
func (w *world) make(ctx context.Context, p *ipamv1.IPPool) *ipamv1.IPPool {
	GinkgoHelper()
	w.Create(ctx, p)
	w.Ready(ctx, p)
	return p
}

// strip removes an object behind its finalizers' backs.
func strip(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(k.Delete(ctx, obj)).To(Succeed())
	Expect(k.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	suite.Gone(ctx, k, obj)
}

// holds waits until a pool says that it holds blocks whose pools are gone, and all these words.
func holds(ctx context.Context, parent suite.Conditioned, words ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(parent), parent)).To(Succeed())
		held := meta.FindStatusCondition(parent.GetConditions(), "BlocksHeld")
		g.Expect(held).NotTo(BeNil())
		g.Expect(held.Reason).To(Equal("PoolGone"))
		for _, word := range words {
			g.Expect(held.Message).To(ContainSubstring(word))
		}
	}, patience, "100ms").Should(Succeed())
}

// holdsNothing waits until a pool says nothing of that any more.
func holdsNothing(ctx context.Context, parent suite.Conditioned) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(parent), parent)).To(Succeed())
		g.Expect(meta.FindStatusCondition(parent.GetConditions(), "BlocksHeld")).To(BeNil())
	}, patience, "100ms").Should(Succeed())
}

// recordedFor returns the records of the blocks that pools of that name have, or had.
func (w *world) recordedFor(ctx context.Context, g Gomega, name string) []ipamv1.IPAllocation {
	list := &ipamv1.IPAllocationList{}
	g.Expect(k.List(ctx, list, client.MatchingFields{"spec.claimRef.name": name})).To(Succeed())
	var found []ipamv1.IPAllocation
	for _, r := range list.Items {
		if r.Spec.AddressSpace == w.Namespace {
			found = append(found, r)
		}
	}
	return found
}

// standsFor waits until the only record of a block is the pool's, confirmed, and goes to edge-a.
func (w *world) standsFor(ctx context.Context, p *ipamv1.IPPool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := w.recordedFor(ctx, g, p.Name)
		g.Expect(found).To(HaveLen(1))
		g.Expect(found[0].Spec).To(And(HaveField("CIDR", p.Spec.CIDR), HaveField("DelegatedTo", "edge-a"), HaveField("State", ipamv1.ConfirmedState)))
		g.Expect(found[0].Spec.ClaimRef.UID).To(BeEquivalentTo(p.UID))
	}, patience, "100ms").Should(Succeed())
}

// fill takes all of the root but for what is held, and expects just these blocks.
func (w *world) fill(ctx context.Context, want ...string) {
	GinkgoHelper()
	got := make([]string, 0, len(want))
	for _, name := range []string{"fill-1", "fill-2", "fill-3", "fill-4"}[:len(want)] {
		p := w.pool(name).Build()
		w.Create(ctx, p)
		got = append(got, p.Spec.CIDR)
	}
	Expect(got).To(ConsistOf(want))
	Expect(k.Create(ctx, w.pool("fill-more").Build())).To(MatchError(ContainSubstring("exhausted")))
}

// force deletes a pool that waits, and states that the member uses its block no more.
func (w *world) force(ctx context.Context, p *ipamv1.IPPool, member string) {
	GinkgoHelper()
	Expect(k.Delete(ctx, p)).To(Succeed())
	w.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, `delegated to cluster "`+p.Spec.DelegateTo+`"`, "ipam.weir.dev/force-release: "+p.Spec.DelegateTo)
	w.say(ctx, p, member)
}

func (w *world) say(ctx context.Context, p *ipamv1.IPPool, member string) {
	GinkgoHelper()
	suite.Change(ctx, k, p, func() { metaAnnotate(p, "ipam.weir.dev/force-release", member) })
}

func metaAnnotate(obj client.Object, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// plot is a name that pools of the hub have one after the other, with a namespace of that name's own at each cluster.
type plot struct {
	*world

	all  *ordeal
	kind string
	// random makes the choices.
	random *rand.Rand
	// old is what a member was sent of each pool that was deleted, by the member's name.
	old map[string][]*unstructured.Unstructured
}

func newPlot(ctx context.Context, o *ordeal, i int) *plot {
	GinkgoHelper()
	p := &plot{world: &world{}, all: o, kind: ipamv1.IPPoolKind, old: map[string][]*unstructured.Unstructured{}}
	p.random = rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 200+uint64(i)))
	if i%2 > 0 {
		p.kind = ipamv1.GlobalIPPoolKind
	}
	for at, c := range map[**suite.Spec]*cluster{&p.hub: hub, &p.a: edgeA, &p.b: edgeB} {
		*at = &suite.Spec{Site: c.Site, Client: c.Client(), Namespace: fmt.Sprintf("%s-%d", o.hub.Namespace, i)}
	}
	for _, at := range []*suite.Spec{p.hub, p.a, p.b} {
		at.Create(ctx, p.namespace())
	}
	return p
}

// live has one row after the other happen to the plot, until ctx ends.
func (p *plot) live(ctx context.Context) {
	chances := make([]row, 0, len(rows))
	for _, r := range rows {
		chances = append(chances, slices.Repeat([]row{r}, r.often)...)
	}
	for ctx.Err() == nil {
		r := chances[p.random.IntN(len(chances))]
		if r.do(p, context.WithoutCancel(ctx)) {
			p.all.count(r.name)
		}
		faults.Sleep(ctx, faults.UpTo(p.random, 300*time.Millisecond))
	}
}

func members() []*cluster { return []*cluster{edgeA, edgeB} }

func clusters() []*cluster { return []*cluster{hub, edgeA, edgeB} }

// label names the cluster.
func (c *cluster) label() string {
	if c == hub {
		return "the hub"
	}
	return c.name
}

func (p *plot) at(c *cluster) *suite.Spec {
	return map[*cluster]*suite.Spec{hub: p.hub, edgeA: p.a, edgeB: p.b}[c]
}

func (p *plot) anyMember() *cluster { return members()[p.random.IntN(2)] }

// memberNamed returns the member of that name, and the other one.
func memberNamed(name string) (is, other *cluster) {
	if name == edgeA.name {
		return edgeA, edgeB
	}
	return edgeB, edgeA
}

// blocks are those that pools of a plot may be made of.
func blocks() (all []string) {
	for i := range 8 {
		all = append(all, fmt.Sprintf("10.0.%d.0/24", i))
	}
	return all
}

func (p *plot) anyBlock() string { return blocks()[p.random.IntN(8)] }

func (p *plot) namespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.hub.Namespace}}
}

// pool returns a pool of the plot for a member; "" is whichever block the hub chooses.
func (p *plot) pool(to *cluster, cidr string) ownPool {
	var made ownPool
	if p.kind == ipamv1.GlobalIPPoolKind {
		made = p.all.global(p.hub.Namespace, to, 24).Build()
	} else {
		made = p.all.local("team", to, 24).Build()
		made.SetNamespace(p.hub.Namespace)
	}
	made.PoolSpec().CIDR = cidr
	return made
}

// stored returns the pool, or a member's copy; nil if there is none, or it cannot be read.
func (p *plot) stored(ctx context.Context, c *cluster) ownPool {
	stored := copyOf(p.pool(edgeA, ""))
	if c.Client().Get(ctx, client.ObjectKeyFromObject(stored), stored) != nil {
		return nil
	}
	return stored
}

func isDeleted(p ownPool) bool { return !p.GetDeletionTimestamp().IsZero() }

// held returns the hub's records of blocks of pools of the plot that are gone.
func (p *plot) held(ctx context.Context) []ipamv1.IPAllocation {
	stored := p.stored(ctx, hub)
	name := p.pool(edgeA, "")
	return slices.DeleteFunc(p.all.hub.InSpace(ctx), func(r ipamv1.IPAllocation) bool {
		ref := r.Spec.ClaimRef
		isOurs := ref.Kind == p.kind && ref.Namespace == name.GetNamespace() && ref.Name == name.GetName()
		return !isOurs || r.Spec.DelegatedTo == "" || stored != nil && ref.UID == string(stored.GetUID())
	})
}

func (p *plot) create(ctx context.Context, to *cluster, cidr string) bool {
	if p.stored(ctx, hub) != nil {
		return false
	}
	_ = p.hub.Client.Create(ctx, p.namespace()) // it may have been deleted
	return p.hub.Client.Create(ctx, p.pool(to, cidr)) == nil
}

func (p *plot) delegate(ctx context.Context) bool { return p.create(ctx, p.anyMember(), "") }

// again makes the pool of a block that is held again.
func again(how func(p *plot, ctx context.Context, held ipamv1.IPAllocation) (*cluster, string)) func(*plot, context.Context) bool {
	return func(p *plot, ctx context.Context) bool {
		held := p.held(ctx)
		if len(held) == 0 {
			return false
		}
		to, cidr := how(p, ctx, held[0])
		return p.create(ctx, to, cidr)
	}
}

func (*plot) sameBlock(_ context.Context, held ipamv1.IPAllocation) (*cluster, string) {
	is, _ := memberNamed(held.Spec.DelegatedTo)
	return is, held.Spec.CIDR
}

// otherBlock is one that the hub has no record of: a pool of a block that another pool has is refused. If each has one, it lies outside of the root,
// and is refused as well.
func (p *plot) otherBlock(ctx context.Context, held ipamv1.IPAllocation) (*cluster, string) {
	is, _ := memberNamed(held.Spec.DelegatedTo)
	records := p.all.hub.InSpace(ctx)
	free := slices.DeleteFunc(blocks(), func(block string) bool {
		return slices.ContainsFunc(records, func(r ipamv1.IPAllocation) bool { return r.Spec.CIDR == block })
	})
	if len(free) == 0 {
		return is, "10.1.0.0/24"
	}
	return is, free[p.random.IntN(len(free))]
}

func (*plot) otherMember(_ context.Context, held ipamv1.IPAllocation) (*cluster, string) {
	_, other := memberNamed(held.Spec.DelegatedTo)
	return other, ""
}

// claim makes claims of both front doors, also where there is no copy: they wait.
func (p *plot) claim(ctx context.Context) bool {
	at := p.at(p.anyMember())
	own, capi := claims(at, fmt.Sprint("claim-", p.random.IntN(4)), p.pool(edgeA, ""))
	isMade := at.Client.Create(ctx, own) == nil
	return at.Client.Create(ctx, capi) == nil || isMade
}

// claimsAt returns the plot's claims at a member, of both front doors.
func (p *plot) claimsAt(ctx context.Context, c *cluster) ([]client.Object, error) {
	own, capi := &ipamv1.IPClaimList{}, &ipamv1beta2.IPAddressClaimList{}
	for _, list := range []client.ObjectList{own, capi} {
		if err := c.Client().List(ctx, list, client.InNamespace(p.hub.Namespace)); err != nil {
			return nil, err
		}
	}
	return append(suite.Items(own), suite.Items(capi)...), nil
}

// release deletes all claims at a member.
func (p *plot) release(ctx context.Context) bool { return p.releaseAt(ctx, p.anyMember()) }

func (p *plot) releaseAt(ctx context.Context, c *cluster) (isDone bool) {
	found, _ := p.claimsAt(ctx, c) // none if the member does not answer
	for _, claim := range found {
		isDone = c.Client().Delete(ctx, claim) == nil || isDone
	}
	return isDone
}

// deleted deletes the pool, if its member has claims of it or not.
func deleted(isUsed bool, options ...client.DeleteOption) func(*plot, context.Context) bool {
	return func(p *plot, ctx context.Context) bool {
		stored := p.stored(ctx, hub)
		if stored == nil || isDeleted(stored) {
			return false
		}
		member, _ := memberNamed(stored.PoolSpec().DelegateTo)
		own := &ipamv1.IPClaimList{}
		if member.Client().List(ctx, own, client.InNamespace(p.hub.Namespace)) != nil || len(own.Items) > 0 != isUsed {
			return false
		}
		p.old[member.name] = append(p.old[member.name], marked(member.name, stored))
		return p.hub.Client.Delete(ctx, stored, options...) == nil
	}
}

// vanish strips the finalizer of the pool, before or after its member was ordered to hand the block back.
func (p *plot) vanish(ctx context.Context) bool {
	stored := p.stored(ctx, hub)
	if stored == nil || p.hub.Client.Delete(ctx, stored) != nil {
		return false
	}
	return p.hub.Client.Patch(ctx, stored, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))) == nil
}

// endNamespace deletes the namespace at the hub.
func (p *plot) endNamespace(ctx context.Context) bool {
	stored := p.stored(ctx, hub)
	return stored != nil && !isDeleted(stored) && p.kind == ipamv1.IPPoolKind && p.hub.Client.Delete(ctx, p.namespace()) == nil
}

// force has an operator state that the member of a pool that is being deleted uses its block no more, nor will: the member has handed it back,
// or nothing reaches it from the hub's namespace, which ends.
func (p *plot) force(ctx context.Context) bool {
	stored := p.stored(ctx, hub)
	if stored == nil || !isDeleted(stored) {
		return false
	}
	namespace := p.namespace()
	if p.kind == ipamv1.IPPoolKind && p.hub.Client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace) != nil {
		return false
	}
	member, _ := memberNamed(stored.PoolSpec().DelegateTo)
	if !p.hasHandedBack(ctx, member, string(stored.GetUID())) && (namespace.DeletionTimestamp.IsZero() || !p.isUnused(ctx, member, stored.PoolSpec().CIDR)) {
		return false
	}
	return p.forceRelease(ctx, stored)
}

func (p *plot) forceRelease(ctx context.Context, stored ownPool) bool {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, ipamv1.ForceReleaseAnnotation, stored.PoolSpec().DelegateTo)
	return p.hub.Client.Patch(ctx, stored, client.RawPatch(types.MergePatchType, []byte(patch))) == nil
}

// deleteRecord has an operator delete the record of a held block that its member uses no more, nor will.
func (p *plot) deleteRecord(ctx context.Context) bool {
	held := p.held(ctx)
	if len(held) == 0 {
		return false
	}
	member, _ := memberNamed(held[0].Spec.DelegatedTo)
	if !p.hasHandedBack(ctx, member, held[0].Spec.ClaimRef.UID) && !p.isUnused(ctx, member, held[0].Spec.CIDR) {
		return false
	}
	return p.hub.Client.Delete(ctx, &held[0]) == nil
}

// hasHandedBack reports whether a member has handed back the block of a pool of the hub: it stays so, whatever its managers do, and when the block
// is delegated to it again.
func (p *plot) hasHandedBack(ctx context.Context, member *cluster, template string) bool {
	return slices.ContainsFunc(p.spaceAt(member).InSpace(ctx), func(r ipamv1.IPAllocation) bool {
		isWon := r.Spec.State == ipamv1.ConfirmedState || r.Spec.State == ipamv1.EndedState
		return isWon && r.Spec.Purpose == ipamv1.HandBackPurpose && r.Spec.ClaimRef.UID == template
	})
}

// isUnused has an operator look whether anything of a block is stored at a member, and start its managers again, so that none has anything of
// it under way. Nothing of it is sent there any more.
func (p *plot) isUnused(ctx context.Context, member *cluster, block string) bool {
	if p.uses(ctx, member, block) {
		return false
	}
	p.all.injectors[member].Renew(ctx)
	return !p.uses(ctx, member, block)
}

func (p *plot) uses(ctx context.Context, member *cluster, block string) bool {
	within := netip.MustParsePrefix(block)
	copied := p.stored(ctx, member)
	return copied != nil && copied.PoolSpec().CIDR == block && copied.PoolSpec().Mode != ipamv1.ClosingMode ||
		slices.ContainsFunc(p.spaceAt(member).InSpace(ctx), func(r ipamv1.IPAllocation) bool {
			return r.Spec.Purpose != ipamv1.HandBackPurpose && within.Overlaps(netip.MustParsePrefix(r.Spec.CIDR))
		})
}

// spaceAt is the address space of all plots at a member.
func (p *plot) spaceAt(member *cluster) *suite.Spec {
	return map[*cluster]*suite.Spec{edgeA: p.all.a, edgeB: p.all.b}[member]
}

func (p *plot) deleteCopy(ctx context.Context) bool {
	member := p.anyMember()
	copied := p.stored(ctx, member)
	return copied != nil && !isDeleted(copied) && member.Client().Delete(ctx, copied) == nil
}

func (p *plot) deleteBinding(ctx context.Context) bool {
	return p.hub.Client.Delete(ctx, propagator.BindingOf(p.pool(edgeA, ""), p.kind)) == nil
}

// loseReport wipes what the member has said, at both ends.
func (p *plot) loseReport(ctx context.Context) bool {
	stored := p.stored(ctx, hub)
	if stored == nil || p.report(ctx, stored, nil) != nil {
		return false
	}
	member, _ := memberNamed(stored.PoolSpec().DelegateTo)
	copied := p.stored(ctx, member)
	return copied != nil && member.Client().Status().Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))) == nil
}

// reportWrongly writes a report that releases nothing.
func (p *plot) reportWrongly(ctx context.Context) bool {
	stored := p.stored(ctx, hub)
	if stored == nil {
		return false
	}
	is, other := memberNamed(stored.PoolSpec().DelegateTo)
	uid, older := string(stored.GetUID()), stored.GetGeneration()-1
	wrong := []*ipamv1.MemberStatus{
		{Cluster: other.name, Released: &ipamv1.ReleasedTemplate{TemplateUID: uid}},
		{Cluster: is.name, Released: &ipamv1.ReleasedTemplate{TemplateUID: "earlier-" + uid}},
		{Cluster: is.name, Released: &ipamv1.ReleasedTemplate{TemplateUID: uid, TemplateGeneration: &older}},
	}
	return p.report(ctx, stored, wrong[p.random.IntN(len(wrong))]) == nil
}

// misplace places a copy at the other member.
func (p *plot) misplace(ctx context.Context) bool {
	stored := p.stored(ctx, hub)
	if stored == nil {
		return false
	}
	_, other := memberNamed(stored.PoolSpec().DelegateTo)
	return other.Client().Create(ctx, marked(other.name, stored)) == nil
}

// misname marks a copy as if Karmada called its cluster otherwise, until it is sent again.
func (p *plot) misname(ctx context.Context) bool {
	member := p.anyMember()
	copied := p.stored(ctx, member)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"karmada-es-another"}}}`, propagator.WorkNamespaceAnnotation)
	return copied != nil && member.Client().Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(patch))) == nil
}

// lab is a pool of a member's own.
func (p *plot) lab(c *cluster, cidr string) *ipamv1.IPPool {
	return builder.IPPool(p.at(c).Namespace, "lab").WithCIDR(cidr).WithSpace(p.all.hub.Namespace).Build()
}

// refuse makes a pool of the member's own, and delegates what overlaps it.
func (p *plot) refuse(ctx context.Context) bool {
	member, block := p.anyMember(), p.anyBlock()
	if p.stored(ctx, hub) != nil || member.Client().Create(ctx, p.lab(member, block)) != nil {
		return false
	}
	return p.create(ctx, member, block)
}

func (p *plot) refuseNoMore(ctx context.Context) bool {
	member := p.anyMember()
	return member.Client().Delete(ctx, p.lab(member, "")) == nil
}

// applyAgain applies the manifest of a pool whose block a member has handed back, however many it has had and handed back since.
func (p *plot) applyAgain(ctx context.Context) bool {
	member := p.anyMember()
	if stored := p.stored(ctx, hub); stored != nil && stored.PoolSpec().DelegateTo == member.name || p.stored(ctx, member) != nil {
		return false // that is what it is sent
	}
	old := slices.DeleteFunc(slices.Clone(p.old[member.name]), func(template *unstructured.Unstructured) bool {
		return !p.hasHandedBack(ctx, member, template.GetAnnotations()[propagator.TemplateUIDAnnotation])
	})
	return len(old) > 0 && member.Client().Create(ctx, old[p.random.IntN(len(old))].DeepCopy()) == nil
}

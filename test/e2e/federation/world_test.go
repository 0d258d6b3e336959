// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"net/http"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// world is a spec's namespace, and its address space, at each of the clusters: they have one name.
type world struct{ hub, a, b *suite.Spec }

// newWorld has a root at the hub that pools of both kinds are carved from.
func newWorld(ctx context.Context, cidr string) *world {
	GinkgoHelper()
	w := &world{hub: suite.New(ctx, hub.Site)}
	at := func(c *cluster) *suite.Spec {
		s := &suite.Spec{Site: c.Site, Client: c.Client(), Namespace: w.hub.Namespace}
		s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}})
		return s
	}
	w.a, w.b = at(edgeA), at(edgeB)
	w.hub.Create(ctx, w.root(cidr).Build())
	return w
}

type (
	globalBuilder = builder.PoolBuilder[*ipamv1.GlobalIPPool]
	localBuilder  = builder.PoolBuilder[*ipamv1.IPPool]
)

// root begins the root, of which everybody may carve blocks of any length.
func (w *world) root(cidr string) *globalBuilder {
	return w.hub.GlobalRoot("root", cidr).WithLengths(8, 32, 0)
}

// ownPool is a pool of either kind.
type ownPool interface {
	suite.Conditioned
	PoolSpec() *ipamv1.IPPoolSpec
	PoolStatus() *ipamv1.IPPoolStatus
}

// local and global begin a pool that is carved from the root and delegated.
func (w *world) local(name string, to *cluster, bits int32) *localBuilder {
	return builder.IPPool(w.hub.Namespace, name).WithParent(ipamv1.GlobalIPPoolKind, "", w.hub.Global("root")).WithBits(bits).DelegatedTo(to.name)
}

func (w *world) global(name string, to *cluster, bits int32) *globalBuilder {
	return builder.GlobalIPPool(w.hub.Global(name)).WithParent(ipamv1.GlobalIPPoolKind, "", w.hub.Global("root")).WithBits(bits).
		WithLengths(bits, 32, 0).DelegatedTo(to.name)
}

// delegated returns a /24 of a kind.
func (w *world) delegated(kind, name string, to *cluster) ownPool {
	if kind == ipamv1.GlobalIPPoolKind {
		return w.global(name, to, 24).Build()
	}
	return w.local(name, to, 24).Build()
}

// kindOf returns the kind of a pool.
func kindOf(p ownPool) string {
	if _, isGlobal := p.(*ipamv1.GlobalIPPool); isGlobal {
		return ipamv1.GlobalIPPoolKind
	}
	return ipamv1.IPPoolKind
}

// copyOf returns an object to read a member's copy of a pool into.
func copyOf(p ownPool) ownPool {
	if kindOf(p) == ipamv1.GlobalIPPoolKind {
		return builder.GlobalIPPool(p.GetName()).Build()
	}
	return builder.IPPool(p.GetNamespace(), p.GetName()).Build()
}

// arrived waits until a member serves its copy of a pool of the hub, and returns that.
func arrived(ctx context.Context, at *suite.Spec, p ownPool) ownPool {
	GinkgoHelper()
	stored := copyOf(p)
	Eventually(func() error { return at.Client.Get(ctx, client.ObjectKeyFromObject(stored), stored) }, patience, "100ms").Should(Succeed())
	at.Ready(ctx, stored)
	return stored
}

// claims returns a claim of each front door that both kinds of pool have.
func claims(at *suite.Spec, name string, p ownPool) (*ipamv1.IPClaim, *ipamv1beta2.IPAddressClaim) {
	kind := kindOf(p)
	return builder.IPClaim(at.Namespace, name).From(kind, p.GetName()).Build(), builder.IPAddressClaim(at.Namespace, name, kind, p.GetName()).Build()
}

// child begins a pool of the spec's namespace that is carved from another.
func child(at *suite.Spec, name string, parent ownPool, bits int32) *localBuilder {
	return builder.IPPool(at.Namespace, name).WithParent(kindOf(parent), "", parent.GetName()).WithBits(bits)
}

// answers makes a claim of each front door, waits until both are answered out of the block, and returns the IPClaim and the IPAddress.
func answers(ctx context.Context, at *suite.Spec, name string, p ownPool, block string) (*ipamv1.IPClaim, *ipamv1beta2.IPAddress) {
	GinkgoHelper()
	own, capi := claims(at, name, p)
	at.Create(ctx, own, capi)
	at.Ready(ctx, own, capi)
	within := netip.MustParsePrefix(block)
	Expect(within.Contains(netip.MustParsePrefix(own.Spec.CIDR).Addr())).To(BeTrue(), "%s of %s", own.Spec.CIDR, block)
	address := &ipamv1beta2.IPAddress{}
	Expect(at.Client.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: capi.Status.AddressRef.Name}, address)).To(Succeed())
	Expect(within.Contains(netip.MustParseAddr(address.Spec.Address))).To(BeTrue(), "%s of %s", address.Spec.Address, block)
	return own, address
}

// refuses expects that no front door hands out anything of the pool, nor is anything carved from it, and that all say why.
func refuses(ctx context.Context, at *suite.Spec, p ownPool, words ...string) {
	GinkgoHelper()
	own, capi := claims(at, "refused", p)
	at.Refuses(ctx, own, http.StatusUnprocessableEntity, words...)
	at.Refuses(ctx, child(at, "refused", p, 28).Build(), http.StatusUnprocessableEntity, append([]string{"spec.parentRef.name"}, words...)...)
	at.Create(ctx, capi)
	at.NotReady(ctx, capi, ipamv1.ClaimReadyPoolNotReadyReason, words...)
	Expect(at.Records(ctx, capi)).To(BeEmpty())
	at.Delete(ctx, capi)
}

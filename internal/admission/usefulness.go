// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// doubtful warns of what a new or changed spec may say and can hardly mean.
// None of it is unsafe, and all of it may be meant: a pool that will grow, or
// that is emptied by excluding it. External pools are passed over: nobody here
// chooses their addresses, and all of IPv4 contains every gateway.
func (v poolValidator[P]) doubtful(ctx context.Context, to *audience, p P, c change) admission.Warnings {
	if c.shape.IsExternal() {
		return nil
	}
	return slices.Concat(uselessExclusions(p.PoolSpec(), c.shape), v.sharedGateways(ctx, to, p, c.shape), v.foreign(ctx, to, p, c))
}

// uselessExclusions warns of exclusions outside the pool, and of a pool of
// which nothing is left.
func uselessExclusions(spec *ipamv1.IPPoolSpec, shape *pooltree.Pool) (warnings admission.Warnings) {
	var outside []string
	for _, text := range spec.ExcludedAddresses {
		if r, err := ipspace.ParseEntry(string(text)); err == nil && !shape.Addresses().OverlapsRange(r) {
			outside = append(outside, string(text))
		}
	}
	if len(outside) > 0 {
		warnings = append(warnings, fmt.Sprintf("spec.excludedAddresses: %s outside the pool%s",
			count(len(outside), "entry lies", "entries lie"), someOf(outside, len(outside))))
	}
	if shape.Total() == shape.ExcludedCount() {
		warnings = append(warnings, "spec: the pool hands out nothing: each of its addresses is excluded, reserved or the gateway")
	}
	return warnings
}

// foreign warns of what the pool had not before and IPAddresses of other
// providers name.
func (v poolValidator[P]) foreign(ctx context.Context, to *audience, p P, c change) admission.Warnings {
	space := poolspec.Space(p.PoolSpec())
	if says := v.carver.registry.Says(p); says.IsCarved() {
		space = v.carver.registry.Registered(says.Parent).Space
	}
	found := v.holdings.ForeignIn(space, gained(c.shape, c.was))
	if len(found) == 0 {
		return nil
	}
	var objects []string
	for _, a := range found {
		if len(objects) > named {
			break
		}
		if to.mayGet(ctx, scope{kinds.IPAddress, a.Namespace}) {
			objects = append(objects, text(a.Prefix)+", "+a.String())
		}
	}
	return admission.Warnings{fmt.Sprintf("spec: other IPAM providers use addresses of the pool, which are not handed out: %s%s",
		count(len(found), "IPAddress", "IPAddresses"), someOf(objects, len(found)))}
}

// missingCluster warns of a pool that belongs to a Cluster which is not there:
// it is idle until there is one. old is nil for a new pool.
func (v poolValidator[P]) missingCluster(ctx context.Context, p P, old *ipamv1.IPPoolSpec) admission.Warnings {
	name := p.PoolSpec().ClusterName
	if name == "" || old != nil && old.ClusterName == name {
		return nil
	}
	registry := v.carver.registry
	if _, missing, err := registry.ClusterOf(ctx, registry.Client, &pools.Known{Object: p, Says: registry.Says(p)}); !missing || err != nil {
		return nil
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.GetNamespace(), Name: name}}
	if stored, _ := registry.IsStored(ctx, cluster); stored { // the cache does not show it yet
		return nil
	}
	return admission.Warnings{fmt.Sprintf("spec.clusterName: there is no Cluster %q in namespace %s: the pool hands out nothing until there is", name, p.GetNamespace())}
}

// sharedGateways warns where an address is the gateway of one pool and handed
// out by another one of the address space: this one or a neighbour.
func (v poolValidator[P]) sharedGateways(ctx context.Context, to *audience, p P, shape *pooltree.Pool) (warnings admission.Warnings) {
	self := ledger.Pool{Ref: p.PoolReference(), Space: poolspec.Space(p.PoolSpec()), Shape: shape}
	for _, other := range v.carver.registry.Neighbours(ctx, self.Space) {
		if other.Ref == self.Ref || len(warnings) == named {
			continue
		}
		name := "another pool"
		if shared := v.sharedGateway(self, other); shared.IsValid() {
			if to.mayGetPool(ctx, other.Ref) {
				name = nameOf(other.Ref)
			}
			warnings = append(warnings, fmt.Sprintf("spec: the pool hands out %s, the gateway of %s: exclude it", shared, name))
		} else if shared = v.sharedGateway(other, self); shared.IsValid() {
			if to.mayGetPool(ctx, other.Ref) {
				name = nameOf(other.Ref)
			}
			warnings = append(warnings, fmt.Sprintf("spec.network.gateway: %s is handed out by %s: exclude it there", shared, name))
		}
	}
	return warnings
}

// sharedGateway returns a gateway of one pool, outside it, that another pool
// hands out; the zero value if there is none. What is carved out of the other
// pool is not its to hand out.
func (v poolValidator[P]) sharedGateway(giving, of ledger.Pool) netip.Addr {
	for _, g := range of.Shape.AllGateways() {
		single := netip.PrefixFrom(g, g.BitLen())
		if of.Shape.Contains(single) || refuses(giving.Shape, single) {
			continue
		}
		isCarved := slices.ContainsFunc(v.holdings.Overlapping(giving.Space, single), func(h ledger.Holding) bool {
			return h.Purpose == ledger.ForChildPool && h.Pool == giving.Ref
		})
		if !isCarved {
			return g
		}
	}
	return netip.Addr{}
}

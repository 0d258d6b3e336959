// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// hostLengths refuses addresses with a gateway that come with host length, and
// warns of those without. What the stored pool has already is warned of only:
// its other fields may change. old is nil for a new pool.
func hostLengths(updated, old *ipamv1.IPPoolSpec, ref ipamv1.PoolReference) (field.ErrorList, admission.Warnings) {
	mistakes, warnings := poolspec.CheckHostLength(updated, ref)
	if old == nil {
		return mistakes, warnings
	}
	known, _ := poolspec.CheckHostLength(old, ref)
	var errs field.ErrorList
	for _, m := range mistakes {
		if isKnown := slices.ContainsFunc(known, func(k *field.Error) bool { return k.Field == m.Field }); isKnown {
			warnings = append(warnings, m.Error())
		} else {
			errs = append(errs, m)
		}
	}
	return errs, warnings
}

// outdated warns of the IPAddresses that keep the network settings that the
// pool had before: an IPAddress never changes. Those of pools below that
// inherit the settings count, too.
func (v poolValidator[P]) outdated(ctx context.Context, c change) admission.Warnings {
	if c.was == nil || c.shape.HasNetworksOf(c.was) {
		return nil
	}
	n := countClaims(c.held, func(prefix netip.Prefix) bool {
		return differ(prefix, c.shape.NetworkOf(prefix.Addr()), c.was.NetworkOf(prefix.Addr()))
	})
	n += v.countBelow(ctx, c.held, func(prefix netip.Prefix) bool {
		return differ(prefix, inherited(c.shape, prefix), inherited(c.was, prefix))
	})
	if n == 0 {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("spec.network: %s the prefix length, gateway and DNS servers of before until the claim is deleted; new ones get what the pool says now",
		count(n, "IPAddress keeps", "IPAddresses keep"))}
}

// countClaims counts the IPAddressClaims that hold a prefix which differs.
func countClaims(held []ledger.Holding, differs func(netip.Prefix) bool) (n int) {
	for _, h := range held {
		if h.Claim.GroupKind() == kinds.IPAddressClaim && differs(h.CIDR) {
			n++
		}
	}
	return n
}

// countBelow does so in the pools carved from what is held, as far as they
// inherit.
func (v poolValidator[P]) countBelow(ctx context.Context, held []ledger.Holding, differs func(netip.Prefix) bool) (n int) {
	for _, h := range held {
		below := h.Claim.Pool()
		if h.Purpose == ledger.ForChildPool && v.inherits(ctx, below) {
			records := inUse(v.holdings.Holdings(below))
			n += countClaims(records, differs) + v.countBelow(ctx, records, differs)
		}
	}
	return n
}

// inherits reports whether there is such a pool and it has its parent's network settings.
func (v poolValidator[P]) inherits(ctx context.Context, ref ipamv1.PoolReference) bool {
	p, err := v.carver.registry.Find(ctx, ref)
	return err == nil && p.Says.Inherits
}

// inherited returns what a pool below has of the pool's settings for prefix: a length that nobody has chosen is not among them.
func inherited(shape *pooltree.Pool, prefix netip.Prefix) pooltree.Network {
	n := shape.NetworkOf(prefix.Addr())
	if n.Implied {
		n.Bits = 0
	}
	return n
}

// differ reports whether what comes with prefix has changed. A block has a length of its own.
func differ(prefix netip.Prefix, now, before pooltree.Network) bool {
	if !prefix.IsSingleIP() {
		now.Bits, before.Bits = 0, 0
	}
	return !now.Equal(before)
}

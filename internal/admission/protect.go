// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"go4.org/netipx"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// named is how many of many things a message names.
const named = 5

// orderly are the callers that delete what depends on a pool as well, and wait
// for it: the garbage collector, the namespace controller, and both under the
// name that they have in a kube-controller-manager without
// --use-service-account-credentials.
var orderly = []string{
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:kube-controller-manager",
}

func deletesInOrder(user string) bool { return slices.Contains(orderly, user) }

// moves reports whether clusterctl deletes the pool because it has moved it to
// another management cluster.
func moves(p client.Object) bool {
	_, ok := p.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]
	return ok
}

// inUse leaves out what its claims have let go of and only cools down; not what is retained.
func inUse(held []ledger.Holding) []ledger.Holding {
	return slices.DeleteFunc(slices.Clone(held), func(h ledger.Holding) bool { return !h.ReleasedAt.IsZero() && !h.Retained })
}

// protected refuses the deletion of a pool with allocations.
func protected(ctx context.Context, to *audience, p ipamv1.PoolReference, held []ledger.Holding) *apierrors.StatusError {
	if len(held) == 0 {
		return nil
	}
	return apierrors.NewForbidden(resourceOf(p.GroupKind()), p.Name,
		fmt.Errorf("%s allocated from it%s", count(len(held), "prefix is", "prefixes are"), to.list(ctx, held)))
}

// change is what an update makes of a pool; was is nil if the spec could not be served before.
type change struct {
	held       []ledger.Holding
	shape, was *pooltree.Pool
}

// uncovered refuses to replace a root pool's cidr by addresses that do not
// contain all of it: the pool grows by that. The list may shrink afterwards.
func uncovered(updated, old *ipamv1.IPPoolSpec, shape *pooltree.Pool) field.ErrorList {
	block, err := netip.ParsePrefix(old.CIDR)
	if err != nil || updated.CIDR != "" || shape.Contains(block) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "addresses"),
		fmt.Sprintf("must contain all of %s, the cidr that they replace; what is not in use may be taken out in another update", block))}
}

// fallenOut refuses an update that takes addresses in use out of the pool.
func fallenOut(ctx context.Context, to *audience, source *field.Path, c change) field.ErrorList {
	held, shape, was := c.held, c.shape, c.was
	lost := slices.DeleteFunc(slices.Clone(held), func(h ledger.Holding) bool {
		return shape.Contains(h.CIDR) || was != nil && !was.Contains(h.CIDR)
	})
	if len(lost) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(source,
		fmt.Sprintf("%s in use and would fall out of the pool%s", count(len(lost), "prefix is", "prefixes are"), to.list(ctx, lost)))}
}

// keptBack warns of what is in use and will not be handed out again: newly
// excluded, the new gateway, reserved by the new network.
func keptBack(ctx context.Context, to *audience, c change) admission.Warnings {
	kept := c.newlyKeptBack()
	if len(kept) == 0 {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("%s in use and kept back from now on; the claims keep them until they are deleted%s",
		count(len(kept), "prefix is", "prefixes are"), to.list(ctx, kept))}
}

// newlyKeptBack returns what is in use, stays in the pool, and would not be handed out again, though it would have been before.
func (c change) newlyKeptBack() []ledger.Holding {
	return slices.DeleteFunc(slices.Clone(c.held), func(h ledger.Holding) bool {
		return !c.shape.Contains(h.CIDR) || !refuses(c.shape, h.CIDR) || c.was != nil && refuses(c.was, h.CIDR)
	})
}

// withheld refuses an update that keeps back what claims have.
func withheld(ctx context.Context, to *audience, c change) field.ErrorList {
	kept := slices.DeleteFunc(c.newlyKeptBack(), func(h ledger.Holding) bool {
		return h.Purpose != ledger.ForClaim && h.Purpose != ledger.ForAdopted
	})
	if len(kept) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), fmt.Sprintf("%s in use and would be excluded, reserved or the gateway%s",
		count(len(kept), "prefix is", "prefixes are"), to.list(ctx, kept)))}
}

func refuses(shape *pooltree.Pool, prefix netip.Prefix) bool {
	_, refused := shape.Refuses(prefix)
	return refused
}

// keeps reports whether the pool kept the very same; was may be nil.
func keeps(was *pooltree.Pool, k pooltree.Kept) bool {
	if was == nil {
		return false
	}
	prefix, ok := was.KeptFor(k.For)
	return ok && prefix == k.Prefix
}

// gained returns what the pool has and did not have before; was may be nil.
func gained(shape, was *pooltree.Pool) []netip.Prefix {
	if was == nil {
		return shape.Blocks()
	}
	var b netipx.IPSetBuilder
	b.AddSet(shape.Addresses())
	b.RemoveSet(was.Addresses())
	set, err := b.IPSet()
	if err != nil { // both are sets already, so there is no error to collect
		return shape.Blocks()
	}
	return set.Prefixes()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// text writes a prefix, and a single address without its length.
func text(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

func nameOf(p ipamv1.PoolReference) string {
	name := excerpt.Of(p.Kind) + " "
	if p.Namespace != "" {
		name += excerpt.Of(p.Namespace) + "/"
	}
	return name + excerpt.Of(p.Name)
}

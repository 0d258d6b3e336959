// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// Source offers the pools of some kinds, all of one group.
type Source struct {
	Registry *pools.Registry
	Kinds    []pools.Kind
	// Closed: the group has kinds of other providers, too, whose claims are left alone. Without it, a claim that names a kind that is not in
	// Kinds is refused.
	Closed bool
	// Field is where claims name their pool.
	Field string
}

var _ door.Source = &Source{}

// Serves implements door.Source: pools of the kinds, and unless the source is closed every other
// kind of their group. Offer refuses those, and what names the version beside the group.
func (s *Source) Serves(name door.PoolName) bool {
	name, _ = name.WithoutVersion()
	if _, known := s.kindOf(name.GroupKind); known || s.Closed {
		return known
	}
	return name.Group == s.Kinds[0].Group
}

// Reference implements door.Source. What is of no known kind counts as namespaced.
func (s *Source) Reference(name door.PoolName, namespace string) ipamv1.PoolReference {
	if kind, known := s.kindOf(name.GroupKind); known && kind.ClusterScoped {
		namespace = ""
	}
	return kinds.Pool(name.GroupKind, namespace, name.Name)
}

func (s *Source) kindOf(kind schema.GroupKind) (pools.Kind, bool) {
	i := slices.IndexFunc(s.Kinds, func(k pools.Kind) bool { return k.GroupKind == kind })
	if i < 0 {
		return pools.Kind{}, false
	}
	return s.Kinds[i], true
}

// Offer returns what a claim's pool offers. Of a pool that is not visible to the claim nothing is told, not even that there is
// one.
func (s *Source) Offer(ctx context.Context, namespace string, name door.PoolName) (*door.Offer, error) {
	if group, isVersioned := name.WithoutVersion(); isVersioned {
		return nil, failed("%s.apiGroup: %q is a group and a version: write %q", s.Field, name.Group, group.Group)
	}
	if _, known := s.kindOf(name.GroupKind); !known {
		return nil, failed("%s.kind: %q is not a kind of pool of %s: use %s", s.Field, name.Kind, name.Group, s.kindNames())
	}
	ref := s.Reference(name, namespace)
	v, err := judge(ctx, s.Registry, ask{
		pool: ref, namespace: namespace, thing: anAddress, needs: needsShape,
		may: func(ctx context.Context, pool poolspec.Pool) (bool, string, error) {
			return s.Registry.Rules.MayClaim(ctx, namespace, pool)
		},
	})
	if err == nil {
		err = s.refusal(v, ref, namespace)
	}
	if err != nil {
		return nil, err
	}
	p := v.pool
	halted, err := s.halted(ctx, p)
	if err != nil {
		return nil, err
	}
	offer := s.offerOf(p, ref, halted)
	if v.hidden != nil {
		offer.Hidden = s.invisible(v.hidden.message)
	}
	if v.closed != nil {
		offer.Closed = notReady("%s.name: %s", s.Field, v.closed.Message)
	}
	return offer, nil
}

// refusal is what a claim is told of whose pool nothing is known; nil where something is: a claim whose pool is hidden, or hands out nothing
// now, keeps what it has.
func (s *Source) refusal(v verdict, ref ipamv1.PoolReference, namespace string) error {
	switch {
	case v.closed == nil:
		return nil
	case v.closed.Missing:
		return s.absent(ref, namespace)
	case v.closed.Invalid && v.hidden != nil:
		return s.invisible(v.hidden.message)
	case v.closed.Invalid:
		return notReady("%s.name: %s", s.Field, v.closed.Message)
	}
	return nil
}

func (s *Source) offerOf(p *pools.Known, ref ipamv1.PoolReference, halted error) *door.Offer {
	return &door.Offer{
		Pool:       ref,
		Owner:      s.Registry.OwnerReference(p),
		Generation: p.GetGeneration(),
		Leaving:    !p.GetDeletionTimestamp().IsZero(),
		Halted:     halted,
		NamePrefix: p.Says.NamePrefix,
		Bits:       p.Registered.Shape.ClaimBits(),
		HostBits:   p.Registered.Shape.HostBits(),
		Kept:       p.Registered.Shape.Kept(),
		Network:    p.Registered.Shape.NetworkOf,
		Outside:    s.Registry.Outside(p),
	}
}

// Pools implements door.Source: those of kinds that are there.
func (s *Source) Pools() []client.Object {
	pools := make([]client.Object, 0, len(s.Kinds))
	for _, kind := range s.Kinds {
		if s.Registry.Knows(kind.GroupKind) {
			pools = append(pools, kind.New())
		}
	}
	return pools
}

// PoolsOf implements door.Source.
func (s *Source) PoolsOf(ctx context.Context, cluster client.Object) ([]ipamv1.PoolReference, error) {
	return s.Registry.OfCluster(ctx, cluster, s.Kinds...)
}

func (s *Source) kindNames() string {
	names := make([]string, 0, len(s.Kinds))
	for _, kind := range s.Kinds {
		names = append(names, kind.Kind)
	}
	return strings.Join(names, " or ")
}

// absent is what a claim is told whose pool does not exist: of a GlobalIPPool the same as if it were not visible.
func (s *Source) absent(ref ipamv1.PoolReference, namespace string) error {
	if ref.Namespace == "" {
		return s.invisible(tenancy.Absent(ref, namespace))
	}
	return notReady("%s.name: there is no %s %q in namespace %s", s.Field, ref.Kind, ref.Name, ref.Namespace)
}

func (s *Source) invisible(reason string) error { return notReady("%s.name: %s", s.Field, reason) }

func failed(format string, args ...any) error {
	return &claimant.Refusal{
		Reason:  ipamv1.ClaimReadyAllocationFailedReason,
		Message: fmt.Sprintf(format, args...),
	}
}

// halted is what a claim is told that has to wait with its pool; nil if none has.
func (s *Source) halted(ctx context.Context, p *pools.Known) (why, err error) {
	halt, err := s.Registry.Halt(ctx, p)
	if halt == nil || err != nil {
		return nil, err
	}
	refusal := &claimant.Refusal{Reason: ipamv1.ClaimReadyPoolNotReadyReason, Message: s.Field + ".name: " + halt.Message}
	if halt.Paused {
		refusal.Paused = halt.Message
	}
	return refusal, nil
}

func notReady(format string, args ...any) error {
	return &claimant.Refusal{
		Reason:  ipamv1.ClaimReadyPoolNotReadyReason,
		Message: fmt.Sprintf(format, args...),
	}
}

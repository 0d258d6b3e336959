// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"
	"errors"
	"fmt"

	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// Source offers IPPools of the claim's namespace and GlobalIPPools.
type Source struct {
	Client   client.Client
	Registry *pool.Registry
}

var _ claim.Source = &Source{}

// Serves says whether the reference is to a pool of Weir's group. A kind that the group does not have is served, so that it
// can be refused.
func (s *Source) Serves(ref ipamv1beta2.IPPoolReference) bool {
	return ref.APIGroup == ipamv1.GroupVersion.Group
}

// Offer returns what the claim's pool offers. Of a pool that is not visible to the claim nothing is told, not even that there is
// one.
func (s *Source) Offer(ctx context.Context, c *ipamv1beta2.IPAddressClaim) (*claim.Offer, error) {
	ref, err := referenceOf(c)
	if err != nil {
		return nil, err
	}
	p, err := s.Registry.Open(ctx, ref)
	var closed *pool.ClosedError
	switch isClosed := errors.As(err, &closed); {
	case isClosed && closed.Missing:
		return nil, absent(ref, c.Namespace)
	case err != nil && !isClosed:
		return nil, err
	}
	visible, reason, err := s.Registry.Rules.MayClaim(ctx, c.Namespace, p.Says)
	switch {
	case err != nil:
		return nil, err
	case !visible && closed != nil && closed.Invalid:
		return nil, invisible(reason)
	case closed != nil && closed.Invalid:
		return nil, notReady("spec.poolRef.name: %s", closed.Message)
	}
	halted, err := s.halted(ctx, p)
	if err != nil {
		return nil, err
	}
	offer := &claim.Offer{
		Pool:     ref,
		Owner:    s.Registry.OwnerReference(p),
		Leaving:  !p.GetDeletionTimestamp().IsZero(),
		Halted:   halted,
		Bits:     p.Registered.Shape.ClaimBits(),
		HostBits: p.Registered.Shape.HostBits(),
		Network:  p.Registered.Shape.NetworkOf,
	}
	if !visible {
		offer.Hidden = invisible(reason)
	}
	if closed != nil {
		offer.Closed = notReady("spec.poolRef.name: %s", closed.Message)
	}
	return offer, nil
}

// referenceOf returns which pool the claim refers to.
func referenceOf(c *ipamv1beta2.IPAddressClaim) (ipamv1.PoolReference, error) {
	ref := kinds.Pool(kinds.OfPool(c.Spec.PoolRef), "", c.Spec.PoolRef.Name)
	switch ref.GroupKind() {
	case kinds.IPPool:
		ref.Namespace = c.Namespace
	case kinds.GlobalIPPool:
	default:
		return ref, failed("spec.poolRef.kind: %q is not a kind of pool of %s: use %s or %s",
			ref.Kind, ipamv1.GroupVersion.Group, ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind)
	}
	return ref, nil
}

// absent is what a claim is told whose pool does not exist: of a GlobalIPPool the same as if it were not visible.
func absent(ref ipamv1.PoolReference, namespace string) error {
	if ref.Namespace == "" {
		return invisible(tenancy.Absent(ref, namespace))
	}
	return notReady("spec.poolRef.name: there is no %s %q in namespace %s", ref.Kind, ref.Name, ref.Namespace)
}

func invisible(reason string) error { return failed("spec.poolRef.name: %s", reason) }

func failed(format string, args ...any) error {
	return &claim.RefusalError{
		Reason:  ipamv1beta2.IPAddressClaimReadyAllocationFailedReason,
		Message: fmt.Sprintf(format, args...),
	}
}

// halted is what a claim is told that has to wait with its pool; nil if none has.
func (s *Source) halted(ctx context.Context, p *pool.Known) (why, err error) {
	halt, err := s.Registry.Halt(ctx, p)
	if halt == nil || err != nil {
		return nil, err
	}
	refusal := &claim.RefusalError{Reason: ipamv1beta2.IPAddressClaimReadyPoolNotReadyReason, Message: "spec.poolRef.name: " + halt.Message}
	if halt.Paused {
		refusal.Paused = halt.Message
	}
	return refusal, nil
}

func notReady(format string, args ...any) error {
	return &claim.RefusalError{
		Reason:  ipamv1beta2.IPAddressClaimReadyPoolNotReadyReason,
		Message: fmt.Sprintf(format, args...),
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
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

// Offer returns what the claim's pool offers.
func (s *Source) Offer(ctx context.Context, c *ipamv1beta2.IPAddressClaim) (*claim.Offer, error) {
	ref := ipamv1.PoolReference{Kind: c.Spec.PoolRef.Kind, Name: c.Spec.PoolRef.Name}
	switch ref.Kind {
	case ipamv1.IPPoolKind:
		ref.Namespace = c.Namespace
	case ipamv1.GlobalIPPoolKind:
	default:
		return nil, &claim.RefusalError{
			Reason: ipamv1beta2.IPAddressClaimReadyAllocationFailedReason,
			Message: fmt.Sprintf("spec.poolRef.kind: %q is not a kind of pool of %s: use %s or %s",
				ref.Kind, ipamv1.GroupVersion.Group, ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind),
		}
	}
	p, registered, invalid, err := s.Registry.Find(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
		return nil, notReady("spec.poolRef.name: there is no %s %q%s", ref.Kind, ref.Name, inNamespace(ref))
	case err != nil:
		return nil, fmt.Errorf("getting %s %s: %w", ref.Kind, ref.Name, err)
	case len(invalid) > 0:
		return nil, notReady("spec.poolRef.name: %s %q cannot be served: %v", ref.Kind, ref.Name, invalid.ToAggregate())
	case !p.GetDeletionTimestamp().IsZero():
		return nil, notReady("spec.poolRef.name: %s %q is being deleted", ref.Kind, ref.Name)
	}
	paused, err := s.isPaused(ctx, p)
	if err != nil {
		return nil, err
	}
	return &claim.Offer{
		Pool:    ref,
		Owner:   pool.OwnerReference(p),
		Paused:  paused,
		Bits:    registered.Shape.ClaimBits(),
		Network: registered.Shape.NetworkOf,
	}, nil
}

// isPaused says whether the pool is paused, by its annotation or its Cluster; a Cluster that is not there pauses too.
func (s *Source) isPaused(ctx context.Context, p pool.Object) (bool, error) {
	cluster, missing, err := pool.ClusterOf(ctx, s.Client, p)
	if err != nil || missing {
		return true, err
	}
	return predicates.IsPaused(cluster, p), nil
}

func notReady(format string, args ...any) error {
	return &claim.RefusalError{
		Reason:  ipamv1beta2.IPAddressClaimReadyPoolNotReadyReason,
		Message: fmt.Sprintf(format, args...),
	}
}

func inNamespace(ref ipamv1.PoolReference) string {
	if ref.Namespace == "" {
		return ""
	}
	return " in namespace " + ref.Namespace
}

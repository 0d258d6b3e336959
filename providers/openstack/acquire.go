// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// acquire returns the floating IP of a claim, and creates one if there is none: one list, and at
// most one creation.
func acquire(
	ctx context.Context, cloud *neutron.Client, pool external.Pool, claim ipamv1.ClaimReference, holds func(netip.Addr) bool,
) (neutron.FloatingIP, error) {
	description, err := describe(pool.Key, claim)
	if err != nil {
		return neutron.FloatingIP{}, &claimant.Refusal{Reason: ipamv1.ClaimReadyAllocationFailedReason, Message: err.Error()}
	}
	found, err := cloud.FindByDescription(ctx, pool.Network, description)
	switch {
	case err != nil:
		return neutron.FloatingIP{}, err
	case len(found) > 0:
		return choose(found, holds), nil
	case pool.Room == 0:
		return neutron.FloatingIP{}, &claimant.Refusal{
			Reason: ipamv1.ClaimReadyPoolExhaustedReason, Message: about(pool, "it has handed out as many floating IPs as spec.openStack.maxIPs allows"), After: retry,
		}
	}
	return cloud.Create(ctx, neutron.CreateOptions{NetworkID: pool.Network, Description: description})
}

// choose returns the floating IP that a record holds, else that of the lowest id: managers that see
// the same choose the same. The others are given back with the claim.
func choose(found []neutron.FloatingIP, holds func(netip.Addr) bool) neutron.FloatingIP {
	recorded := slices.IndexFunc(found, func(f neutron.FloatingIP) bool { return holds(f.Address) })
	return found[max(recorded, 0)]
}

// adopt looks whether an address is the claim's: one list.
func adopt(ctx context.Context, cloud *neutron.Client, pool external.Pool, claim ipamv1.ClaimReference, address netip.Addr) error {
	refusal := &claimant.Refusal{
		Reason: ipamv1.ClaimReadyAllocationFailedReason, After: retry,
		Message: about(pool, fmt.Sprintf("floating IP %s is not this claim's; to take over what comes by a move, from a backup or by hand is not supported yet",
			address)),
	}
	description, err := describe(pool.Key, claim)
	if err != nil {
		return refusal
	}
	found, err := cloud.FindByDescription(ctx, pool.Network, description)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(f neutron.FloatingIP) bool { return f.Address == address }) {
		return refusal
	}
	return nil
}

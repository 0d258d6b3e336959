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
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// acquire returns the floating IP of a claim. If there is none it takes one of the pool's stock, or
// creates one: one list, one more for each hundred that the pool lists, at most one change, and one to
// set tags.
func acquire(
	ctx context.Context, cloud *neutron.Client, pool external.Pool, claim ipamv1.ClaimReference, holds func(netip.Addr) bool,
) (neutron.FloatingIP, error) {
	own, err := describeAll(pool.Key, claim)
	if err != nil {
		return neutron.FloatingIP{}, &claimant.Refusal{Reason: ipamv1.ClaimReadyAllocationFailedReason, Message: err.Error()}
	}
	found, err := cloud.FindByDescription(ctx, pool.Network, append(own, describeFree(pool.Key))...)
	if err != nil {
		return neutron.FloatingIP{}, err
	}
	isOwn := func(f neutron.FloatingIP) bool { return slices.Contains(own, f.Description) }
	kept := slices.DeleteFunc(slices.Clone(found), isOwn)
	found = slices.DeleteFunc(found, func(f neutron.FloatingIP) bool { return !isOwn(f) })
	switch {
	case len(found) > 0:
		return tag(ctx, cloud, pool, choose(found, holds))
	case pool.Room == 0:
		return neutron.FloatingIP{}, &claimant.Refusal{
			Reason: ipamv1.ClaimReadyPoolExhaustedReason, Message: about(pool, "it has handed out as many floating IPs as spec.openStack.maxIPs allows"), After: retry,
		}
	}
	may, isThere, err := findStock(ctx, cloud, pool, claim, kept)
	switch {
	case err != nil:
		return neutron.FloatingIP{}, err
	case isThere:
		return take(ctx, cloud, pool.Key, claim, may)
	}
	return createFor(ctx, cloud, pool, own[0])
}

// createFor creates a floating IP with that description.
func createFor(ctx context.Context, cloud *neutron.Client, pool external.Pool, description string) (neutron.FloatingIP, error) {
	subnet, err := subnetOf(ctx, cloud, pool)
	if err != nil {
		return neutron.FloatingIP{}, err
	}
	created, err := cloud.Create(ctx, neutron.CreateOptions{NetworkID: pool.Network, SubnetID: subnet, Description: description})
	if err != nil {
		return neutron.FloatingIP{}, err
	}
	return tag(ctx, cloud, pool, created)
}

// subnetOf returns the id of the pool's subnet; "" for any. A name is looked up.
func subnetOf(ctx context.Context, cloud *neutron.Client, pool external.Pool) (string, error) {
	switch subnet := pool.Source.Subnet; {
	case subnet == nil:
		return "", nil
	case subnet.Name == "": // an ordinary project cannot see it, and may use it
		return subnet.ID, nil
	default:
		found, err := cloud.Subnet(ctx, pool.Network, subnet.ID, subnet.Name)
		return found.ID, err
	}
}

// tag sets the pool's tags of a floating IP that Weir made for a claim that was not told of it yet.
// Neutron replaces all tags, without a condition: one that has any keeps them.
func tag(ctx context.Context, cloud *neutron.Client, pool external.Pool, f neutron.FloatingIP) (neutron.FloatingIP, error) {
	if id, _ := parse(f.Description); id.isLent || len(f.Tags) > 0 || len(pool.Source.Tags) == 0 {
		return f, nil
	}
	err := cloud.Tag(ctx, f.ID, pool.Source.Tags)
	if neutron.KindOf(err) == neutron.NotFound {
		return f, fmt.Errorf("floating IP %s has gone: %w", f.Address, ledger.ErrBusy)
	}
	return f, err
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
	own, err := describeAll(pool.Key, claim)
	if err != nil {
		return refusal
	}
	found, err := cloud.FindByDescription(ctx, pool.Network, own...)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(f neutron.FloatingIP) bool { return f.Address == address }) {
		return refusal
	}
	return nil
}

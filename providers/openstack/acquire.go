// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// acquire returns the floating IP of a claim. If there is none it takes one of the pool's stock, or
// creates one: one list, one more for each hundred that the pool lists, at most one change, and one to
// set tags. One look more at what a claim has and was not told. Nothing is created if that is closed.
func acquire(ctx context.Context, cloud *neutron.Client, pool external.Pool, request external.Request, closed error) (neutron.FloatingIP, error) {
	own, err := describeAll(pool.Key, request.Claim)
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
		return reuse(ctx, cloud, pool, found, request)
	case pool.Room == 0:
		return neutron.FloatingIP{}, &claimant.Refusal{
			Reason: ipamv1.ClaimReadyPoolExhaustedReason, Message: about(pool, "it has handed out as many floating IPs as spec.openStack.maxIPs allows"), After: retry,
		}
	}
	may, isThere, err := findStock(ctx, cloud, pool, request, kept)
	switch {
	case err != nil:
		return neutron.FloatingIP{}, err
	case isThere:
		return take(ctx, cloud, pool.Key, request.Claim, may)
	case closed != nil:
		return neutron.FloatingIP{}, closed
	}
	return createFor(ctx, cloud, pool, own[0])
}

// reuse returns that one of the claim's floating IPs which the claim is to have.
func reuse(
	ctx context.Context, cloud *neutron.Client, pool external.Pool, found []neutron.FloatingIP, request external.Request,
) (neutron.FloatingIP, error) {
	has := choose(found, request)
	if !request.IsTold {
		if err := proveUnused(ctx, cloud, has, request); err != nil {
			return neutron.FloatingIP{}, err
		}
	}
	return tag(ctx, cloud, pool, has)
}

// proveUnused errs while a floating IP is in use, or may come into use without the claim's doing: the address was another claim's before, whose
// consumer binds it as long as that claim's IPAddress is there. That goes before its record does. So the port is looked for
// after that.
func proveUnused(ctx context.Context, cloud *neutron.Client, seen neutron.FloatingIP, request external.Request) error {
	if request.IsOthers(seen.Address) {
		return awaitFormer(seen)
	}
	now, err := cloud.Get(ctx, seen.ID)
	switch {
	case neutron.KindOf(err) == neutron.NotFound, err == nil && now.Description != seen.Description:
		return fmt.Errorf("floating IP %s is not the claim's any more: %w", seen.Address, ledger.ErrBusy)
	case err != nil:
		return err
	case now.IsInUse():
		return &claimant.Refusal{
			Reason: ipamv1.ClaimReadyAllocationFailedReason, After: retry,
			Message: fmt.Sprintf("floating IP %s is %s, not by this claim's consumer, which does not know it yet: %s", now.Address, now.Use(), unuse(now)),
		}
	}
	return nil
}

// unuse says how to end the use of a floating IP.
func unuse(f neutron.FloatingIP) string {
	if f.PortID == "" {
		return "delete them"
	}
	return "disassociate it"
}

// awaitFormer has a claim wait until no record of another claim holds the address of a floating IP.
func awaitFormer(f neutron.FloatingIP) error {
	why := &claimant.Refusal{
		Reason:  ipamv1.ClaimReadyAllocationFailedReason,
		Message: fmt.Sprintf("floating IP %s: the claim that had this address before is not released yet", f.Address), After: retry,
	}
	return errors.Join(why, ledger.ErrTaken)
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

// choose returns the floating IP that a record holds; else the first that is in use if the claim was told,
// and the first that is not if it was not; else that of the lowest id. Managers that see the same choose the
// same. The others are given back with the claim.
func choose(found []neutron.FloatingIP, request external.Request) neutron.FloatingIP {
	best := slices.IndexFunc(found, func(f neutron.FloatingIP) bool { return request.Holds(f.Address) })
	if best < 0 {
		best = slices.IndexFunc(found, func(f neutron.FloatingIP) bool { return f.IsInUse() == request.IsTold })
	}
	return found[max(best, 0)]
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// A claim that moves to another cluster, or is restored from a backup, has another UID there. Its floating IP carries the former one. It is
// described anew before the claim is told of it, on condition of the revision that was seen. From then on the former UID finds nothing: where
// the claim came from, nobody can release what it has here.

// ownership is what a floating IP is to a claim that has its address.
type ownership string

const (
	// its: it carries the claim's UID.
	its ownership = "its"
	// former: it carries the UID of the claim's former self.
	former ownership = "former"
	// unowned: it is free, or listed by the pool, and nothing uses it.
	unowned ownership = "unowned"
	// unownedInUse: it is free, or listed by the pool, and in use.
	unownedInUse ownership = "unowned, in use"
	// anothers: it is another claim's or pool's, or a person's.
	anothers ownership = "another's"
)

// judgeOwnership decides what a floating IP is to a claim of the pool with that key. A former self had the same namespace and name, to the last
// character: of a description that was cut that is not known. A floating IP of a former self may have a port: the claim's machine uses it.
func judgeOwnership(seen neutron.FloatingIP, key string, claim ipamv1.ClaimReference, isListed bool) (available, ownership) {
	id, _ := parse(seen.Description)
	was := claim
	was.UID = id.owner
	all, err := describeAll(key, was) // errs without an owner
	isNamed := err == nil && slices.Contains(all, seen.Description)
	switch {
	case isNamed && was.UID == claim.UID:
		return available{}, its
	case isNamed && !isCut(key, was):
		return available{seen, id.isLent}, former
	}
	may, is := judgeStock(seen, key, isListed)
	switch {
	case is == takeable:
		return may, unowned
	case is == inUse && isUnowned(seen, key, isListed):
		return available{}, unownedInUse
	}
	return available{}, anothers
}

// isUnowned reports whether a floating IP would be takeable if nothing used it.
func isUnowned(seen neutron.FloatingIP, key string, isListed bool) bool {
	seen.PortID, seen.RouterID = "", ""
	_, is := judgeStock(seen, key, isListed)
	return is == takeable
}

// adopt returns the floating IP of a claim that has its address: one list, and one change if the claim has arrived with it.
func adopt(ctx context.Context, cloud *neutron.Client, pool external.Pool, adoption external.Adoption) (neutron.FloatingIP, error) {
	claim, address := adoption.Claim, adoption.Address
	if _, err := describeAll(pool.Key, claim); err != nil {
		return neutron.FloatingIP{}, notAdopted(pool, err.Error())
	}
	found, err := cloud.FindByAddresses(ctx, pool.Network, address)
	if err == nil && len(found) == 0 {
		err = proveNetwork(ctx, cloud, pool)
	}
	switch {
	case err != nil:
		return neutron.FloatingIP{}, err
	case len(found) == 0:
		return neutron.FloatingIP{}, notAdopted(pool, fmt.Sprintf("floating IP %s does not exist in the project", address))
	}
	may, is := judgeOwnership(found[0], pool.Key, claim, slices.Contains(listed(pool), address))
	switch {
	case is == its:
		return found[0], nil
	case is == anothers:
		return neutron.FloatingIP{}, notAdopted(pool, fmt.Sprintf("floating IP %s is not this claim's", address))
	case !adoption.HasArrived:
		return neutron.FloatingIP{}, notAdopted(pool, fmt.Sprintf("floating IP %s is not this claim's, and only what comes by a move or from a backup is taken over", address))
	case !cloud.IsConditional():
		return neutron.FloatingIP{}, notAdopted(pool, fmt.Sprintf("floating IP %s is not taken over: the cloud has no revision numbers", address))
	case is == unownedInUse:
		return neutron.FloatingIP{}, notAdopted(pool, fmt.Sprintf("floating IP %s is no claim's, and %s: %s", address, found[0].Use(), unuse(found[0])))
	case is == unowned && adoption.IsOthers(address):
		return neutron.FloatingIP{}, awaitFormer(found[0])
	}
	taken, err := take(ctx, cloud, pool.Key, claim, may)
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("A claim has taken over the floating IP that it came with", "floatingIP", taken.Address, "id", taken.ID, "was", is)
	}
	return taken, err
}

func notAdopted(pool external.Pool, words string) error {
	return &claimant.Refusal{Reason: ipamv1.ClaimReadyAllocationFailedReason, Message: about(pool, words), After: retry}
}

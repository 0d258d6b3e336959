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

// standing is what a floating IP is to somebody who wants to give it back.
type standing string

const (
	// foreign: it is of another pool or claim, of none, or not covered by the proof.
	foreign standing = "foreign"
	// bound: a port has it, or port forwardings use it.
	bound standing = "bound"
	// released: it may be given back.
	released standing = "released"
)

// releasable is a floating IP that may be given back, as long as it is as it was judged. Only judge
// makes one, and judgeEnd of a pool that ends.
type releasable struct{ seen neutron.FloatingIP }

// judge decides whether a floating IP of the pool with that key may be given back: the proof covers
// it, it names the key and the claim's UID, and nothing uses it. The condition of the change is the
// revision that was seen here.
func judge(seen neutron.FloatingIP, key string, proof external.Proof) (releasable, standing) {
	id, isOurs := parse(seen.Description)
	switch {
	case !isOurs, id.key != key, id.owner == free, !proof.Covers(id.owner, seen.Address):
		return releasable{}, foreign
	case seen.IsInUse():
		return releasable{}, bound
	}
	return releasable{seen}, released
}

// giveBack gives back what the proof covers: one list, and one change for each floating IP; if there is
// none, a list of networks, and one for each address that is recorded. While any of them is bound, none
// is touched. It returns what has become of those that were given back.
func giveBack(ctx context.Context, cloud *neutron.Client, pool external.Pool, proof external.Proof) (given []ending, err error) {
	own, err := describeAll(pool.Key, proof.Claim())
	if err != nil { // also without a proof
		return nil, &claimant.KeptError{Reason: ipamv1.WaitingForCloudReason, Message: about(pool, err.Error()), After: retry}
	}
	found, err := cloud.FindByDescription(ctx, pool.Network, own...)
	if err == nil && len(found) == 0 {
		err = proveReleased(ctx, cloud, pool, proof)
	}
	if err != nil {
		return nil, err
	}
	var all []releasable
	for _, f := range found {
		may, is := judge(f, pool.Key, proof)
		switch is {
		case bound:
			return nil, keptByUse(f)
		case released:
			all = append(all, may)
		case foreign:
		}
	}
	for _, may := range all {
		how := endingOf(may, pool)
		if err := end(ctx, cloud, pool.Key, may, how); err != nil {
			return given, err
		}
		given = append(given, how)
	}
	return given, nil
}

// proveReleased errs if nothing was found of a claim, and that does not prove that it has nothing: the cloud does not have the pool's network;
// or what its records name is the claim's by the key of another pool, which had this name before. Nobody gives that back any more.
func proveReleased(ctx context.Context, cloud *neutron.Client, pool external.Pool, proof external.Proof) error {
	if err := proveNetwork(ctx, cloud, pool); err != nil {
		return err
	}
	for _, address := range proof.Recorded() { // more than one only where managers worked for the claim at once
		found, err := cloud.FindByAddresses(ctx, pool.Network, address)
		if err != nil {
			return err
		}
		for _, f := range found {
			if id, isOurs := parse(f.Description); isOurs && id.key != pool.Key && proof.Covers(id.owner, f.Address) {
				return &claimant.AbandonedError{Message: about(pool, fmt.Sprintf("it is another pool now, with the key %s, and floating IP %s (%s) has the "+
					"key %s: delete it in OpenStack, or empty its description if Weir did not create it", pool.Key, f.Address, f.ID, id.key))}
			}
		}
	}
	return nil
}

// ending is what becomes of a floating IP that is given back.
type ending string

const (
	// deletion: of what Weir made.
	deletion ending = "deleted"
	// keeping: it becomes free, for another claim of the pool.
	keeping ending = "kept"
	// returning: it is as it was before Weir took it, and says nothing.
	returning ending = "returned"
)

// endingOf decides what becomes of a floating IP that may be given back. What Weir did not make, or
// the pool lists, is never deleted, whatever the policy. What was taken from the pool's list says so
// itself: the list may have become shorter since.
func endingOf(may releasable, pool external.Pool) ending {
	id, _ := parse(may.seen.Description)
	switch {
	case id.isLent, slices.Contains(listed(pool), may.seen.Address):
		return returning
	case pool.Source.ReclaimPolicy == ipamv1.RetainFloatingIPs:
		return keeping
	}
	return deletion
}

func keptByUse(f neutron.FloatingIP) error {
	until := "it is disassociated, or the port is deleted"
	if f.PortID == "" {
		until = "they are deleted"
	}
	return &claimant.KeptError{
		Reason: ipamv1.WaitingForPortReason, After: retry,
		Message: fmt.Sprintf("floating IP %s is %s; it is released when %s", f.Address, f.Use(), until),
	}
}

// deleteAsJudged deletes a floating IP on condition of the revision that was judged.
func deleteAsJudged(ctx context.Context, cloud *neutron.Client, may releasable) error {
	return cloud.Delete(ctx, may.seen)
}

// end ends what a claim has of a floating IP. Where the cloud forbids deletion, it becomes free.
func end(ctx context.Context, cloud *neutron.Client, key string, may releasable, how ending) (err error) {
	switch how {
	case returning:
		_, err = cloud.Describe(ctx, may.seen, "")
	case keeping:
		_, err = cloud.Describe(ctx, may.seen, describeFree(key))
	case deletion:
		err = deleteAsJudged(ctx, cloud, may)
		if neutron.KindOf(err) == neutron.Forbidden {
			ctrl.LoggerFrom(ctx).Info("The cloud forbids deleting a floating IP; it becomes free", "floatingIP", may.seen.Address, "id", may.seen.ID)
			_, err = cloud.Describe(ctx, may.seen, describeFree(key))
		}
	}
	if neutron.KindOf(err) == neutron.NotFound {
		return nil
	}
	return err
}

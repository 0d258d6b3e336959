// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"

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
	// bound: a port has it.
	bound standing = "bound"
	// released: it may be given back.
	released standing = "released"
)

// releasable is a floating IP that may be given back, as long as it is as it was judged. Only judge
// makes one.
type releasable struct{ seen neutron.FloatingIP }

// judge decides whether a floating IP of the pool with that key may be given back: the proof covers
// it, it names the key and the claim's UID, and it has no port. The condition of the change is the
// revision that was seen here.
func judge(seen neutron.FloatingIP, key string, proof external.Proof) (releasable, standing) {
	id, isOurs := parse(seen.Description)
	switch {
	case !isOurs, id.key != key, id.owner == free, !proof.Covers(id.owner, seen.Address):
		return releasable{}, foreign
	case seen.PortID != "":
		return releasable{}, bound
	}
	return releasable{seen}, released
}

// giveBack gives back what the proof covers: one list, and one deletion for each floating IP. While
// any of them is bound, none is touched. It returns how many were given back.
func giveBack(ctx context.Context, cloud *neutron.Client, pool external.Pool, proof external.Proof) (int, error) {
	description, err := describe(pool.Key, proof.Claim())
	if err != nil { // also without a proof
		return 0, &claimant.KeptError{Reason: ipamv1.WaitingForCloudReason, Message: about(pool, err.Error()), After: retry}
	}
	found, err := cloud.FindByDescription(ctx, pool.Network, description)
	if err != nil {
		return 0, err
	}
	var all []releasable
	for _, f := range found {
		may, is := judge(f, pool.Key, proof)
		switch is {
		case bound:
			return 0, keptByPort(f)
		case released:
			all = append(all, may)
		case foreign:
		}
	}
	for i, may := range all {
		if err := end(ctx, cloud, pool.Key, may); err != nil {
			return i, err
		}
	}
	return len(all), nil
}

func keptByPort(f neutron.FloatingIP) error {
	return &claimant.KeptError{
		Reason: ipamv1.WaitingForPortReason, After: retry,
		Message: fmt.Sprintf("floating IP %s is bound to port %s; it is released when it is disassociated, or the port is deleted",
			f.Address, f.PortID),
	}
}

// end deletes a floating IP. Where the cloud forbids that, it becomes free: no claim's.
func end(ctx context.Context, cloud *neutron.Client, key string, may releasable) error {
	err := cloud.Delete(ctx, may.seen)
	if neutron.KindOf(err) == neutron.Forbidden {
		ctrl.LoggerFrom(ctx).Info("The cloud forbids deleting a floating IP; it becomes free", "floatingIP", may.seen.Address, "id", may.seen.ID)
		_, err = cloud.Describe(ctx, may.seen, describeFree(key))
	}
	if neutron.KindOf(err) == neutron.NotFound {
		return nil
	}
	return err
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// remainder is what a floating IP is to a pool that ends.
type remainder string

const (
	// notItsOwn: it is of another pool, a person's, or nobody's.
	notItsOwn remainder = "not its own"
	// ofAClaim: it names a claim, which may be here, elsewhere or nowhere.
	ofAClaim remainder = "of a claim"
	// staying: it is free in the pool, and stays: it is in use, the pool lists it, the pool retains, or a person has added to its description.
	staying remainder = "staying"
	// unneeded: it may be deleted.
	unneeded remainder = "unneeded"
)

// judgeEnd decides what becomes of a floating IP when its pool ends. It may be deleted if
//
//   - the proof is about this pool, and its description is to the letter that of what is free in it: it is no person's, no claim's, no other
//     pool's;
//   - Weir made it: the pool does not list it;
//   - nothing uses it;
//   - the pool's reclaimPolicy is Delete.
//
// The condition of the deletion is the revision that was seen here.
func judgeEnd(seen neutron.FloatingIP, pool external.Pool, proof external.PoolEnd) (releasable, remainder) {
	id, isWeirs := parse(seen.Description)
	switch {
	case !isWeirs, id.key != pool.Key:
		return releasable{}, notItsOwn
	case id.owner != free:
		return releasable{}, ofAClaim
	case seen.Description != describeFree(pool.Key), seen.IsInUse(), slices.Contains(listed(pool), seen.Address):
		return releasable{}, staying
	case !proof.Covers(pool.Ref), pool.Source.ReclaimPolicy == ipamv1.RetainFloatingIPs:
		return releasable{}, staying
	}
	return releasable{seen}, unneeded
}

// closing is one look at what a pool has when it ends.
type closing struct {
	pool  external.Pool
	end   external.PoolEnd
	known external.Known
	// failed is an error of what is known here, which ended it.
	failed error
}

// run deletes what the pool does not need any more: one list, a live read for each floating IP that names a claim, and one deletion for
// each that is unneeded, if none of those claims is here. An empty list takes one of networks.
func (c *closing) run(ctx context.Context, cloud *neutron.Client) (external.Remains, error) {
	listed, err := cloud.List(ctx, c.pool.Network)
	if err == nil && len(listed) == 0 {
		err = proveNetwork(ctx, cloud, c.pool)
	}
	if err != nil {
		return external.Remains{}, err
	}
	var found external.Remains
	var all []releasable
	for _, f := range listed {
		may, is := judgeEnd(f, c.pool, c.end)
		switch is {
		case ofAClaim:
			c.sort(ctx, f, &found)
		case staying:
			found.Left = append(found.Left, leftover(f))
		case unneeded:
			all = append(all, may)
		case notItsOwn:
		}
	}
	if c.failed != nil || len(found.Awaited) > 0 {
		return external.Remains{Awaited: found.Awaited}, c.failed
	}
	for _, may := range all {
		isThere, err := removeUnneeded(ctx, cloud, may)
		if err != nil {
			return external.Remains{}, err
		}
		if isThere {
			found.Left = append(found.Left, leftover(may.seen))
		}
	}
	return found, nil
}

// sort adds a floating IP that names a claim to what the pool waits for, if the claim is here, else to what is left.
func (c *closing) sort(ctx context.Context, f neutron.FloatingIP, to *external.Remains) {
	if c.failed != nil {
		return
	}
	claim := claimIn(f.Description)
	var life external.Life
	if life, c.failed = c.known.Life(ctx, claim, isCut(c.pool.Key, claim)); life == external.NotHere {
		to.Left = append(to.Left, leftover(f))
		return
	}
	to.Awaited = append(to.Awaited, leftover(f))
}

// removeUnneeded deletes a floating IP, and reports whether it stays because the cloud forbids that.
func removeUnneeded(ctx context.Context, cloud *neutron.Client, may releasable) (isThere bool, err error) {
	err = deleteAsJudged(ctx, cloud, may)
	switch neutron.KindOf(err) {
	case neutron.NotFound:
		return false, nil
	case neutron.Forbidden:
		ctrl.LoggerFrom(ctx).Info("The cloud forbids deleting a floating IP; it stays", "floatingIP", may.seen.Address, "id", may.seen.ID)
		return true, nil
	default:
		return false, err
	}
}

func leftover(f neutron.FloatingIP) external.Leftover {
	return external.Leftover{ID: f.ID, Address: f.Address, Claim: claimIn(f.Description)}
}

// Close implements external.Provider.
func (p *Provider) Close(ctx context.Context, pool external.Pool, end external.PoolEnd, known external.Known) (external.Remains, error) {
	if !end.Covers(pool.Ref) {
		return external.Remains{}, fmt.Errorf("%s: %w", about(pool, "that it ends is not proved"), ledger.ErrBusy)
	}
	var found external.Remains
	c := closing{pool: pool, end: end, known: known}
	err := p.call(ctx, pool, func(cloud *neutron.Client) (err error) {
		found, err = c.run(ctx, cloud)
		return err
	})
	err = p.unclear.judge(pool.Key, err)
	switch {
	case c.failed != nil:
		return external.Remains{}, c.failed
	case err != nil:
		return external.Remains{}, asKept(ctx, pool, err)
	}
	return found, nil
}

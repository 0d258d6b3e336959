// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Proof covers the addresses of a claim that may be given back. It stands for what its maker has
// proved by live reads. Only the way out of the ledger, package claimant, makes one. The zero value
// covers nothing.
type Proof struct {
	claim ipamv1.ClaimReference
	// isWhole: all of the claim's UID is covered; else the address only.
	isWhole bool
	address netip.Addr
	// recorded are the addresses of the claim's records.
	recorded []netip.Addr
}

// ClaimReleased covers all that the claim's UID has. It is proved that the claim is gone; or that
// it is being deleted, no finalizer of others is on it, neither it nor its Cluster is paused, and
// it does not move. Recorded are the addresses of its records.
func ClaimReleased(claim ipamv1.ClaimReference, recorded ...netip.Addr) Proof {
	return Proof{claim: claim, isWhole: true, recorded: recorded}
}

// AddressReleased covers one address of the claim's UID. It is proved that the claim is gone, or
// that it has not been told of this address and will not be.
func AddressReleased(claim ipamv1.ClaimReference, address netip.Addr) Proof {
	return Proof{claim: claim, address: address, recorded: []netip.Addr{address}}
}

// Claim returns the claim that the proof is about.
func (p Proof) Claim() ipamv1.ClaimReference { return p.claim }

// Recorded returns the addresses at which something of the claim's is expected. There may be more.
func (p Proof) Recorded() []netip.Addr { return p.recorded }

// Covers reports whether an address may be given back that is a claim's of this UID.
func (p Proof) Covers(uid string, address netip.Addr) bool {
	return uid != "" && uid == p.claim.UID && address.IsValid() && (p.isWhole || address == p.address)
}

// PoolEnd covers what is free in a pool that ends. It is proved that the pool is being deleted, that no finalizer of others is on it, that
// it is not paused and does not move, and that nothing is recorded of it. Only the way out of the ledger, package claimant, makes one. The
// zero value covers nothing.
type PoolEnd struct{ pool ipamv1.PoolReference }

// PoolReleased covers what is free in a pool, for which that is proved.
func PoolReleased(pool ipamv1.PoolReference) PoolEnd { return PoolEnd{pool: pool} }

// Covers reports whether it is this pool that ends.
func (e PoolEnd) Covers(pool ipamv1.PoolReference) bool { return e.pool.Name != "" && e.pool == pool }

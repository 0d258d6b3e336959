// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Room returns for how many claims that ask for nothing in particular the pool has room, most at most: an estimate, at least one, which
// looks at how much is free and not at where. It errs as Preview does if there is room for none.
func (l *Ledger) Room(pool ipamv1.PoolReference, most int) (int, error) {
	bits, hostBits, ok := l.index.claimBits(pool)
	if !ok {
		return 0, ErrNotReady
	}
	if _, err := l.Preview(Claim{Pool: pool, Bits: bits, Purpose: ipamv1.ClaimPurpose}); err != nil {
		return 0, err
	}
	capacity, _ := l.Capacity(pool)
	return max(1, capacity.Available.Fit(hostBits-bits, most)), nil
}

// claimBits returns the prefix length of what a claim of the pool gets, and that of an address.
func (x *index) claimBits(ref ipamv1.PoolReference) (bits, hostBits int, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.pools[ref]
	if !ok || e.pool == nil {
		return 0, 0, false
	}
	return e.pool.Shape.ClaimBits(), e.pool.Shape.HostBits(), true
}

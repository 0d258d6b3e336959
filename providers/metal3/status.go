// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"math"
	"slices"

	"k8s.io/utils/ptr"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// shownClaims is how many claims a pool may have for status.indexes to tell their addresses.
const shownClaims = 1000

// show writes a report into the status of a pool. What is not known stays as it is.
func show(p pools.Object, r *pools.Report) {
	own := asPool(p)
	status := &own.Status
	switch {
	case r.Counted:
		status.Allocations = indexesOf(r)
		status.Capacity, status.CapacityCapped = capped(r.Capacity.Total.Sub(r.Capacity.Excluded))
		status.AvailableIPCount, _ = capped(r.Capacity.Available)
		if r.Idle {
			status.AvailableIPCount = ptr.To[int64](0)
		}
	case !r.Invalid:
		return
	}
	isUnknown := r.Invalid || slices.ContainsFunc(own.Spec.Pools, isOpen)
	if isUnknown {
		status.Capacity, status.CapacityCapped = nil, false
	}
	if isUnknown || status.CapacityCapped {
		status.AvailableIPCount = nil
	}
}

// isOpen says whether an entry ends with its family.
func isOpen(entry m3v1.Pool) bool {
	return entry.Start != nil && entry.End == nil && entry.Subnet == nil
}

// capped returns a count, at most 2^63-1, and whether it is more.
func capped(count ipspace.Count) (n *int64, isMore bool) {
	return ptr.To(int64(count.Fit(0, math.MaxInt64))), count.Cmp(ipspace.CountOf(math.MaxInt64)) > 0
}

// indexesOf returns the addresses of claims by their names: the lowest, where claims of both kinds have the name; nil for none, and where
// they are too many to tell.
func indexesOf(r *pools.Report) map[string]m3v1.Address {
	if r.Capacity.Claims == 0 || r.Capacity.Claims > shownClaims {
		return nil
	}
	indexes := map[string]m3v1.Address{}
	for _, h := range r.Holdings() {
		if _, told := indexes[h.Claim.Name]; !told && h.CIDR.IsSingleIP() && isHeld(h) {
			indexes[h.Claim.Name] = m3v1.Address(h.CIDR.Addr().String())
		}
	}
	return indexes
}

// isHeld says whether a claim has what is recorded, now and here.
func isHeld(h ledger.Holding) bool {
	return h.ReleasedAt.IsZero() && (h.Purpose == ledger.ForClaim || h.Purpose == ledger.ForAdopted)
}

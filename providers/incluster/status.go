// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"math"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// show writes a report into the status of a pool. What is not known stays as it is; of a pool that cannot be served nothing is counted.
func show(p pools.Object, r *pools.Report) {
	own, _ := p.(object) // by New
	status := own.PoolStatus()
	if r.Invalid {
		status.Addresses = nil
	}
	if !r.Counted || r.Invalid {
		return
	}
	shape, errs := resolve(p, nil)
	if len(errs) > 0 {
		return
	}
	total, free := r.Capacity.Total.Sub(r.Capacity.Excluded), r.Capacity.Available
	if r.Idle || r.Foreign {
		free = ipspace.Count{}
	}
	status.Addresses = &icv1.InClusterIPPoolStatusIPAddresses{
		Total: capped(total), Free: capped(free), Used: capped(total.Sub(free)), OutOfRange: outOfRange(r, shape),
	}
}

// capped returns a count, at most 2^63-1.
func capped(count ipspace.Count) int64 { return int64(count.Fit(0, math.MaxInt64)) }

// outOfRange counts what claims have although the pool would not hand it out.
func outOfRange(r *pools.Report, shape *pooltree.Pool) (number int64) {
	if r.Capacity.Claims == 0 {
		return 0
	}
	for _, h := range r.Holdings() {
		isClaims := h.ReleasedAt.IsZero() && (h.Purpose == ledger.ForClaim || h.Purpose == ledger.ForAdopted)
		if isClaims && (!shape.Contains(h.CIDR) || shape.Withholds(h.CIDR)) {
			number++
		}
	}
	return number
}

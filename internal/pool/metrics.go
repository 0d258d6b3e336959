// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"math/big"
	"strings"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

var (
	withState = append(metrics.PoolLabels[:3:3], "state")

	capacityAddresses = metrics.Gauge("pool", "capacity_addresses", "Addresses of a pool by state; exact up to 2^53.", withState...)
	poolRecords       = metrics.Gauge("pool", "records",
		"Records of a pool by state, but those of its own blocks; those whose object was not seen yet are pending as well.", withState...)
	externalLeftovers = metrics.Gauge("external", "leftovers",
		"Floating IPs of a pool that name claims which are not here (unknown) or have another one (surplus), and claims whose floating IP does not exist or is another's (missing).",
		append(metrics.PoolLabels[:3:3], "found")...)
	externalStock = metrics.Gauge("external", "stock",
		"Floating IPs of a pool that are no claim's: free ones are handed out, bound ones have a port and are not.", withState...)
	overlappingAddresses = metrics.Gauge("pool", "overlapping_addresses",
		"Addresses that a pool and pools of other address spaces both hand out. Absent where there are none.", metrics.PoolLabels...)
	poolReady = metrics.Gauge("pool", "ready", "Whether a pool is Ready: 1 or 0.", metrics.PoolLabels...)
)

// recordStates are the states that records can be in.
var recordStates = []ipamv1.AllocationState{
	ipamv1.ActiveState, ipamv1.ConfirmedState, ipamv1.CoolingState, ipamv1.RetainedState, ipamv1.MovedState,
}

// observe sets the capacity gauges of a pool, of what is known of it.
func observe(ref ipamv1.PoolReference, c ipamv1.Capacity) {
	for state, count := range map[string]string{
		"total": c.Total, "allocated": c.Allocated, "available": c.Available,
		"excluded": c.Excluded, "cooling": c.Cooling, "delegated": c.Delegated,
	} {
		if count != "" {
			capacityAddresses.WithLabelValues(inState(ref, state)...).Set(number(count))
		}
	}
}

// observeRecords sets the gauges of a pool's records.
func observeRecords(ref ipamv1.PoolReference, pool ledger.PoolView) {
	counts := pool.States()
	for _, state := range recordStates {
		poolRecords.WithLabelValues(inState(ref, strings.ToLower(string(state)))...).Set(float64(counts[state]))
	}
	_, pending := pool.Unstored("")
	poolRecords.WithLabelValues(inState(ref, "pending")...).Set(float64(pending))
}

// observeSurvey sets the gauges of a pool's stock, and of how its floating IPs differ from its records, if that is known.
func observeSurvey(ref ipamv1.PoolReference, found *external.Survey) {
	if found == nil {
		return
	}
	for what, n := range map[string]int{"unknown": len(found.Unknown), "surplus": len(found.Surplus), "missing": len(found.Missing) + len(found.Taken)} {
		externalLeftovers.WithLabelValues(inState(ref, what)...).Set(float64(n))
	}
	for state, n := range map[string]int{"free": found.Stock.Free, "bound": found.Stock.Bound} {
		externalStock.WithLabelValues(inState(ref, state)...).Set(float64(n))
	}
}

// observeOverlaps sets the gauge of what a pool shares with others; it drops that of a pool that shares nothing.
func observeOverlaps(ref ipamv1.PoolReference, found []pools.Overlap) {
	if len(found) == 0 {
		overlappingAddresses.DeletePartialMatch(metrics.OfPool(ref))
		return
	}
	shared := ipspace.SetSize(pools.SharedBy(found))
	overlappingAddresses.WithLabelValues(metrics.PoolValues(ref)...).Set(number(shared.String()))
}

// observeReady sets the gauge of a pool's readiness.
func observeReady(ref ipamv1.PoolReference, isReady bool) {
	value := 0.0
	if isReady {
		value = 1
	}
	poolReady.WithLabelValues(metrics.PoolValues(ref)...).Set(value)
}

// unobserve drops the gauges of a pool of which nothing is known here.
func unobserve(ref ipamv1.PoolReference) {
	of := metrics.OfPool(ref)
	capacityAddresses.DeletePartialMatch(of)
	poolRecords.DeletePartialMatch(of)
	poolReady.DeletePartialMatch(of)
	externalLeftovers.DeletePartialMatch(of)
	externalStock.DeletePartialMatch(of)
	overlappingAddresses.DeletePartialMatch(of)
}

// forget drops all series of a pool that is gone.
func forget(ref ipamv1.PoolReference) {
	unobserve(ref)
	claimant.ForgetPool(ref)
}

func inState(ref ipamv1.PoolReference, state string) []string {
	return append(metrics.PoolValues(ref), state)
}

func number(count string) float64 {
	n, ok := new(big.Float).SetString(count)
	if !ok {
		return 0
	}
	f, _ := n.Float64()
	return f
}

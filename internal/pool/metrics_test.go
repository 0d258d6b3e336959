// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestAPoolThatIsGoneHasNoSeries(t *testing.T) {
	t.Parallel()
	ledger := site(t).Ledger
	pool := ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "to go"}
	metal3s := pool
	metal3s.APIGroup = "ipam.metal3.io"
	for _, ref := range []ipamv1.PoolReference{pool, metal3s} {
		observe(ref, ipamv1.Capacity{Total: "256", Available: "254"})
		observeRecords(ref, ledger.Of(ref))
		observeReady(ref, true)
	}
	counts := func() [3]int {
		return [3]int{gaugesOf(t, capacityAddresses, pool.Name), gaugesOf(t, poolRecords, pool.Name), gaugesOf(t, poolReady, pool.Name)}
	}
	if got, want := counts(), [3]int{4, 12, 2}; got != want {
		t.Errorf("two pools have %v series of capacity, records and readiness, want %v", got, want)
	}
	forget(pool)
	if got, want := counts(), [3]int{2, 6, 1}; got != want {
		t.Errorf("with one of them gone there are %v, want %v", got, want)
	}
}

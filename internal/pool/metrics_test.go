// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	dto "github.com/prometheus/client_model/go"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
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

// TestAPoolShowsItsStock once it was compared, and until it is gone.
func TestAPoolShowsItsStock(t *testing.T) {
	t.Parallel()
	pool := ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "with stock"}
	if observeSurvey(pool, nil); gaugesOf(t, externalStock, pool.Name) != 0 {
		t.Error("it has series before the first comparison")
	}
	for _, stock := range []external.Stock{{Free: 2, Bound: 1}, {Bound: 3}} {
		observeSurvey(pool, &external.Survey{Stock: stock})
		observeSurvey(pool, nil)
		shown := external.Stock{Free: stockIn(t, pool, "free"), Bound: stockIn(t, pool, "bound")}
		if n := gaugesOf(t, externalStock, pool.Name); n != 2 || shown != stock {
			t.Errorf("%d series show %+v, want %+v", n, shown, stock)
		}
	}
	if forget(pool); gaugesOf(t, externalStock, pool.Name) != 0 {
		t.Error("it has series when it is gone")
	}
}

func stockIn(t *testing.T, pool ipamv1.PoolReference, state string) int {
	t.Helper()
	written := &dto.Metric{}
	if err := externalStock.WithLabelValues(inState(pool, state)...).Write(written); err != nil {
		t.Fatal(err)
	}
	return int(written.GetGauge().GetValue())
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

func named(name string) ipamv1.PoolReference {
	return ipamv1.PoolReference{Kind: "IPPool", Namespace: "a", Name: name}
}

// sharing is a pool that has a prefix, too.
func sharing(t *testing.T, name, prefix string) pools.Overlap {
	t.Helper()
	var builder netipx.IPSetBuilder
	builder.AddPrefix(netip.MustParsePrefix(prefix))
	set, err := builder.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return pools.Overlap{Other: named(name), Shared: set}
}

// TestPoolsAreLookedAtWhenWhatTheyShareChanges: and not again, so that two pools do not wake each other for ever.
func TestPoolsAreLookedAtWhenWhatTheyShareChanges(t *testing.T) {
	t.Parallel()
	shares := func(name, prefix string) pools.Overlap { return sharing(t, name, prefix) }
	var o overlaps
	for i, step := range []struct {
		found []pools.Overlap
		want  []ipamv1.PoolReference
	}{
		{nil, nil},
		{[]pools.Overlap{shares("q", "10.0.0.0/24")}, []ipamv1.PoolReference{named("q")}},
		{[]pools.Overlap{shares("q", "10.0.0.0/24")}, nil},
		{[]pools.Overlap{shares("q", "10.0.0.0/25")}, []ipamv1.PoolReference{named("q")}},
		{[]pools.Overlap{shares("q", "10.0.0.0/25"), shares("r", "10.0.0.0/25")}, []ipamv1.PoolReference{named("r")}},
		{[]pools.Overlap{shares("r", "10.0.0.0/25")}, []ipamv1.PoolReference{named("q")}},
		{nil, []ipamv1.PoolReference{named("r")}},
	} {
		if diff := cmp.Diff(step.want, o.note(named("p"), step.found)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	if len(o.of) > 0 {
		t.Errorf("remembers %v of a pool that shares nothing", o.of)
	}
}

func TestTheOtherPoolIsLookedAt(t *testing.T) {
	t.Parallel()
	r := &reporter{Options: Options{Ledger: site(t).Ledger}}
	changed := r.Ledger.Notices().Changed(t.Context())
	r.wakeOverlapping(named("p"), []pools.Overlap{{Other: named("q"), Shared: &netipx.IPSet{}}})
	r.Ledger.Notices().PoolChanged(named("last"))
	if got := <-changed; got != named("q") {
		t.Errorf("%v is looked at, want %v", got, named("q"))
	}
}

// TestSharedAddressesAreCountedOnce: an address that two others have, too, is one.
func TestSharedAddressesAreCountedOnce(t *testing.T) {
	t.Parallel()
	shared := named("shared")
	observeOverlaps(shared, []pools.Overlap{sharing(t, "q", "10.0.0.0/29"), sharing(t, "r", "10.0.0.0/30")})
	written := &dto.Metric{}
	if err := overlappingAddresses.WithLabelValues(metrics.PoolValues(shared)...).Write(written); err != nil {
		t.Fatal(err)
	}
	if got := written.GetGauge().GetValue(); got != 8 {
		t.Errorf("%v addresses are shared, want 8", got)
	}
	observeOverlaps(shared, nil)
	if n := gaugesOf(t, overlappingAddresses, shared.Name); n != 0 {
		t.Errorf("a pool that shares nothing has %d series", n)
	}
}

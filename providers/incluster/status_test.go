// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// holds returns holdings of single addresses.
func holds(purpose ledger.Purpose, released time.Time, texts ...string) (all []ledger.Holding) {
	for _, text := range texts {
		all = append(all, ledger.Holding{CIDR: netip.MustParsePrefix(text), Purpose: purpose, ReleasedAt: released})
	}
	return all
}

func TestStatusAddsUp(t *testing.T) {
	t.Parallel()
	counts := ledger.Capacity{
		Total: ipspace.CountOf(8), Excluded: ipspace.CountOf(3), Available: ipspace.CountOf(4), Claims: 4,
	}
	held := append(holds(ledger.ForClaim, time.Time{}, "10.0.0.2/32", "10.0.0.9/32", "10.0.0.1/32"), holds(ledger.ForClaim, time.Unix(1, 0), "10.0.0.10/32")...)
	stale := &icv1.InClusterIPPoolStatusIPAddresses{Total: 99}
	for sentence, test := range map[string]struct {
		report pools.Report
		want   *icv1.InClusterIPPoolStatusIPAddresses
	}{
		"one is outside, and one is the gateway": {
			pools.Report{Counted: true, Capacity: counts}, &icv1.InClusterIPPoolStatusIPAddresses{Total: 5, Used: 1, Free: 4, OutOfRange: 2},
		},
		"nothing is free while the pool hands out nothing": {
			pools.Report{Counted: true, Idle: true, Capacity: counts}, &icv1.InClusterIPPoolStatusIPAddresses{Total: 5, Used: 5, OutOfRange: 2},
		},
		"nor where it is at home elsewhere": {
			pools.Report{Counted: true, Foreign: true, Capacity: counts}, &icv1.InClusterIPPoolStatusIPAddresses{Total: 5, Used: 5, OutOfRange: 2},
		},
		"what is not counted stays":  {pools.Report{}, stale},
		"what cannot be served goes": {pools.Report{Invalid: true}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.report.Holdings = func() []ledger.Holding { return held }
			p := &icv1.InClusterIPPool{Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/29"}, Prefix: 29, Gateway: "10.0.0.1"}}
			p.Status.Addresses = stale
			show(p, &test.report)
			if diff := cmp.Diff(test.want, p.Status.Addresses); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

func TestAnExhaustedPoolSaysWhereItsAddressesAre(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]ledger.Capacity{
		"no address is available: of 4, 2 are allocated, 0 delegated, 0 cooling and 2 excluded": {
			Total: ipspace.CountOf(4), Allocated: ipspace.CountOf(2), Excluded: ipspace.CountOf(2),
		},
		"no address is available: of 4, 1 are allocated, 0 delegated, 0 cooling and 2 excluded; 1 are kept for claims": {
			Total: ipspace.CountOf(4), Allocated: ipspace.CountOf(1), Excluded: ipspace.CountOf(2), Kept: ipspace.CountOf(1),
		},
	} {
		if got := exhaustedMessage(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

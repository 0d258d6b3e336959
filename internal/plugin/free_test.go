// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"net/netip"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// TestFreeChoosesOne: of several prefixes none is freed unless the user names it.
func TestFreeChoosesOne(t *testing.T) {
	t.Parallel()
	a, b := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), 32), netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 1, 0}), 24)
	tests := map[string]struct {
		retained []netip.Prefix
		cidr     string
		code     int
		chosen   netip.Prefix
	}{
		"the only one":        {[]netip.Prefix{a}, "", ExitOK, a},
		"several":             {[]netip.Prefix{a, b}, "", ExitUsage, netip.Prefix{}},
		"the one named":       {[]netip.Prefix{a, b}, "10.0.1.0/24", ExitOK, b},
		"an address is a /32": {[]netip.Prefix{a, b}, "10.0.0.1", ExitOK, a},
		"none is named so":    {[]netip.Prefix{a, b}, "10.0.2.0/24", ExitBadNews, netip.Prefix{}},
		"no prefix":           {[]netip.Prefix{a}, "10.0.0", ExitUsage, netip.Prefix{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var records []survey.Record
			for _, prefix := range tc.retained {
				records = append(records, survey.Record{Prefix: prefix})
			}
			record, err := (&freeing{cidr: tc.cidr}).choose(records)
			if code, _ := codeOf(err); code != tc.code {
				t.Fatalf("got %d (%v), want %d", code, err, tc.code)
			}
			if record != nil && record.Prefix != tc.chosen {
				t.Errorf("chose %s, want %s", record.Prefix, tc.chosen)
			}
		})
	}
}

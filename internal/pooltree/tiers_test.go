// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

func TestTiers(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		areas string
		tiers []string
		want  []string
	}{
		"no order":                           {areas: "192.0.2.0-192.0.2.7"},
		"one":                                {areas: "192.0.2.0-192.0.2.7", tiers: []string{"192.0.2.0-192.0.2.7"}, want: []string{"192.0.2.0/29"}},
		"not by address":                     {areas: "192.0.2.0-192.0.2.7", tiers: []string{"192.0.2.4-192.0.2.7", "192.0.2.0-192.0.2.3"}, want: []string{"192.0.2.4/30", "192.0.2.0/30"}},
		"one in pieces":                      {areas: "192.0.2.0-192.0.2.7", tiers: []string{"192.0.2.3-192.0.2.4", "192.0.2.0-192.0.2.2 192.0.2.5-192.0.2.7"}, want: []string{"192.0.2.3/32 192.0.2.4/32", "192.0.2.0/31 192.0.2.2/32 192.0.2.5/32 192.0.2.6/31"}},
		"one that has nothing of its own":    {areas: "192.0.2.0-192.0.2.7", tiers: []string{"192.0.2.0-192.0.2.7", ""}, want: []string{"192.0.2.0/29", ""}},
		"across the blocks of several areas": {areas: "192.0.2.1-192.0.2.2 192.0.2.3-192.0.2.4", tiers: []string{"192.0.2.3-192.0.2.4", "192.0.2.1-192.0.2.2"}, want: []string{"192.0.2.3/32 192.0.2.4/32", "192.0.2.1/32 192.0.2.2/32"}},
		"of IPv6":                            {areas: "2001:db8::-2001:db8::f", tiers: []string{"2001:db8::8-2001:db8::f", "2001:db8::-2001:db8::7"}, want: []string{"2001:db8::8/125", "2001:db8::/125"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			config := pooltree.Config{}
			for _, r := range rangesOf(test.areas) {
				config.Areas = append(config.Areas, pooltree.Area{Range: r})
			}
			for _, tier := range test.tiers {
				config.Tiers = append(config.Tiers, rangesOf(tier))
			}
			p := pooltree.New(config)
			got := make([]string, 0, len(p.Tiers()))
			for _, tier := range p.Tiers() {
				got = append(got, textOf(tier))
				for _, part := range tier {
					inside := 0
					for _, block := range p.Blocks() {
						if block.Bits() <= part.Bits() && block.Contains(part.Addr()) {
							inside++
						}
					}
					if inside != 1 {
						t.Errorf("%s lies inside %d of %v", part, inside, p.Blocks())
					}
				}
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func rangesOf(text string) (ranges []netipx.IPRange) {
	for r := range strings.FieldsSeq(text) {
		ranges = append(ranges, netipx.MustParseIPRange(r))
	}
	return ranges
}

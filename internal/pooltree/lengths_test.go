// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"net/netip"
	"strings"
	"testing"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

func TestWhichLengthsMayBeAskedFor(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		blocks            string
		shortest, longest int
		bits              int
		refused           string
	}{
		"a single address":                       {blocks: "10.0.0.0/24", bits: 32},
		"all of the pool":                        {blocks: "10.0.0.0/24", bits: 24},
		"more than the pool":                     {blocks: "10.0.0.0/24", bits: 23, refused: "has no block of that length"},
		"more than any of its parts":             {blocks: "10.0.0.0/25 10.0.1.0/25", bits: 24, refused: "has no block"},
		"one of its parts":                       {blocks: "10.0.0.0/26 10.0.1.0/25", bits: 25},
		"longer than an address":                 {blocks: "10.0.0.0/24", bits: 33, refused: "allows lengths up to /32"},
		"an IPv6 address":                        {blocks: "2001:db8::/32", bits: 128},
		"longer than an IPv6 address":            {blocks: "2001:db8::/32", bits: 129, refused: "allows lengths up to /128"},
		"an IPv4 length of an IPv6 pool":         {blocks: "2001:db8::/48", bits: 32, refused: "has no block"},
		"the shortest":                           {blocks: "10.0.0.0/8", shortest: 16, longest: 24, bits: 16},
		"shorter than the shortest":              {blocks: "10.0.0.0/8", shortest: 16, longest: 24, bits: 15, refused: "allows /16 to /24"},
		"the longest":                            {blocks: "10.0.0.0/8", shortest: 16, longest: 24, bits: 24},
		"longer than the longest":                {blocks: "10.0.0.0/8", shortest: 16, longest: 24, bits: 25, refused: "allows /16 to /24"},
		"anything of an empty pool":              {bits: 32, refused: "allows lengths up to /0"},
		"longer than the longest of a pool of 6": {blocks: "2001:db8::/32", longest: 64, bits: 65, refused: "allows lengths up to /64"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			config := pooltree.Config{ShortestBits: test.shortest, LongestBits: test.longest}
			for block := range strings.FieldsSeq(test.blocks) {
				config.Areas = append(config.Areas, pooltree.Area{Range: netipx.RangeOfPrefix(netip.MustParsePrefix(block))})
			}
			p := pooltree.New(config)
			reason, refused := p.RefusesLength(test.bits)
			if refused != (test.refused != "") || !strings.Contains(reason, test.refused) {
				t.Errorf("refused %t: %q, want %q", refused, reason, test.refused)
			}
			if bounded := test.shortest > 0 || test.longest > 0; p.IsBounded() != bounded {
				t.Errorf("bounded %t, want %t", p.IsBounded(), bounded)
			}
		})
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"net/netip"
	"testing"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// TestGatewaysThatStay: whether a gateway stays with a claim that arrived with it is the pool's to
// say; nobody else gets it either way.
func TestGatewaysThatStay(t *testing.T) {
	t.Parallel()
	const gateway = "is the pool's gateway or contains it"
	for sentence, test := range map[string]struct {
		prefix, refused, adopted, kept string
	}{
		"the gateway of an area": {prefix: "192.0.2.1/32", refused: gateway, adopted: gateway},
		"another gateway":        {prefix: "192.0.2.2/32", refused: gateway, adopted: gateway},
		"a block with a gateway": {prefix: "192.0.2.0/30", refused: gateway, adopted: gateway},
		"an address":             {prefix: "192.0.2.3/32"},
		"outside the pool":       {prefix: "192.0.2.32/32", refused: "is not in the pool", adopted: "is not in the pool", kept: "is not in the pool"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			config := pooltree.Config{
				Areas: []pooltree.Area{{
					Range:   netipx.MustParseIPRange("192.0.2.0-192.0.2.15"),
					Network: pooltree.Network{Bits: 24, Gateway: netip.MustParseAddr("192.0.2.1")},
				}},
				Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.2")},
			}
			prefix := netip.MustParsePrefix(test.prefix)
			strict := pooltree.New(config)
			config.KeepsGateways = true
			lenient := pooltree.New(config)
			if reason, _ := lenient.Refuses(prefix); reason != test.refused {
				t.Errorf("refused: %q, want %q", reason, test.refused)
			}
			if reason, _ := strict.RefusesAdopted(prefix); reason != test.adopted {
				t.Errorf("refused to who arrived with it: %q, want %q", reason, test.adopted)
			}
			if reason, refused := lenient.RefusesAdopted(prefix); reason != test.kept || refused != (test.kept != "") {
				t.Errorf("refused although gateways stay: %q, want %q", reason, test.kept)
			}
		})
	}
}

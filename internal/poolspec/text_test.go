// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// networkText writes a network as "/24 via 192.0.2.1 dns 192.0.2.53".
func networkText(t *testing.T, p *pooltree.Pool, address string) string {
	t.Helper()
	network := p.NetworkOf(netip.MustParseAddr(address))
	text := fmt.Sprintf("/%d", network.Bits)
	if network.Gateway.IsValid() {
		text += " via " + network.Gateway.String()
	}
	servers := make([]string, len(network.DNSServers))
	for i, s := range network.DNSServers {
		servers[i] = s.String()
	}
	if len(servers) > 0 {
		text += " dns " + strings.Join(servers, " ")
	}
	return text
}

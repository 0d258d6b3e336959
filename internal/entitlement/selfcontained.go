// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// shownWithheld is how many addresses that are kept back a message names.
const shownWithheld = 5

// CheckDelegated errs with a Refusal if a pool that is to be delegated, of this shape, lacks what the pools above it say of its block.
func (c Children) CheckDelegated(p pools.Own, shape *pooltree.Pool) error {
	block, err := netip.ParsePrefix(p.PoolSpec().CIDR)
	if err != nil {
		return nil //nolint:nilerr // it has no block yet
	}
	return c.CheckSelfContained(c.Registry.Says(p), shape, block)
}

// CheckSelfContained refuses to carve a block for a member that lacks what the pools above it say: the member does not know them. It errs with
// a Refusal. The shape is that of the pool itself. A pool that arrived keeps its block, which its member may use.
func (c Children) CheckSelfContained(says poolspec.Pool, shape *pooltree.Pool, block netip.Prefix) error {
	if says.Place != poolspec.Elsewhere || says.Arrived || shape == nil {
		return nil
	}
	var missing []string
	for _, kept := range c.Registry.Ledger.Withheld(says.Parent, block) {
		if _, refused := shape.Refuses(kept.Prefix); !refused && len(missing) < shownWithheld {
			missing = append(missing, fmt.Sprintf("%s, which %s %s keeps back", kept.Prefix, kept.Pool.Kind, kept.Pool.Name))
		}
	}
	if len(missing) > 0 {
		return CannotCarve(claimant.Invalid, "spec.excludedAddresses", "must name %s: member clusters do not know the pools above", strings.Join(missing, ", "))
	}
	return c.CheckOwnNetwork(says, block)
}

// CheckOwnNetwork refuses a pool that would have network settings of the pools above it.
func (c Children) CheckOwnNetwork(says poolspec.Pool, block netip.Prefix) error {
	if !says.Inherits {
		return nil
	}
	parent := c.Registry.Registered(says.Parent).Shape
	if parent == nil {
		return nil
	}
	network := parent.NetworkOf(block.Addr())
	if !network.Gateway.IsValid() && len(network.DNSServers) == 0 {
		return nil
	}
	return CannotCarve(claimant.Invalid, "spec.network", "must set gateway and dnsServers, which the pools above have for %s: member clusters do not know those pools", block)
}

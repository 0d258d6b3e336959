// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weir

import (
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// Source offers IPPools of the claim's namespace and GlobalIPPools.
func Source(registry *pools.Registry) *entitlement.Source {
	return &entitlement.Source{Registry: registry, Kinds: []pools.Kind{pools.IPPools, pools.GlobalIPPools}, Field: "spec.poolRef"}
}

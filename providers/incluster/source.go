// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
)

// Source offers IPPools of the claim's namespace and GlobalIPPools.
func Source(registry *pool.Registry) *entitlement.Source {
	return &entitlement.Source{Registry: registry, Kinds: []pool.Kind{pool.IPPools, pool.GlobalIPPools}, Field: "spec.poolRef"}
}

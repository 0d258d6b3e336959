// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import "github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"

type edit = allocations.Edit

var (
	poolRef     = allocations.PoolRef
	recordNamed = allocations.Named
	createdAt   = allocations.CreatedAt
	terminating = allocations.Terminating
	touched     = allocations.Touched
	carved      = allocations.Carved
	at          = allocations.At
	prefixes    = allocations.Prefixes
)

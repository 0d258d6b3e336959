// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import "github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"

type edit = allocations.Edit

var (
	poolRef     = allocations.PoolRef
	recordNamed = allocations.Named
	fromPool    = allocations.FromPool
	by          = allocations.By
	elsewhere   = allocations.Elsewhere
	withUID     = allocations.WithUID
	createdAt   = allocations.CreatedAt
	confirmed   = allocations.Confirmed
	released    = allocations.Released
	terminating = allocations.Terminating
	moving      = allocations.Moving
	touched     = allocations.Touched
	carved      = allocations.Carved
	delegatedTo = allocations.DelegatedTo
	root        = allocations.Root
	handedBack  = allocations.HandedBack
	at          = allocations.At
	prefixes    = allocations.Prefixes
)

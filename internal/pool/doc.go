// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool keeps pools: it registers them with the ledger, has their blocks recorded, shows capacity and conditions,
// and holds a pool that is being deleted until nothing is allocated from it.
//
// All kinds of pools are one implementation: IPPool, GlobalIPPool and those of front doors. What differs between them is in Kind, as
// data; Registry knows the kinds. Only Weir's own kinds (Own) can be carved from other pools.
package pool

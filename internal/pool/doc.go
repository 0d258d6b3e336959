// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool keeps pools: it has their blocks recorded, shows capacity and conditions, and holds a pool that is being deleted until
// nothing is allocated from it.
//
// All kinds of pools are one implementation: IPPool, GlobalIPPool and those of front doors (pools.Kind). Pools of any kind may be carved
// from others: of Weir's own (pools.Own) the parent chooses the block, if they do not say one; those of front doors say all their addresses.
package pool

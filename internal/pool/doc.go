// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool keeps pools: it registers them with the ledger, has their blocks recorded, shows capacity and conditions,
// and holds a pool that is being deleted until nothing is allocated from it.
//
// IPPool and GlobalIPPool are one implementation; what differs between them is in Kind.
package pool

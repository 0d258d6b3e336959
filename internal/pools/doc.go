// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pools is what all who ask something of a pool know of it: a Kind is a kind of pools as data, and the Registry finds pools and
// makes them known to the ledger. What differs between IPPool, GlobalIPPool and the pools of front doors is in their Kind. No controller is
// imported, and no pool is written.
package pools

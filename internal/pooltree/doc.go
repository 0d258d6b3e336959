// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pooltree is the shape of a pool: which addresses it consists of,
// which of them are never handed out, which are for one claim only and in which
// order the others are, and what network an address of it belongs to.
//
// Invariants:
//   - A Pool never changes. A new spec makes a new Pool.
//   - Every address of a pool is either usable or kept back, and counts are
//     exact: Total = UsableIn(everything) + ExcludedCount. An external pool,
//     whose addresses something outside chooses, keeps back none and has its
//     limit for Total.
//   - An address is kept back for one of four reasons: it is excluded, it is
//     a gateway, its network reserves it, or it does not reach its gateway. The
//     first two are kept out of handed-out prefixes of any length, the third
//     only as a single address: whoever holds a whole block decides about its
//     ends. The fourth is kept from claims, and not from pools that are carved
//     out of this one: they may have a network of their own.
//   - What is kept for one claim is usable: it is neither kept back nor counted
//     as such. Who may have it is said here; that nobody else gets it is for
//     the ledger to see to.
//
// The package is pure: it knows no Kubernetes, no clock and no I/O. What is
// held by whom is the ledger's knowledge, not the shape's.
package pooltree

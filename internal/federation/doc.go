// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package federation reads at the hub what members report of delegated pools. Karmada collects the
// status of each member's copy in a binding: a ResourceBinding for an IPPool, a
// ClusterResourceBinding for a GlobalIPPool. Weir reads bindings and writes none.
//
//   - karmada.go: Bindings, which the controller of pools asks for the report of one pool.
//   - decode.go: what one binding says.
package federation

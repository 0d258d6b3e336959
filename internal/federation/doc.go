// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package federation reads at the hub what members report of delegated pools, and creates further
// pools beside those that run low. Karmada collects the status of each member's copy in a binding: a
// ResourceBinding for an IPPool, a ClusterResourceBinding for a GlobalIPPool. Weir reads bindings and
// writes none.
//
//   - karmada.go: Bindings, which the controller of pools asks for the report of one pool.
//   - decode.go: what one binding says.
//   - family.go: whether a pool and its siblings run low.
//   - expand.go: Expander, which the controller of pools has create a further sibling.
package federation

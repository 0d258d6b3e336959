// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package poolspec says what the spec of a pool means and whether it is valid.
// It is the only place that does: admission refuses with it, and the pool
// controller reads with it, because a webhook can be bypassed.
//
// Invariants:
//   - A spec either has a shape or errors, never both and never neither.
//   - Every mistake is reported, at the path of its field.
//   - The verdict depends on the spec and the pool's kind and namespace alone.
//     What other pools have and what is in use is for the caller to check.
package poolspec

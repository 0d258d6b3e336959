// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package survey reads what a user may see of pools, records, claims and their owners, with the
// user's own rights, and lists what the user may not see.
//
// Invariants:
//   - Nothing is written: the transport refuses every request that could. A Releaser has one of its own,
//     which lets the create and the delete of an IPClaim through.
//   - A forbidden read is a gap, never an empty list.
//   - A list is read as it comes. Its text is never in memory as a whole.
package survey

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsck is the independent checker: it reads answers, records, claims and pools through the API,
// and reports what contradicts what Weir promises. kubectl weir fsck and the tests use it.
//
// Invariants:
//   - It imports nothing of the module: what it checks is written down here a second time.
//   - Nothing is written.
//   - Findings of a list that is not complete are not made: what is forbidden is an error.
package fsck

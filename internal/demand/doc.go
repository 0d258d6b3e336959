// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package demand reckons what addresses a Cluster needs: now, for good, and at most while its machines are replaced.
//
// It knows no infrastructure provider. In a machine template, each reference of group, kind and name to a pool of
// Weir's is one address for each machine. What providers name in other ways is a Form.
//
// Invariants:
//   - What is not looked at is in the answer.
//   - AtMost is never less than what the controllers of Cluster API may use at once.
package demand

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reasons has what each reason of a condition of claims and pools means, and what to do.
// docs/reference/reasons.md is made of it.
//
// Invariants:
//   - Each reason of api/v1alpha1/conditions.go is here once for each condition that has it, and no other is.
//   - A reason without anything to do is good news.
package reasons

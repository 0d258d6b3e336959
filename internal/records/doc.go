// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package records keeps IPAllocations packed, and finds them by name and by claimant.
//
// It knows what a record says, not what that means: pools and address spaces are values that many
// records have in common. It has no lock and no clock.
package records

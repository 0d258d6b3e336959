// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import "time"

// KeptError says why a claim that is being deleted keeps what it has: what backs it outside of the
// cluster is not given back yet, or the API server refuses a write. It is shown in the Deleting
// condition.
type KeptError struct {
	// Reason of the Deleting condition.
	Reason  string
	Message string
	// After is when to try again: no watch tells when that ends otherwise.
	After time.Duration
}

func (e *KeptError) Error() string { return e.Message }

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import "time"

// KeptError says why what backs a claim outside of the cluster is not given back yet. Until it is,
// what the claim has in the cluster stays as well. It is shown in the Deleting condition.
type KeptError struct {
	// Reason of the Deleting condition.
	Reason  string
	Message string
	// After is when to try again: no watch tells when that ends otherwise.
	After time.Duration
}

func (e *KeptError) Error() string { return e.Message }

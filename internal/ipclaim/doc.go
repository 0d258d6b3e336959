// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipclaim answers Weir's own claims.
//
// An IPClaim is its own answer. The webhooks of package admission put the prefix into it while it is created, and reserve it
// for its UID; that the API server stores the claim is the commit. What is left for the controller:
//
//	stored, recorded, not bound     the record gets the claim as its owner, and is judged once more
//	stored, not recorded            it came past the webhooks, or from a backup: recorded now, at what it says
//	stored without a prefix         it came past the webhooks: a prefix is reserved, then written into it
//	being deleted                   its record is given up, cools down or is retained; then its finalizer goes
//	gone, record left               given up, unless the claim may only just be on its way into storage
//
// entitlement.IPClaims says what a claim may ask of which pool; webhooks and controller ask it alike, for a webhook can be bypassed.
package ipclaim

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neutron is a narrow client of OpenStack's network service for floating IPs, with its log-in at Keystone v3.
//
// Invariants:
//   - Credentials come from bytes alone: no file, environment variable or vendor profile is read.
//   - Every URL and every dialled address is checked against an EndpointPolicy. Redirects are not followed.
//   - No call is repeated, but for one log-in after a 401, which proves that the call was not executed.
//   - A change whose execution is in doubt fails with kind Uncertain, never with another.
//   - NotFound is what Neutron itself said of an object; a 404 of anything else on the way is Unavailable.
//   - No error, string form or observation carries a secret or a token.
//
// The package knows no pools and no claims: what a description means is its callers' business.
package neutron

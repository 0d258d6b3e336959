// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package entitlement says what the claims of any form may ask of which pool, and refuses the rest in words for the claim. It knows no HTTP
// codes and chooses no address.
package entitlement

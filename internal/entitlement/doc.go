// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package entitlement says who may have what of which pool, and refuses the rest in words for who asks: claims of any form (Source), IPClaims,
// and pools that are carved from others (Children). It knows no HTTP codes, imports no controller and chooses no address.
package entitlement

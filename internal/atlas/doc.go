// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package atlas makes the map of pools: a model of what their addresses are in use for, as one object in JSON, and
// the page that draws it.
//
// Invariants:
//   - The tiles of a pool cover each of its addresses once, and no other address.
//   - What may be held and is not shown is never drawn as free.
package atlas

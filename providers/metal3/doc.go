// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3 says what the pools of Metal3's group ipam.metal3.io mean. It translates, and owns no allocator.
//
// Invariants:
//   - A spec that Metal3 serves is served, unless it mixes families.
//   - Text is parsed here, once. Addresses are compared as addresses.
//   - What is returned follows from the spec and the pool's namespace alone.
package metal3

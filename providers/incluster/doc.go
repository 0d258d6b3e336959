// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package incluster says what the in-cluster provider's pools mean. It translates, and owns no allocator.
//
// Invariants:
//   - Nothing is handed out that the in-cluster provider would not hand out: it would refuse every change of the pool afterwards.
//   - Text is parsed here, once. Addresses are compared as addresses.
//   - What is returned follows from the spec alone.
package incluster

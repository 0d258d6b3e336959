// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipspace is the arithmetic of addresses: canonical text, sets, exact
// counts, and which addresses of a network are reserved.
//
// Invariants:
//   - Text has one form. What a parser accepts is what the result's String
//     method prints (RFC 5952, masked), so equal values have equal text and
//     text may serve as a key. Everything else is refused, and where a
//     canonical form exists the error shows it.
//   - Addresses carry no zone and are never IPv4-mapped (RFC 4291 §2.5.5.2);
//     no prefix or range reaches into ::ffff:0:0/96, and none is a whole
//     family.
//   - Counts are exact. They are 128 bits wide and saturate, they never wrap.
//
// The package is pure: it knows no Kubernetes, no clock and no I/O, and it
// holds no state.
package ipspace

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pile keeps very many small values with little memory around them:
// by number instead of by pointer, in chunks instead of one by one. What holds
// no pointers itself costs the garbage collector nothing either.
//
// Invariants:
//   - A number stands for one value from when it is given out until it is given
//     back; 0 is never given out.
//   - A value never moves, so a pointer to it is good for as long.
//
// The package is pure. It knows nothing of what it keeps, and whether a number
// is still good is its user's business: one that was given back may be given
// out again.
package pile

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package allocator keeps the prefixes taken in one address space and finds
// free ones.
//
// A Space is two binary tries with compressed paths, one per family. Every
// node knows what its part of the space still offers, so a search goes
// straight to its answer or learns at the top that there is none:
//
//	10.0.0.0/29               free: /31
//	├─ 10.0.0.0/31            free: none
//	│  ├─ 10.0.0.0/32  taken
//	│  └─ 10.0.0.1/32  taken
//	└─ 10.0.0.4/30     taken  free: none; inside it free: /31
//	   └─ 10.0.0.6/32  taken
//
// No node stands for 10.0.0.2/31: what lies beside a compressed path is free.
//
// A gap is a free aligned block that no larger free aligned block contains;
// here these are 10.0.0.2/31 in the pool and 10.0.0.4/31 and 10.0.0.7/32 in its
// child. Nodes know the lengths of the gaps below them as well, which is what
// BestFit goes by.
//
// Invariants:
//   - What a search returns overlaps no entry, other than the ones at or above
//     the block searched that the caller calls its own.
//   - The answer depends on the entries, the request and the random numbers
//     given alone, not on the order in which the entries came.
//   - Exhausted is said only if no free place of the wanted length exists,
//     as long as Forget is called when the rule for reserved addresses
//     changes (see Request.Reserved).
//
// Reserved addresses are not entries. A search that runs into one leaves a
// mark, which keeps later searches for single addresses away. Marks are a
// cache: they are no entries, they do not stand in the way of prefixes, and
// the marks inside a prefix vanish when an entry at it comes or goes.
//
// The package is pure: it knows no Kubernetes, no clock and no I/O. It does not
// know what an entry means, and it must not: whose it is, whether it cools down
// and when it may go is the ledger's business.
package allocator

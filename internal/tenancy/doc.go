// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy says which project a namespace or pool belongs to, who may claim and carve from a pool, and whose objects may
// be named to whom.
//
// Invariants:
//   - Nobody is admitted for want of knowledge: what cannot be read admits nobody whom it was needed for.
//   - A refusal reads the same whether there is no such pool or it is not visible.
//   - The cache is read, and of namespaces only the metadata; one that it does not know is looked for once on the API server.
//     Answers are as old as the cache: whoever refuses by them has to ask again when a namespace's or a pool's labels change.
//
// It decides nothing about prefix lengths, asked addresses or what is free, and writes nothing.
package tenancy

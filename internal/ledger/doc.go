// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger hands out addresses and prefixes so that none is ever handed out twice. It is the
// only writer of IPAllocations.
//
// # Invariants
//
// Within one address space no two live claims hold overlapping prefixes, however many managers
// write at once, however stale their caches, and wherever one of them dies (docs/design/ledger.md,
// I1 to I8).
//
// # Mechanism
//
// Every prefix in use is an IPAllocation, the record. All managers follow one unfiltered watch of
// that one resource type, and a watch of one type delivers in revision order. A record is created
// first and judged afterwards, in the watch callback that delivers the very version that was
// created: at that moment the book holds every record created before it. No overlap: the record has
// won, and the caller may commit by creating the answer. Overlap: it is dropped, and another prefix
// is tried. Of two overlapping records the later one is always judged in sight of the earlier one.
//
// # Rooms
//
// Package records keeps the records, package book says what they mean. This package has the lock
// around the book (feed), the watch that feeds it and those who wait for its verdicts, answers
// questions about it (reader), proves that it is current (prover), and writes (writer, Ledger).
//
// # What it must not do
//
// It never reads a cache to decide that something may be released: callers prove by a live read
// that a claim is gone, and every drop carries the UID and the resourceVersion that the proof was
// about.
package ledger

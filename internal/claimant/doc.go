// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimant has what the controllers share of all that gets a part of a pool, or waits for one: claims of every kind, and carved
// pools. It says who is woken by what, when a claim is paused, what a claim has outside of its pool's policy, and it is the only way out of
// the ledger (Exit).
//
// It decides nothing about what is handed out. Who is woken it reads from caches. A record is released
// for a Reason, on a proof that an Observation makes of live reads, and Exit reads live what keeps the
// record all the same.
package claimant

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimant has what the controllers share of all that gets a part of a pool, or waits for one: claims of every kind, and carved
// pools.
//
// It reads caches and decides nothing about what is handed out.
package claimant

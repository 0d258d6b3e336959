// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle is the allocator written the naive way: a list of what is
// held, looked through from end to end for every question. Tests compare the
// real one with it.
//
// It must stay obviously right rather than fast, and it must import nothing
// from the packages it judges.
package oracle

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package predicates says which changes of an object matter to a controller.
//
// A predicate saves work and decides nothing: what it does not pass is looked at with the next resync all the same.
package predicates

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions reads and sets the conditions of objects, in the order that Cluster API gives
// them. Cluster API's own package would link a test framework into the manager.
package conditions

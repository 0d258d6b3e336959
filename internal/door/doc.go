// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package door is the contract between the controller of claims and the front doors: the Form that a door gives its claims and answers, and
// the Source that offers pools to them (docs/design/doors.md). It holds data and interfaces, and decides nothing. No controller is imported.
package door

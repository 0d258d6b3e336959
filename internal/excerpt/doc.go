// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package excerpt bounds what is shown of the text that callers send: in log lines, conditions, events and refusals.
//
// Invariants:
//   - No value of a caller is shown with more than MaxValue bytes.
//   - No message has more than MaxMessage bytes, however many values it is made of.
package excerpt

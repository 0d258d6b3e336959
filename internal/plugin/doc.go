// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin is kubectl weir: its commands, flags, printing and exit codes. What the commands
// show is read by package survey, with the user's rights; nothing is decided here.
//
// Invariants:
//   - JSON and YAML are one versioned object, and have the gaps that the user's rights leave.
//   - An answer that rights do not allow has an exit code of its own. No command takes "not seen"
//     for "not there".
package plugin

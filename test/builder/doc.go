// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package builder makes objects for tests: a name, what the test is about, and
// nothing else. Every chain ends in Build, which returns a new object each
// time. The package is for tests only.
package builder

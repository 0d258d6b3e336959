// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics makes the manager's own metrics: each is registered with controller-runtime's registry and listed, so that
// docs/reference/metrics.md can be compared with them. It measures nothing itself.
package metrics

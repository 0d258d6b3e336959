// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package weir offers Weir's own pool kinds, IPPool and GlobalIPPool, to Cluster API claims.
package weir

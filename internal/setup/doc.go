// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup turns flags into a running manager: scheme, cache, ledger, controllers, webhooks and front doors. It is the
// one place of internal/ that knows the providers.
package setup

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package foreign holds what IPAddresses of other IPAM providers name, sorted by prefix. It is
// pure: who follows those objects, and what their addresses are kept from, is decided elsewhere.
package foreign

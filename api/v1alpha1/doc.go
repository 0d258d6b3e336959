// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of the group ipam.weir.dev: pools, claims and the ledger's allocation records,
// with the condition types, reasons, labels, annotations and finalizers that go with them.
//
// It holds no logic beyond accessors. Everything that decides lives in internal/; everything that must survive a move
// or a restore lives in spec or metadata, never in status.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.weir.dev
package v1alpha1

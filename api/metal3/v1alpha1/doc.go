// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the API types of Metal3's group ipam.metal3.io: pools, claims and addresses, with the finalizers, annotations and
// texts that other programs rely on.
//
// The API is Metal3's. Every object that Metal3's own CRDs accept is accepted here, and what Weir stores can be read with Metal3's types:
// fields, their JSON names, patterns, bounds and defaults are the same, whatever this project would choose for itself. Weir adds one field,
// status.conditions of IPPool and IPClaim, which Metal3's types do not have and their decoders skip.
//
// It holds no logic beyond accessors. What a spec means is for providers/metal3 to say.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.metal3.io
package v1alpha1

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the pool kinds of the in-cluster provider as older manifests write them.
// It is deprecated: v1alpha2 is what is stored, and differs in what may be written only. So nothing
// is converted, and a field of v1alpha2 is never lost by a write of this version.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.cluster.x-k8s.io
package v1alpha1

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 holds the pool kinds of the in-cluster provider (cluster-api-ipam-provider-in-cluster): InClusterIPPool and
// GlobalInClusterIPPool, with the finalizers that its controller sets.
//
// The group ipam.cluster.x-k8s.io is Cluster API's, and other providers have kinds in it, too. What the in-cluster provider stores can be read
// with these types, and the other way round. Weir adds one field, status.conditions.
//
// Version v1alpha1 of these kinds is served, too. It is deprecated, has the same fields, and
// refuses spec.subnet, spec.start and spec.end.
//
// It holds no logic beyond accessors. What a spec means is for providers/incluster to say.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.cluster.x-k8s.io
package v1alpha2

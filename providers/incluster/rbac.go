// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

// What the manager may do with the in-cluster provider's kinds: the source of config/incluster/rbac/role.yaml, which is part of the component
// set with these kinds only. The rights on Cluster API's kinds are the manager's anyway.

// Pools: finalizer and status. Finalizers: pools are owners with blockOwnerDeletion.
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=inclusterippools;globalinclusterippools,verbs=get;list;patch;update;watch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=inclusterippools/status;globalinclusterippools/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=inclusterippools/finalizers;globalinclusterippools/finalizers,verbs=update

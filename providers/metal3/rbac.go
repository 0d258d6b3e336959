// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

// What the manager may do with Metal3's kinds: the source of config/metal3/rbac/role.yaml, which is part of the component set with Metal3's
// API only. The rights on Cluster API's kinds are the manager's anyway.

// Pools: finalizer, label and owner of the Cluster, and status. Finalizers: pools are owners with blockOwnerDeletion. Delete: none is
// deleted, but OwnerReferencesPermissionEnforcement lets only who may delete an object give it an owner.
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools,verbs=delete;get;list;patch;update;watch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools/finalizers,verbs=update

// Claims and their answers.
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims,verbs=get;list;patch;update;watch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipaddresses,verbs=create;delete;get;list;patch;update;watch

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

// What the manager may do: the source of config/rbac/role.yaml, all in one place so that it can be read at once. It changes objects by
// patches alone, but takes the last finalizer off by an update, which the API server holds against the UID.
// Leases and the events of leader election are in config/rbac/leader_election_role.yaml, for its own namespace only.

// The ledger. The verb manage is what the policies in config/policy ask of everybody who writes records.
// +kubebuilder:rbac:groups=ipam.weir.dev,resources=ipallocations,verbs=create;delete;get;list;manage;patch;update;watch

// Pools: the controller adds and removes the finalizer and writes status. Finalizers: pools are owners with
// blockOwnerDeletion, which the API server's OwnerReferencesPermissionEnforcement guards.
// +kubebuilder:rbac:groups=ipam.weir.dev,resources=ippools;globalippools,verbs=get;list;patch;update;watch
// +kubebuilder:rbac:groups=ipam.weir.dev,resources=ippools/status;globalippools/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.weir.dev,resources=ippools/finalizers;globalippools/finalizers,verbs=update

// Weir's own claims. The verb manage is not needed for them: their records are the ledger's, and block no claim's deletion.
// +kubebuilder:rbac:groups=ipam.weir.dev,resources=ipclaims,verbs=get;list;patch;update;watch
// +kubebuilder:rbac:groups=ipam.weir.dev,resources=ipclaims/status,verbs=patch

// Projects: what a namespace's labels say.
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Cluster API's front door (contract "IPAM provider").
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=get;list;patch;update;watch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=create;delete;get;list;patch;update;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// For which host CAPM3 made a claim, where a pool keeps addresses for hosts. Read live, one at a time.
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas;metal3dataclaims;metal3machines,verbs=get

// Refusals and recoveries are told in events. Reviews: who scrapes metrics, and whether who
// is refused may know the names of what is in the way. Which front doors exist is read from discovery,
// which everybody may.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

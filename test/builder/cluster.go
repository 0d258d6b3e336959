// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ClusterBuilder builds a Cluster of Cluster API.
type ClusterBuilder struct {
	cluster clusterv1.Cluster
}

// Cluster begins a Cluster whose infrastructure does not exist.
func Cluster(namespace, name string) *ClusterBuilder {
	return &ClusterBuilder{clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "None", Name: "none",
		}},
	}}
}

// WithPaused says whether the Cluster is paused.
func (b *ClusterBuilder) WithPaused(paused bool) *ClusterBuilder {
	b.cluster.Spec.Paused = ptr.To(paused)
	return b
}

// Build returns the Cluster.
func (b *ClusterBuilder) Build() *clusterv1.Cluster { return b.cluster.DeepCopy() }

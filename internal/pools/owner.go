// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
)

// ClusterOf returns the Cluster that a pool belongs to; nil if it belongs to none, and missing if that is not there.
func (r *Registry) ClusterOf(ctx context.Context, c client.Reader, p *Known) (cluster *clusterv1.Cluster, missing bool, err error) {
	cluster, err = claimant.Cluster(ctx, c, p.GetNamespace(), p.Says.ClusterName)
	return cluster, cluster == nil && p.Says.ClusterName != "" && err == nil, err
}

// OwnerReference is the reference to the pool that its IPAddresses and records carry (contract: "IPAddress").
func (r *Registry) OwnerReference(p Object) metav1.OwnerReference {
	kind, _ := r.kindOfPool(p)
	return metav1.OwnerReference{
		APIVersion:         kind.WithVersion(kind.Version).GroupVersion().String(),
		Kind:               kind.Kind,
		Name:               p.GetName(),
		UID:                p.GetUID(),
		Controller:         ptr.To(false),
		BlockOwnerDeletion: ptr.To(true),
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// ClusterIndex finds the claims of a Cluster, by its name.
const ClusterIndex = "weir.cluster"

// Cluster returns a Cluster, or nil if there is none of that name, no name, or no such kind.
func Cluster(ctx context.Context, reader client.Reader, namespace, name string) (*clusterv1.Cluster, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no Cluster is an answer
	}
	cluster := &clusterv1.Cluster{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil //nolint:nilnil // no Cluster is an answer
	case err != nil:
		return nil, fmt.Errorf("getting Cluster %s: %w", name, err)
	}
	return cluster, nil
}

// ClusterName returns the name of the Cluster that a claim belongs to by its metadata: the label's, else that of an owner, else none.
func ClusterName(claim metav1.Object) string {
	if name := claim.GetLabels()[clusterv1.ClusterNameLabel]; name != "" {
		return name
	}
	for _, owner := range claim.GetOwnerReferences() {
		if kinds.OfOwner(owner) == kinds.Cluster {
			return owner.Name
		}
	}
	return ""
}

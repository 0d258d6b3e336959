// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// ClusterIndex finds the claims of a Cluster, by its name.
const ClusterIndex = "weir.cluster"

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

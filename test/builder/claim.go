// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// ClaimBuilder builds a claim of Cluster API.
type ClaimBuilder struct {
	claim ipamv1beta2.IPAddressClaim
}

// IPAddressClaim begins a claim for a pool of the given kind and name, in the
// version that Cluster API stores.
func IPAddressClaim(namespace, name, poolKind, pool string) *ClaimBuilder {
	return &ClaimBuilder{ipamv1beta2.IPAddressClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: ipamv1beta2.IPAddressClaimSpec{
			PoolRef: ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: poolKind, Name: pool},
		},
	}}
}

// WithPoolGroup sets the API group of the pool.
func (b *ClaimBuilder) WithPoolGroup(group string) *ClaimBuilder {
	b.claim.Spec.PoolRef.APIGroup = group
	return b
}

// WithCluster sets the Cluster that the claim belongs to.
func (b *ClaimBuilder) WithCluster(name string) *ClaimBuilder {
	b.claim.Spec.ClusterName = name
	return b
}

// WithLabel adds a label.
func (b *ClaimBuilder) WithLabel(key, value string) *ClaimBuilder {
	metav1.SetMetaDataLabel(&b.claim.ObjectMeta, key, value)
	return b
}

// WithAnnotation adds an annotation.
func (b *ClaimBuilder) WithAnnotation(key, value string) *ClaimBuilder {
	metav1.SetMetaDataAnnotation(&b.claim.ObjectMeta, key, value)
	return b
}

// WithFinalizers sets the finalizers.
func (b *ClaimBuilder) WithFinalizers(finalizers ...string) *ClaimBuilder {
	b.claim.Finalizers = finalizers
	return b
}

// Build returns the claim.
func (b *ClaimBuilder) Build() *ipamv1beta2.IPAddressClaim { return b.claim.DeepCopy() }

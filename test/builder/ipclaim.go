// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// IPClaimBuilder builds a claim of Weir's own.
type IPClaimBuilder struct {
	claim ipamv1.IPClaim
}

// IPClaim begins a claim that names no pool yet.
func IPClaim(namespace, name string) *IPClaimBuilder {
	return &IPClaimBuilder{ipamv1.IPClaim{
		TypeMeta:   typeMeta(ipamv1.IPClaimKind),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}}
}

// Generated has the API server complete the name.
func (b *IPClaimBuilder) Generated() *IPClaimBuilder {
	b.claim.GenerateName, b.claim.Name = b.claim.Name+"-", ""
	return b
}

// From names the pool; with an empty name none.
func (b *IPClaimBuilder) From(kind, pool string) *IPClaimBuilder {
	b.claim.Spec.PoolRef = nil
	if pool != "" {
		b.claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: kind, Name: pool}
	}
	return b
}

// FromAny has the claim choose a pool by a label.
func (b *IPClaimBuilder) FromAny(kind, key, value string) *IPClaimBuilder {
	b.claim.Spec.PoolSelector = &ipamv1.PoolSelector{
		Kind: kind, LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	}
	return b
}

// WithBits asks for a prefix of this length.
func (b *IPClaimBuilder) WithBits(bits int32) *IPClaimBuilder {
	b.claim.Spec.PrefixLength = &bits
	return b
}

// WithCIDR asks for this very prefix.
func (b *IPClaimBuilder) WithCIDR(cidr string) *IPClaimBuilder {
	b.claim.Spec.CIDR = cidr
	return b
}

// WithFamily narrows the pools to choose from.
func (b *IPClaimBuilder) WithFamily(family ipamv1.IPFamily) *IPClaimBuilder {
	b.claim.Spec.IPFamily = family
	return b
}

// Retained has the prefix kept for the next claim of the name.
func (b *IPClaimBuilder) Retained() *IPClaimBuilder {
	b.claim.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
	return b
}

// WithAnnotation adds an annotation.
func (b *IPClaimBuilder) WithAnnotation(key, value string) *IPClaimBuilder {
	metav1.SetMetaDataAnnotation(&b.claim.ObjectMeta, key, value)
	return b
}

// Build returns the claim.
func (b *IPClaimBuilder) Build() *ipamv1.IPClaim { return b.claim.DeepCopy() }

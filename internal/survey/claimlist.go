// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// claimForms are the kinds of claims.
var claimForms = []struct {
	resource resource
	kind     schema.GroupKind
}{
	{resource{kinds.IPAddressClaim.WithVersion("v1beta2").GroupVersion().WithResource("ipaddressclaims"), true}, kinds.IPAddressClaim},
	{resource{ipamv1.GroupVersion.WithResource("ipclaims"), true}, kinds.IPClaim},
	{resource{m3v1.GroupVersion.WithResource("ipclaims"), true}, schema.GroupKind{Group: m3v1.GroupVersion.Group, Kind: "IPClaim"}},
}

// ListedClaim is what a list tells of a claim for a pool of Weir's.
type ListedClaim struct {
	Object
	Pool ipamv1.PoolReference
	// PrefixLength and CIDR are what an IPClaim asks for; nil and "" for what the pool gives.
	PrefixLength *int32
	CIDR         string
	// IsAnswered: it has an address or prefix.
	IsAnswered bool
	// IsDeleting: it is being deleted.
	IsDeleting bool
	// Reason of its condition Ready, or UnreportedState; that of a claim of Metal3's may be its error.
	Reason, Message string
	Created         time.Time
}

// claimFields are those of all forms of claims that are looked at. Others are not decoded.
type claimFields struct {
	Metadata struct {
		Namespace         string       `json:"namespace"`
		Name              string       `json:"name"`
		CreationTimestamp metav1.Time  `json:"creationTimestamp"`
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		PoolRef ipamv1.PoolReference `json:"poolRef"`
		// Pool is Metal3's.
		Pool ipamv1.PoolReference `json:"pool"`
		// PrefixLength and CIDR are an IPClaim's.
		PrefixLength *int32 `json:"prefixLength"`
		CIDR         string `json:"cidr"`
	} `json:"spec"`
	Status struct {
		Conditions    []metav1.Condition `json:"conditions"`
		AddressRef    namedFields        `json:"addressRef"`
		Address       namedFields        `json:"address"`
		AllocatedCIDR string             `json:"allocatedCIDR"`
		ErrorMessage  string             `json:"errorMessage"`
	} `json:"status"`
}

type namedFields struct {
	Name string `json:"name"`
}

// Claims passes on the claims for Weir's pools, in no order. It returns false if no list of them was
// allowed. What is not shown is a gap.
func (s *Survey) Claims(ctx context.Context, each func(*ListedClaim)) (isAllowed bool, err error) {
	served, err := s.poolKinds(ctx)
	if err != nil {
		return false, err
	}
	for _, form := range claimForms {
		result, err := s.list(ctx, form.resource, query{}, func(body io.Reader) error {
			return readItems(body, func(fields *claimFields) {
				if c := fields.claim(Object{APIGroup: form.kind.Group, Kind: form.kind.Kind}, served); c != nil {
					each(c)
				}
			})
		})
		if err != nil {
			return false, err
		}
		isAllowed = isAllowed || result == listed || result == partly
	}
	return isAllowed, nil
}

// claim returns nil if the claim is for another provider's pool: one of a kind that Weir does not serve.
func (f *claimFields) claim(object Object, served []schema.GroupKind) *ListedClaim {
	object.Namespace, object.Name = f.Metadata.Namespace, f.Metadata.Name
	c := &ListedClaim{
		Object: object, Created: f.Metadata.CreationTimestamp.Time, IsDeleting: f.Metadata.DeletionTimestamp != nil,
		IsAnswered: cmp.Or(f.Status.AddressRef.Name, f.Status.Address.Name, f.Status.AllocatedCIDR) != "",
		Reason:     UnreportedState,
	}
	switch object.APIGroup {
	case m3v1.GroupVersion.Group:
		c.Pool = ipamv1.PoolReference{APIGroup: m3v1.GroupVersion.Group, Kind: m3v1.IPPoolKind, Name: f.Spec.Pool.Name, Namespace: object.Namespace}
	case ipamv1.GroupVersion.Group:
		c.Pool, c.PrefixLength, c.CIDR = f.Spec.PoolRef, f.Spec.PrefixLength, f.Spec.CIDR
		c.Pool.APIGroup = ipamv1.GroupVersion.Group
	default:
		c.Pool = f.Spec.PoolRef
	}
	if group := c.Pool.APIGroup; group != ipamv1.GroupVersion.Group && group != m3v1.GroupVersion.Group && !slices.Contains(served, c.Pool.GroupKind()) {
		return nil
	}
	if c.Pool = c.Pool.Canonical(); c.Pool.Namespace == "" && c.Pool.GroupKind() != kinds.GlobalIPPool && c.Pool.GroupKind() != GlobalInClusterPool {
		c.Pool.Namespace = object.Namespace
	}
	if ready := meta.FindStatusCondition(f.Status.Conditions, ipamv1.ReadyCondition); ready != nil {
		c.Reason, c.Message = ready.Reason, ready.Message
	} else if f.Status.ErrorMessage != "" {
		c.Reason, c.Message = "Error", f.Status.ErrorMessage
	}
	return c
}

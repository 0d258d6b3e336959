// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// known measures somebody who knows the answers: he makes the four writes of a claim, and asks nobody. Its percentiles are of what a
// client would wait for, the record and then the claim. Bare creates are no such bound: they are the cheapest of the four.
func (e *environment) known(ctx context.Context, l load) (*callRound, error) {
	round, err := e.withoutWeir(ctx, l, func(m *made, i int) error {
		asked, claim := time.Now(), e.bareClaim(l.name, i)
		record := bareOwnRecord(claim)
		if err := e.client.Create(ctx, record); err != nil {
			return fmt.Errorf("creating a record: %w", err)
		}
		if err := m.create(ctx, e.client, claim, asked); err != nil {
			return err
		}
		return e.bindBare(ctx, claim, record)
	})
	if err != nil {
		return nil, err
	}
	return round, e.client.DeleteAllOf(ctx, &ipamv1.IPAllocation{}, client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: l.name})
}

// bareOwnRecord is the record of an IPClaim, but for its finalizer and the claim's UID, which is not known yet.
func bareOwnRecord(claim *ipamv1.IPClaim) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name, Labels: claim.Labels},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: claim.Namespace, Name: poolName},
			AddressSpace: ipamv1.DefaultAddressSpace,
			CIDR:         claim.Spec.CIDR,
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: claim.Namespace, Name: claim.Name, UID: claim.Name,
			},
			Purpose: ipamv1.ClaimPurpose,
			Manager: ipamv1.AllocationManager{Instance: "bench"},
		},
		Status: ipamv1.IPAllocationStatus{AllocatedCIDR: claim.Spec.CIDR},
	}
}

// bindBare gives the record its owners and the claim its status. The bench does not know the pool: its owner reference names the
// claim's UID.
func (e *environment) bindBare(ctx context.Context, claim *ipamv1.IPClaim, record *ipamv1.IPAllocation) error {
	group := ipamv1.GroupVersion.String()
	owners, err := mergePatch(map[string]any{
		"metadata": map[string]any{"resourceVersion": record.ResourceVersion, "ownerReferences": []metav1.OwnerReference{
			{APIVersion: group, Kind: ipamv1.IPClaimKind, Name: claim.Name, UID: claim.UID, Controller: ptr.To(true)},
			{APIVersion: group, Kind: ipamv1.IPPoolKind, Name: poolName, UID: claim.UID, Controller: ptr.To(false), BlockOwnerDeletion: ptr.To(true)},
		}},
		"spec": map[string]any{"manager": ipamv1.AllocationManager{Instance: "bench", CreatedRevision: record.ResourceVersion}},
	})
	if err != nil {
		return err
	}
	status, err := mergePatch(map[string]any{
		"metadata": map[string]any{"resourceVersion": claim.ResourceVersion},
		"status": ipamv1.IPClaimStatus{
			AllocatedCIDR: claim.Spec.CIDR,
			AllocationRef: &ipamv1.AllocationReference{Name: record.Name},
			Network:       &ipamv1.Network{PrefixLength: ptr.To[int32](maxIPv4Bits)},
			Conditions: []metav1.Condition{{
				Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: ipamv1.ClaimReadyAllocatedReason, LastTransitionTime: metav1.Now(),
			}},
		},
	})
	if err != nil {
		return err
	}
	return errors.Join(e.client.Patch(ctx, record, owners), e.client.Status().Patch(ctx, claim, status))
}

func mergePatch(change map[string]any) (client.Patch, error) {
	body, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, body), nil
}

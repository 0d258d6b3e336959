// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// floorRound is one measurement of the API server without Weir.
type floorRound struct {
	Rate float64 `json:"claimsPerSecond"`
	// CPU is milliseconds for one claim, by program.
	CPU cpuTimes `json:"cpuMsPerClaim"`
}

// floor returns how many claims a second the API server stores by itself. It
// creates more claims than a round of Weir, so as to last about as long.
func (e *environment) floor(ctx context.Context, of watched, name string, creators int) (*floorRound, error) {
	n := floorFactor * e.claims
	result, err := e.timedWatched(ctx, of, name, n, func() error { return e.createAll(ctx, name, n, creators, newStopwatch(of)) })
	if err != nil {
		return nil, err
	}
	return result, e.clean(ctx, of, name)
}

// ceiling returns how many claims a second could be answered by somebody who
// knew the answers: the claim and Weir's three writes, and nothing else. The
// floor is no such bound, because a bare claim is the cheapest of the four.
func (e *environment) ceiling(ctx context.Context, name string, creators int) (*floorRound, error) {
	result, err := e.timedWatched(ctx, addressClaims, name, e.claims, func() error {
		return parallel(e.claims, creators, func(i int) error { return e.answerBare(ctx, name, i) })
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range []schema.GroupVersionKind{
		ipamv1beta2.GroupVersion.WithKind("IPAddressList"), ipamv1.GroupVersion.WithKind("IPAllocationList"),
	} {
		if err := e.deleteAll(ctx, kind, name); err != nil {
			return nil, err
		}
	}
	return result, e.clean(ctx, addressClaims, name)
}

// timedWatched is timed, with the watch open that a round of Weir is measured with:
// what the bench costs the API server by looking on is not to be Weir's cost.
func (e *environment) timedWatched(ctx context.Context, of watched, name string, claims int, do func() error) (*floorRound, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := e.watch(ctx, of, name)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	go func() { _, _ = io.Copy(io.Discard, stream) }() // ends with the stream
	return e.timed(claims, do)
}

func (e *environment) timed(claims int, do func() error) (*floorRound, error) {
	used, begin := e.cpuTimes(), time.Now()
	if err := do(); err != nil {
		return nil, err
	}
	rate := float64(claims) / time.Since(begin).Seconds()
	return &floorRound{Rate: rate, CPU: e.cpuTimes().perClaim(used, claims)}, nil
}

// answerBare makes the writes of a claim and its answer.
func (e *environment) answerBare(ctx context.Context, round string, i int) error {
	claim := newAddressClaim(fmt.Sprintf("%s-%05d", round, i), round)
	if err := e.client.Create(ctx, claim); err != nil {
		return fmt.Errorf("creating a claim: %w", err)
	}
	address := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff)
	for _, object := range []client.Object{bareRecord(claim, address), bareAnswer(claim, address)} {
		if err := e.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T: %w", object, err)
		}
	}
	before := claim.DeepCopy()
	claim.Status.AddressRef.Name = claim.Name
	conditions.Set(claim, metav1.Condition{
		Type: ipamv1beta2.IPAddressClaimReadyCondition, Status: metav1.ConditionTrue, Reason: ipamv1.ClaimReadyAllocatedReason,
	})
	return e.client.Status().Patch(ctx, claim, client.MergeFrom(before))
}

// bareMeta is the metadata of what Weir writes for a claim, but for the
// finalizer. The bench does not know the pool: its owner reference names the
// claim's UID.
func bareMeta(claim *ipamv1beta2.IPAddressClaim) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: claim.Namespace, Name: claim.Name, Labels: claim.Labels,
		OwnerReferences: []metav1.OwnerReference{
			{
				APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: claim.Name, UID: claim.UID,
				Controller: ptr.To(true),
			},
			{
				APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPPoolKind, Name: poolName, UID: claim.UID,
				Controller: ptr.To(false), BlockOwnerDeletion: ptr.To(true),
			},
		},
	}
}

func bareRecord(claim *ipamv1beta2.IPAddressClaim, address string) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: bareMeta(claim),
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: claim.Namespace, Name: poolName},
			AddressSpace: ipamv1.DefaultAddressSpace,
			CIDR:         address + "/32",
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: ipamv1beta2.GroupVersion.Group, Kind: "IPAddressClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: string(claim.UID),
			},
			Purpose: ipamv1.ClaimPurpose,
			Manager: ipamv1.AllocationManager{Instance: "bench"},
		},
		Status: ipamv1.IPAllocationStatus{AllocatedCIDR: address + "/32"},
	}
}

func bareAnswer(claim *ipamv1beta2.IPAddressClaim, address string) *ipamv1beta2.IPAddress {
	return &ipamv1beta2.IPAddress{
		ObjectMeta: bareMeta(claim),
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim.Name},
			PoolRef:  claim.Spec.PoolRef,
			Address:  address,
			Prefix:   ptr.To[int32](maxIPv4Bits),
		},
	}
}

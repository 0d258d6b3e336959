// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/preflight"
)

// Door tells the controllers of pools of IPAddressClaims and IPAddresses.
type Door struct {
	// Client reads from the cache.
	Client client.Reader
	Source door.Source
	Form   Form
}

var _ pools.Door = &Door{}

// NewClaim implements pools.Door.
func (d *Door) NewClaim() client.Object { return &ipamv1beta2.IPAddressClaim{} }

// NewAnswer implements pools.Door.
func (d *Door) NewAnswer() client.Object { return &ipamv1beta2.IPAddress{} }

// Left implements pools.Door.
func (d *Door) Left(obj client.Object) preflight.Remain {
	switch o := obj.(type) {
	case *ipamv1beta2.IPAddressClaim:
		if pool := poolName(o.Spec.PoolRef); d.Source.Serves(pool) {
			return preflight.LeftClaim(kinds.IPAddressClaim.Kind, o, d.Source.Reference(pool, o.Namespace))
		}
	case *ipamv1beta2.IPAddress:
		if pool := poolName(o.Spec.PoolRef); d.Source.Serves(pool) && door.IsByHand(d.Form, pool, o) {
			return preflight.LeftAnswer(kinds.IPAddress.Kind, o, d.Source.Reference(pool, o.Namespace))
		}
	}
	return preflight.Remain{}
}

// Outdated implements pools.Door.
func (d *Door) Outdated(ctx context.Context, ref ipamv1.PoolReference, shape *pooltree.Pool) (number int, err error) {
	list := &ipamv1beta2.IPAddressList{}
	if err := d.Client.List(ctx, list, client.InNamespace(ref.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{claimant.PoolIndex: claimant.PoolKey(ref)}); err != nil {
		return 0, fmt.Errorf("listing IPAddresses: %w", err)
	}
	for i := range list.Items {
		if !isCurrent(&list.Items[i], shape) {
			number++
		}
	}
	return number, nil
}

// ByHand implements pools.Door.
func (d *Door) ByHand(ctx context.Context, ref ipamv1.PoolReference) ([]pools.ByHand, error) {
	list := &ipamv1beta2.IPAddressList{}
	if err := d.Client.List(ctx, list, client.InNamespace(ref.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{claimant.PoolIndex: claimant.ByHandKey(ref)}); err != nil {
		return nil, fmt.Errorf("listing IPAddresses: %w", err)
	}
	found := make([]pools.ByHand, 0, len(list.Items))
	for i := range list.Items {
		a := &list.Items[i]
		found = append(found, pools.ByHand{NamespacedName: client.ObjectKeyFromObject(a), Address: a.Spec.Address})
	}
	return found, nil
}

// Answer implements pools.Door.
func (d *Door) Answer(ctx context.Context, live client.Reader, key types.NamespacedName, pool ipamv1.PoolReference) (claimant.Answer, error) {
	claim, answer := &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}
	if err := live.Get(ctx, key, claim); err != nil {
		return claimant.Answer{}, client.IgnoreNotFound(err)
	}
	if claim.Status.AddressRef.Name == "" {
		return claimant.Answer{}, nil
	}
	if err := live.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: claim.Status.AddressRef.Name}, answer); err != nil {
		return claimant.Answer{}, client.IgnoreNotFound(err)
	}
	address, err := ipspace.ParseAddr(answer.Spec.Address)
	isOut := func(ref ipamv1beta2.IPPoolReference) bool {
		return d.Source.Reference(poolName(ref), key.Namespace) == pool
	}
	if err != nil || answer.Spec.ClaimRef.Name != key.Name || !isOut(answer.Spec.PoolRef) || !isOut(claim.Spec.PoolRef) {
		return claimant.Answer{}, nil //nolint:nilerr // it answers nothing that can be read
	}
	return claimant.Answer{Stored: answer, Address: address, Cluster: cmp.Or(claim.Spec.ClusterName, claimant.ClusterName(claim))}, nil
}

// isCurrent says whether an IPAddress carries what its pool says now. One that the pool does not contain has nothing to compare with;
// blocks have a prefix length of their own.
func isCurrent(answer *ipamv1beta2.IPAddress, shape *pooltree.Pool) bool {
	address, err := netip.ParseAddr(answer.Spec.Address)
	if err != nil || !shape.Contains(netip.PrefixFrom(address, address.BitLen())) {
		return true
	}
	want, isBlock := shape.NetworkOf(address), shape.ClaimBits() != shape.HostBits()
	return answer.Spec.Gateway == gatewayOf(want) && answer.Annotations[ipamv1.DNSServersAnnotation] == serversOf(want) &&
		(isBlock || answer.Spec.Prefix == nil || int(*answer.Spec.Prefix) == want.Bits)
}

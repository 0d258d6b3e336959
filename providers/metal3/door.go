// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/preflight"
)

// Door tells the controllers of pools of Metal3's IPClaims and IPAddresses.
type Door struct {
	// Client reads from the cache.
	Client client.Reader
}

var _ pools.Door = &Door{}

// NewClaim implements pools.Door.
func (d *Door) NewClaim() client.Object { return &m3v1.IPClaim{} }

// NewAnswer implements pools.Door.
func (d *Door) NewAnswer() client.Object { return &m3v1.IPAddress{} }

// Left implements pools.Door. Cluster API's IPAddresses may have the names of Metal3's, and be of the same pool.
func (d *Door) Left(obj client.Object) preflight.Remain {
	switch o := obj.(type) {
	case *m3v1.IPClaim:
		return preflight.LeftClaim(m3v1.IPClaimKind, o, kinds.Pool(PoolKind, o.Namespace, o.Spec.Pool.Name))
	case *m3v1.IPAddress:
		if pool := poolName(o.Spec.Pool); door.IsByHand(Form{}, pool, o) {
			return preflight.LeftAnswer(m3v1.IPAddressKind+"."+m3v1.GroupVersion.Group, o, kinds.Pool(PoolKind, o.Namespace, pool.Name))
		}
	}
	return preflight.Remain{}
}

// Outdated implements pools.Door.
func (d *Door) Outdated(ctx context.Context, ref ipamv1.PoolReference, shape *pooltree.Pool) (number int, err error) {
	list := &m3v1.IPAddressList{}
	if ref.GroupKind() != PoolKind {
		return 0, nil
	}
	if err := d.Client.List(ctx, list, client.InNamespace(ref.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing IPAddresses: %w", err)
	}
	for i := range list.Items {
		if list.Items[i].Spec.Pool.Name == ref.Name && !isCurrent(&list.Items[i].Spec, shape) {
			number++
		}
	}
	return number, nil
}

// ByHand implements pools.Door.
func (d *Door) ByHand(ctx context.Context, ref ipamv1.PoolReference) ([]pools.ByHand, error) {
	list := &m3v1.IPAddressList{}
	if ref.GroupKind() != PoolKind {
		return nil, nil
	}
	if err := d.Client.List(ctx, list, client.InNamespace(ref.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{claimant.PoolIndex: claimant.ByHandKey(ref)}); err != nil {
		return nil, fmt.Errorf("listing IPAddresses: %w", err)
	}
	found := make([]pools.ByHand, 0, len(list.Items))
	for i := range list.Items {
		a := &list.Items[i]
		found = append(found, pools.ByHand{NamespacedName: client.ObjectKeyFromObject(a), Address: string(a.Spec.Address)})
	}
	return found, nil
}

// Answer implements pools.Door: Metal3's pools have no addresses outside of the cluster, and nobody asks.
func (d *Door) Answer(context.Context, client.Reader, types.NamespacedName, ipamv1.PoolReference) (claimant.Answer, error) {
	return claimant.Answer{}, nil
}

// isCurrent says whether an IPAddress carries what its pool says now. One that the pool does not contain has nothing to compare with.
func isCurrent(spec *m3v1.IPAddressSpec, shape *pooltree.Pool) bool {
	address, err := ParseAddress(spec.Address)
	if err != nil || !shape.Contains(netip.PrefixFrom(address, address.BitLen())) {
		return true
	}
	want := shape.NetworkOf(address)
	var gateway netip.Addr
	if spec.Gateway != nil {
		gateway, _ = ParseAddress(*spec.Gateway) // what is no address differs
	}
	return gateway == want.Gateway && spec.Prefix == want.Bits &&
		slices.EqualFunc(spec.DNSServers, want.DNSServers, func(text m3v1.Address, server netip.Addr) bool {
			said, err := ParseAddress(text)
			return err == nil && said == server
		})
}

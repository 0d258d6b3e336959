// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// prefixPools are the kinds of the in-cluster provider's pools that hand out prefixes: there spec.prefix is not the length of the
// network that an address is in.
var prefixPools = []schema.GroupKind{
	{Group: kinds.IPAddress.Group, Kind: "InClusterPrefixPool"},
	{Group: kinds.IPAddress.Group, Kind: "GlobalInClusterPrefixPool"},
}

// NewAddress returns an empty IPAddress.
func NewAddress() client.Object { return &ipamv1beta2.IPAddress{} }

// Foreign returns what an IPAddress names that is of a pool that Weir does not serve; false for any other object, and where no
// address can be read.
func Foreign(obj any, serves Serves) (foreign.Address, bool) {
	o, ok := obj.(*ipamv1beta2.IPAddress)
	if !ok {
		return foreign.Address{}, false
	}
	pool := poolName(o.Spec.PoolRef)
	// A claim that names a version beside the group is Weir's to refuse, so nothing is recorded of
	// an IPAddress that does.
	if _, isVersioned := pool.WithoutVersion(); serves(pool.GroupKind) && !isVersioned {
		return foreign.Address{}, false
	}
	address, err := netip.ParseAddr(o.Spec.Address)
	if err != nil {
		return foreign.Address{}, false
	}
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if slices.Contains(prefixPools, pool.GroupKind) {
		bits = int(ptr.Deref(o.Spec.Prefix, int32(bits))) //nolint:gosec // 32 or 128
	}
	prefix, err := address.Prefix(bits)
	return foreign.Address{
		Key: foreign.Key{Namespace: o.Namespace, Name: o.Name}, Pool: pool.Kind + " " + pool.Name, Prefix: prefix,
	}, err == nil
}

// ListForeign returns what all IPAddresses name that are of pools that Weir does not serve. Its error is the API server's.
func ListForeign(ctx context.Context, c client.Reader, serves Serves) ([]foreign.Address, error) {
	list := &ipamv1beta2.IPAddressList{}
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	found := []foreign.Address{}
	for i := range list.Items {
		if a, isForeign := Foreign(&list.Items[i], serves); isForeign {
			found = append(found, a)
		}
	}
	return found, nil
}

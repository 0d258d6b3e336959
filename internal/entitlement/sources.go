// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// Sources are those of claims that may name pools of several groups, one for each group.
type Sources []*Source

var _ door.Source = Sources{}

// of returns the source of the group that the name is of; nil if there is none.
func (s Sources) of(name door.PoolName) *Source {
	for _, source := range s {
		if source.Serves(name) {
			return source
		}
	}
	return nil
}

// Serves implements door.Source.
func (s Sources) Serves(name door.PoolName) bool { return s.of(name) != nil }

// Reference implements door.Source.
func (s Sources) Reference(name door.PoolName, namespace string) ipamv1.PoolReference {
	if source := s.of(name); source != nil {
		return source.Reference(name, namespace)
	}
	return kinds.Pool(name.GroupKind, namespace, name.Name)
}

// Pools implements door.Source.
func (s Sources) Pools() []client.Object {
	var pools []client.Object
	for _, source := range s {
		pools = append(pools, source.Pools()...)
	}
	return pools
}

// PoolsOf implements door.Source.
func (s Sources) PoolsOf(ctx context.Context, cluster client.Object) ([]ipamv1.PoolReference, error) {
	var pools []ipamv1.PoolReference
	errs := make([]error, 0, len(s))
	for _, source := range s {
		of, err := source.PoolsOf(ctx, cluster)
		pools, errs = append(pools, of...), append(errs, err)
	}
	return pools, errors.Join(errs...)
}

// Offer implements door.Source. It is asked for served names only.
func (s Sources) Offer(ctx context.Context, namespace string, name door.PoolName) (*door.Offer, error) {
	source := s.of(name)
	if source == nil {
		return nil, failed("spec.poolRef.apiGroup: %q is no group of pools that is served", name.Group)
	}
	return source.Offer(ctx, namespace, name)
}

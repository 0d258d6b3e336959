// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// States of pools that claims name, and that no list has.
const (
	// HiddenState: the user may not see the pool.
	HiddenState = "NotShown"
	// GoneState: there is no such pool.
	GoneState = "Gone"
)

// UsablePool is a pool that claims may name.
type UsablePool struct {
	*Pool
	// Claimed and Waiting are how many claims of the scope name the pool, and how many of these have
	// nothing yet.
	Claimed, Waiting int
	// Waiters are those that have nothing yet.
	Waiters []*ListedClaim
}

// UsablePools returns the pools of the scope, the cluster-scoped ones as far as the user may list
// them, and those that claims of the scope name.
func (s *Survey) UsablePools(ctx context.Context) ([]*UsablePool, error) {
	pools, _, err := s.Pools(ctx)
	if err != nil {
		return nil, err
	}
	usable := make([]*UsablePool, 0, len(pools))
	byRef := map[ipamv1.PoolReference]*UsablePool{}
	add := func(p *Pool) *UsablePool {
		u := &UsablePool{Pool: p}
		usable, byRef[p.Ref] = append(usable, u), u
		return u
	}
	for _, p := range pools {
		add(p)
	}
	var named []*ListedClaim
	if _, err = s.Claims(ctx, func(c *ListedClaim) { named = append(named, c) }); err != nil {
		return nil, err
	}
	for _, c := range named {
		u := byRef[c.Pool]
		if u == nil {
			p, err := s.namedPool(ctx, c.Pool)
			if err != nil {
				return nil, err
			}
			u = add(p)
		}
		u.Claimed++
		if !c.IsAnswered {
			u.Waiting++
			u.Waiters = append(u.Waiters, c)
		}
	}
	return usable, nil
}

// NamedPools returns what is known of pools by their names, whether or not claims name them.
func (s *Survey) NamedPools(ctx context.Context, refs []ipamv1.PoolReference) (map[ipamv1.PoolReference]*UsablePool, error) {
	usable, err := s.UsablePools(ctx)
	if err != nil {
		return nil, err
	}
	byRef := map[ipamv1.PoolReference]*UsablePool{}
	for _, u := range usable {
		byRef[u.Ref] = u
	}
	for _, ref := range refs {
		if byRef[ref] != nil {
			continue
		}
		p, err := s.namedPool(ctx, ref)
		if err != nil {
			return nil, err
		}
		byRef[ref] = &UsablePool{Pool: p}
	}
	return byRef, nil
}

// namedPool reads a pool that a claim names, and that no list has.
func (s *Survey) namedPool(ctx context.Context, ref ipamv1.PoolReference) (*Pool, error) {
	p := &Pool{Ref: ref, State: GoneState, Message: "a claim names it"}
	kind := poolResource(ref)
	switch {
	case !s.gaps.Misses(kind.GroupResource()):
		return p, nil
	case kind.namespaced:
		p.State = HiddenState
		return p, nil
	}
	switch found, result, err := s.globalPool(ctx, kind, ref.Name); {
	case err != nil:
		return nil, err
	case result == listed:
		return found, nil
	case result == forbidden:
		p.State = HiddenState
	}
	return p, nil
}

// globalPool reads one cluster-scoped pool; it is there if the outcome is listed.
func (s *Survey) globalPool(ctx context.Context, kind resource, name string) (*Pool, outcome, error) {
	if kind == globalinclusterippools {
		object := &icv1.GlobalInClusterIPPool{}
		result, err := s.get(ctx, kind, "", name, object)
		return inClusterPool(object, GlobalInClusterPool, &object.Spec, &object.Status), result, err
	}
	object := &ipamv1.GlobalIPPool{}
	result, err := s.get(ctx, kind, "", name, object)
	return weirPool(object, object.PoolReference(), object.PoolSpec(), object.PoolStatus()), result, err
}

func poolResource(ref ipamv1.PoolReference) resource {
	switch ref.GroupKind() {
	case kinds.GlobalIPPool:
		return globalippools
	case kinds.IPPool:
		return ippools
	case InClusterPool:
		return inclusterippools
	case GlobalInClusterPool:
		return globalinclusterippools
	}
	return metal3ippools
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// Object is a pool of either kind.
type Object interface {
	client.Object
	conditions.Setter
	PoolSpec() *ipamv1.IPPoolSpec
	PoolStatus() *ipamv1.IPPoolStatus
	PoolReference() ipamv1.PoolReference
}

// New returns an empty pool of a kind of this group, and false for any other kind.
func New(kind string) (Object, bool) {
	switch kind {
	case ipamv1.IPPoolKind:
		return &ipamv1.IPPool{}, true
	case ipamv1.GlobalIPPoolKind:
		return &ipamv1.GlobalIPPool{}, true
	default:
		return nil, false
	}
}

// Registry registers pools with the ledger as they are met, so that every replica can serve any pool that its cache shows,
// whether or not it leads.
type Registry struct {
	Client client.Client
	Ledger *ledger.Ledger
	// Namespace is the manager's own, where the records of GlobalIPPools' blocks live.
	Namespace string

	mu    sync.Mutex
	known map[ipamv1.PoolReference]version
}

// version is what a registration was made from.
type version struct {
	uid        types.UID
	generation int64
	pool       ledger.Pool
}

// Register makes the pool, as it is now, known to the ledger. It does nothing if that has been done.
func (r *Registry) Register(p Object) (ledger.Pool, field.ErrorList) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := p.PoolReference()
	if v, ok := r.known[ref]; ok && v.uid == p.GetUID() && v.generation >= p.GetGeneration() {
		return v.pool, nil
	}
	shape, errs := poolspec.Resolve(p.PoolSpec(), ref)
	if len(errs) > 0 {
		r.forget(ref)
		return ledger.Pool{}, errs
	}
	pool := ledger.Pool{
		Ref: ref, UID: p.GetUID(), Space: poolspec.Space(p.PoolSpec()), Shape: shape, Namespace: ref.Namespace,
		Cooldown: poolspec.Cooldown(p.PoolSpec()),
	}
	if pool.Namespace == "" {
		pool.Namespace = r.Namespace
	}
	r.Ledger.SetPool(pool)
	if r.known == nil {
		r.known = map[ipamv1.PoolReference]version{}
	}
	r.known[ref] = version{uid: p.GetUID(), generation: p.GetGeneration(), pool: pool}
	return pool, nil
}

// Find returns a pool and its registration. The error is the API server's; a pool that cannot be served has field errors.
func (r *Registry) Find(ctx context.Context, ref ipamv1.PoolReference) (Object, ledger.Pool, field.ErrorList, error) {
	p, _ := New(ref.Kind)
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, p); err != nil {
		return nil, ledger.Pool{}, nil, err
	}
	registered, errs := r.Register(p)
	return p, registered, errs, nil
}

// Forget drops a pool that does not exist any more.
func (r *Registry) Forget(ref ipamv1.PoolReference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(ref)
}

func (r *Registry) forget(ref ipamv1.PoolReference) {
	delete(r.known, ref)
	r.Ledger.DropPool(ref)
}

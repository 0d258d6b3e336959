// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"context"
	"fmt"
	"slices"

	"go4.org/netipx"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// RegisterAbove makes known the pools that a pool is carved from, the topmost first: what they keep back is not handed out below, and
// their network settings are those of pools below that set none. What is not there, or may not be read, is passed over.
//
// An IPAddress never changes, so a pool that inherits is not served before its ancestors could be asked for.
func (r *Registry) RegisterAbove(ctx context.Context, p Object) error {
	var above []Object
	for range ledger.Deepest {
		says := r.Says(p)
		if !says.IsCarved() {
			break
		}
		parent, err := r.get(ctx, says.Parent)
		if err != nil && says.Inherits && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("getting parent %s %s: %w", says.Parent.Kind, says.Parent.Name, err)
		}
		if err != nil {
			break
		}
		above, p = append(above, parent), parent
	}
	for _, parent := range slices.Backward(above) {
		r.Register(parent)
	}
	return nil
}

// Resolve returns the shape that the pool has, or would have, with what it has of its parent as far as that can be read.
func (r *Registry) Resolve(ctx context.Context, p Object) (*pooltree.Pool, field.ErrorList) {
	if err := r.RegisterAbove(ctx, p); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Reading the pools above")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resolve(p, r.Says(p))
}

// IsGivenUp reports whether a pool, as the API server has it, has nothing of these addresses. It is false for a pool that does not exist, is
// being deleted, cannot be read or cannot be served: what is recorded of such a pool counts.
func (r *Registry) IsGivenUp(ctx context.Context, ref ipamv1.PoolReference, addresses *netipx.IPSet) bool {
	if r.Live == nil {
		return false
	}
	p, err := r.readLive(ctx, ref)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Reading a pool that overlaps")
		return false
	}
	if p == nil || !p.GetDeletionTimestamp().IsZero() {
		return false
	}
	shape, errs := r.Resolve(ctx, p.Object)
	return len(errs) == 0 && !slices.ContainsFunc(addresses.Prefixes(), shape.Addresses().OverlapsPrefix)
}

// passOn gives the pools below the network settings that a pool has now. What they have stays while it is not registered.
func (r *Registry) passOn(parent ipamv1.PoolReference) {
	for ref, v := range r.known {
		if v.inherits == nil || v.pool.Parent != parent {
			continue
		}
		shape, errs := r.resolve(v.inherits, r.Says(v.inherits))
		if len(errs) > 0 || shape.HasNetworksOf(v.pool.Shape) {
			continue
		}
		v.pool.Shape = shape
		r.known[ref] = v
		r.Ledger.SetPool(v.pool)
		r.passOn(ref)
	}
}

// Neighbours returns the pools of an address space that the cache shows, in no order; those that are not registered are resolved only.
func (r *Registry) Neighbours(ctx context.Context, space string) (found []ledger.Pool) {
	for _, kind := range r.Kinds() {
		list := kind.NewList()
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing pools")
			continue
		}
		_ = meta.EachListItem(list, func(obj runtime.Object) error {
			if p, ok := obj.(Object); ok && r.Says(p).Space == space {
				if shape := r.shapeOf(p, kind.Reference(p)); shape != nil {
					found = append(found, ledger.Pool{Ref: kind.Reference(p), Space: space, Shape: shape})
				}
			}
			return nil
		})
	}
	return found
}

// OfCluster returns the pools of some kinds that belong to a Cluster, as the cache shows them.
func (r *Registry) OfCluster(ctx context.Context, cluster client.Object, kinds ...Kind) (found []ipamv1.PoolReference, err error) {
	for _, kind := range kinds {
		if kind.ClusterScoped {
			continue
		}
		list := kind.NewList()
		if err := r.Client.List(ctx, list, client.InNamespace(cluster.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			return found, fmt.Errorf("listing pools: %w", err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			if p, ok := item.(Object); ok && r.Says(p).ClusterName == cluster.GetName() {
				found = append(found, kind.Reference(p))
			}
			return nil
		})
	}
	return found, nil
}

// shapeOf returns the shape of a pool; nil if its spec cannot be served.
func (r *Registry) shapeOf(p Object, ref ipamv1.PoolReference) *pooltree.Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.known[ref]; ok && v.isOf(p, r.Says(p)) {
		return v.pool.Shape
	}
	shape, _ := r.resolve(p, r.Says(p))
	return shape
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// Living returns the UIDs of the pools that the cache shows, for repair.
func (r *Reconciler) Living(ctx context.Context) (map[types.NamespacedName]types.UID, error) {
	list := r.Kind.NewList()
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", r.Kind.Kind, err)
	}
	living := map[types.NamespacedName]types.UID{}
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		if p, ok := obj.(pools.Object); ok {
			living[client.ObjectKeyFromObject(p)] = p.GetUID()
		}
		return nil
	})
	return living, err
}

// Settle gives up blocks that are recorded under a pool's name and that no pool of that name has, as repair asks for it: of a
// pool that was never stored after its block was reserved, for instance.
func (r *Reconciler) Settle(ctx context.Context, key types.NamespacedName) error {
	_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key})
	return err
}

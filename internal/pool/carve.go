// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// children says what the pool's parent gives it.
func (r *Reconciler) children() entitlement.Children {
	return entitlement.Children{Registry: r.Registry}
}

// carve reserves a block for a pool that came without one past the webhooks, and writes it into the pool.
func (r *Reconciler) carve(ctx context.Context, s *scope, own pools.Own) error {
	request, parent, err := r.children().Carving(ctx, s.pool)
	if err != nil {
		return err
	}
	request.Revision = s.pool.GetResourceVersion()
	if err = errors.Join(r.checkEarly(s.says, request), r.checkThere(ctx, s)); err != nil {
		return err
	}
	block, err := r.Ledger.Reserve(ctx, request)
	if err != nil {
		return err
	}
	carved, _ := own.DeepCopyObject().(pools.Own)
	entitlement.Complete(carved, block.CIDR, parent)
	if err := r.Client.Patch(ctx, carved, client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ledger.WriteError(fmt.Sprintf("%s is recorded; spec.cidr could not be written", block.CIDR), err)
	}
	return fmt.Errorf("carved %s: %w", block.CIDR, ledger.ErrBusy)
}

// settleHome makes this cluster the home of a pool that has one and says nothing of one: it came past the webhooks.
func (r *Reconciler) settleHome(ctx context.Context, s *scope) error {
	isCopy := s.says.Place == poolspec.Delegated // at home where it was delegated
	if !r.Kind.HasHome || r.Registry.Home == "" || isCopy || s.pool.GetAnnotations()[ipamv1.HomeAnnotation] != "" {
		return nil
	}
	settled, _ := s.before.DeepCopyObject().(pools.Object)
	annotations.AddAnnotations(settled, map[string]string{ipamv1.HomeAnnotation: r.Registry.Home})
	if err := r.Client.Patch(ctx, settled, lockedMerge(s.before)); err != nil {
		return fmt.Errorf("writing the home of the pool: %w", err)
	}
	return fmt.Errorf("the pool is at home here: %w", ledger.ErrBusy)
}

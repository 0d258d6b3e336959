// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// CheckRecorded errs with ErrTaken while an IPClaim has a prefix of a pool that is not recorded: it may have been restored without its record.
// It asks the API server.
func CheckRecorded(ctx context.Context, registry *pools.Registry, pool ipamv1.PoolReference) error {
	claims := &ipamv1.IPClaimList{}
	if err := registry.Live.List(ctx, claims, client.InNamespace(pool.Namespace)); err != nil {
		return fmt.Errorf("listing IPClaims: %w", err)
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		isIts := c.Spec.CIDR != "" && c.Spec.PoolRef != nil && entitlement.PoolOf(c, c.Spec.PoolRef.Kind, c.Spec.PoolRef.Name) == pool
		if isIts && len(registry.Ledger.RecordsOf(kinds.Claim(kinds.IPClaim, client.ObjectKeyFromObject(c), c.GetUID()))) == 0 {
			return fmt.Errorf("IPClaim %s/%s is not recorded yet: %w", c.GetNamespace(), c.GetName(), ledger.ErrTaken)
		}
	}
	return nil
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"cmp"
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// retryUnrecorded is when a halted claim is looked at again whose prefix cannot be recorded before its pool's block is: no watch tells.
const retryUnrecorded = 5 * time.Second

// halt is all that is done for a claim that must not be touched: its prefix is recorded if it was restored with it, and its status reports why it
// is halted. What keeps the prefix from being recorded is reported once the claim is not halted any more.
func (r *Reconciler) halt(ctx context.Context, s *scope, why error) (ctrl.Result, error) {
	recorded, unrecorded := settle(r.recordRestored(ctx, s))
	reported, unreported := settle(r.tell(ctx, s, why))
	reported.RequeueAfter = cmp.Or(reported.RequeueAfter, recorded.RequeueAfter)
	return reported, errors.Join(unrecorded, unreported)
}

// recordRestored records the prefix of a restored claim that has no record: a host may use it, and no webhook has reserved it. That touches
// neither of the two. A claim that clusterctl is about to delete has left its record, or a hold of it.
func (r *Reconciler) recordRestored(ctx context.Context, s *scope) error {
	isRestored := s.claim.Annotations[ipamv1.ArrivedAnnotation] != "" && s.claim.Spec.CIDR != "" && s.claim.Spec.PoolRef != nil
	isEnding := !s.claim.DeletionTimestamp.IsZero() || predicates.IsMoving(s.claim)
	if !isRestored || isEnding || len(r.Ledger.RecordsOf(entitlement.ReferenceOf(s.claim))) > 0 {
		return nil
	}
	request, err := r.requestOwned(ctx, s)
	if err == nil {
		_, err = r.Ledger.Bind(ctx, request)
	}
	if errors.Is(err, ledger.ErrNotReady) {
		return &claimant.Refusal{Message: err.Error(), After: retryUnrecorded}
	}
	return err
}

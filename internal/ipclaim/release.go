// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// release gives back the prefix of a claim that is being deleted, once nobody else holds on to it:
//
//	live read proves it -> records released, or retained -> what was retained for it released ->
//	the claim's finalizer
//
// Dying between any two steps leaves the claim with its finalizer, so that the next start goes on from there.
func (r *Reconciler) release(ctx context.Context, claim *ipamv1.IPClaim) error {
	known := r.Ledger.About(entitlement.ReferenceOf(claim)) // before the claim is read: what is retained later is not for it
	retained := known.Retained()
	seen, live := r.exit().Observe(append(known.Recorded(), retained...)), &ipamv1.IPClaim{}
	if err := seen.Get(ctx, client.ObjectKeyFromObject(claim), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !slices.Contains(live.Finalizers, ipamv1.ClaimFinalizer) {
		return nil
	}
	deleted, kept, err := seen.Deleted(ctx, entitlement.ReferenceOf(claim), ipamv1.ClaimFinalizer, claimant.ClusterName(live))
	switch {
	case err != nil:
		return err
	case kept == claimant.Moving:
		r.Recorder.Eventf(live, nil, corev1.EventTypeNormal, prefixKeptEvent, keepAction,
			"The claim is deleted because it moves to another cluster; its prefix is not released")
		return nil
	case kept != "":
		return nil
	}
	if err := r.releaseOwn(ctx, live, deleted); err != nil {
		return err
	}
	left := taken(retained, live)
	if live.Annotations[ipamv1.ArrivedAnnotation] != "" { // it may have come back, and never been recorded
		left = append(left, held(known, live)...)
	}
	if err := r.releaseRetained(ctx, left, live, seen); err != nil {
		return err
	}
	if err := r.releaseFormer(ctx, live, known.Orphans(), seen); err != nil {
		return err
	}
	return finalizer.Remove(ctx, r.Client, live, ipamv1.ClaimFinalizer)
}

// releaseFormer releases what a claim that arrived had under its former UID, and nobody waits for
// any more. The records were read before the claim.
func (r *Reconciler) releaseFormer(ctx context.Context, claim *ipamv1.IPClaim, recorded []ledger.Holding, seen *claimant.Observation) error {
	for _, h := range recorded {
		if h.Claim.UID == string(claim.UID) || !h.Arriving {
			continue
		}
		if _, err := r.exit().Release(ctx, h, claimant.ClaimGone(seen.Gone(h.Claim))); err != nil {
			return err
		}
	}
	return nil
}

// taken are those of the retained prefixes that the claim has got: one that is deleted at once may not have been bound before.
func taken(retained []ledger.Holding, claim *ipamv1.IPClaim) []ledger.Holding {
	return slices.DeleteFunc(retained, func(h ledger.Holding) bool { return h.CIDR.String() != claim.Spec.CIDR })
}

// releaseOwn releases the claim's records; what it has in spec.cidr is retained if it says so.
func (r *Reconciler) releaseOwn(ctx context.Context, claim *ipamv1.IPClaim, deleted claimant.Deleted) error {
	recorded, err := r.recorded(ctx, claim)
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range recorded {
		if h.Purpose == ledger.ForMoved {
			continue
		}
		why := claimant.ClaimDeleted(deleted.WithNothingOutside())
		if r.retains(claim, h) {
			why = claimant.ClaimRetains(deleted)
		}
		_, err := r.exit().Release(ctx, h, why)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// retains says whether a record of the claim is retained. What somebody else holds as well, or instead, is his.
func (r *Reconciler) retains(claim *ipamv1.IPClaim, h ledger.Holding) bool {
	return claim.Spec.ReclaimPolicy == ipamv1.ClaimReclaimRetain && h.CIDR.String() == claim.Spec.CIDR &&
		!r.Ledger.About(h.Claim).IsContested(h)
}

// recorded returns the claim's records. That an answered claim has none is proved: one that is deleted at once may be known here
// before its record is, and its record would wait for repair, and not be retained.
func (r *Reconciler) recorded(ctx context.Context, claim *ipamv1.IPClaim) ([]ledger.Holding, error) {
	own := func() []ledger.Holding {
		return slices.DeleteFunc(r.Ledger.About(entitlement.ReferenceOf(claim)).Recorded(), func(h ledger.Holding) bool { return h.Claim.UID != string(claim.UID) })
	}
	known := own()
	if ref := claim.Spec.PoolRef; len(known) == 0 && claim.Spec.CIDR != "" && ref != nil {
		if err := r.Ledger.Of(entitlement.PoolOf(claim, ref.Kind, ref.Name)).Prove(ctx); err != nil {
			return nil, err
		}
		known = own()
	}
	return known, nil
}

// Settle releases what is recorded under a claim's name for claims that do not exist: those that
// went without Weir, and, after a grace, those that were never stored; and what is recorded for a
// claim that has something else. One live read after the records were read proves it.
func (r *Reconciler) Settle(ctx context.Context, key types.NamespacedName) error {
	ref := entitlement.ReferenceOf(&ipamv1.IPClaim{})
	ref.Namespace, ref.Name = key.Namespace, key.Name
	recorded := r.Ledger.About(ref).Orphans()
	if len(recorded) == 0 {
		return nil
	}
	seen, live := r.exit().Observe(recorded), &ipamv1.IPClaim{}
	if err := client.IgnoreNotFound(seen.Get(ctx, key, live)); err != nil {
		return fmt.Errorf("getting IPClaim: %w", err)
	}
	var errs []error
	for _, h := range recorded {
		isEarly := live.UID == "" && h.Arriving // its claim may be restored, too
		isOwn := h.Claim.UID == string(live.UID) && !r.isSpare(live, h)
		if isOwn || isEarly || r.needs(live, h) {
			continue
		}
		why := claimant.ClaimGone(seen.Gone(h.Claim))
		if h.Claim.UID == string(live.UID) {
			why = claimant.NeverCommitted(seen.Answered(h.Claim, live))
		}
		_, err := r.exit().Release(ctx, h, why)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isSpare says whether the record can never be told to its claim, which has another prefix, with a record: two managers have answered it
// at once.
func (r *Reconciler) isSpare(claim *ipamv1.IPClaim, h ledger.Holding) bool {
	has, err := netip.ParsePrefix(claim.Spec.CIDR)
	return err == nil && h.Purpose == ledger.ForClaim && h.Claim.UID == string(claim.UID) && h.CIDR.Addr() != has.Addr() &&
		r.Ledger.About(entitlement.ReferenceOf(claim)).Holds(has.Addr())
}

// needs says whether a namesake's record is all that keeps the prefix of a claim, which arrived together with it and is not recorded
// itself yet.
func (r *Reconciler) needs(live *ipamv1.IPClaim, h ledger.Holding) bool {
	return live.UID != "" && h.CIDR.String() == live.Spec.CIDR &&
		!r.Ledger.About(entitlement.ReferenceOf(live)).HasWon(h.CIDR.Addr()) && !r.isSettled(live)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// reject says that the answer is of another pool than the claim's.
func (r *objects) reject(s *scope, answer *door.Answer) error {
	names, asked := answer.Pool, s.claim.Pool
	return refuse(ipamv1.ClaimReadyAllocationFailedReason, "%s %s: spec.poolRef: names %s %s, the claim names %s %s",
		r.observer.answerKind(), answer.GetName(), names.Kind, names.Name, asked.Kind, asked.Name)
}

// adopt records what an answer stands for and makes it the claim's. With purpose ForClaim the pool must hand the address out, as for an
// asked one; with ForAdopted it is recorded whatever the pool says.
func (r *executor) adopt(ctx context.Context, s *scope, answer *door.Answer, purpose ledger.Purpose) error {
	address, err := ipspace.ParseAddr(answer.Address)
	if err != nil {
		return r.objects.unreadable(answer, err)
	}
	controlled := r.objects.controlledElsewhere(answer)
	if controlled != nil && purpose == ledger.ForClaim { // what is only asked for need not be recorded
		return controlled
	}
	if err := r.proveBacked(ctx, s, address, hasArrived(s.claim) || hasArrived(answer)); err != nil {
		return err
	}
	if !r.records.isRecorded(s, answer, address) || purpose == ledger.ForAdopted && r.records.isUnnamed(s, address) {
		if err := r.records.recordAnswer(ctx, s, r.records.carried(s, answer, address, purpose), purpose, answer); err != nil {
			return r.reporter.adoptError(ctx, s, answer, purpose, err)
		}
	}
	s.answer = answer
	if controlled != nil {
		return controlled
	}
	if err := r.objects.ensureOwned(ctx, s, answer); err != nil {
		return err
	}
	if hasArrived(s.claim) {
		r.Arrivals.forget(s.claim.GetUID())
	}
	if err := r.observer.about(s).Disputed(address); err != nil {
		return r.reporter.adoptError(ctx, s, answer, ledger.ForAdopted, err)
	}
	return nil
}

// adoptHeld adopts an answer that was made by hand before the claim came, and that a record holds since: the address is never free in
// between. The pool must hand it out to this claim, as for an asked one.
func (r *executor) adoptHeld(ctx context.Context, s *scope, answer *door.Answer) error {
	if err := r.records.mayHave(ctx, s, answer); err != nil {
		return r.reporter.adoptError(ctx, s, answer, ledger.ForClaim, err)
	}
	return r.adopt(ctx, s, answer, ledger.ForAdopted)
}

// mayHave errs if the claim's pool does not hand out to the claim what the answer stands for, whoever holds that.
func (r *records) mayHave(ctx context.Context, s *scope, answer *door.Answer) error {
	address, err := ipspace.ParseAddr(answer.Address)
	if err != nil {
		return nil //nolint:nilerr // adopting it says so
	}
	asked, err := r.request(ctx, s, r.carried(s, answer, address, ledger.ForClaim), ledger.ForClaim)
	if err != nil {
		return err
	}
	if _, err = r.Ledger.Preview(asked); errors.Is(err, ledger.ErrRefused) {
		return err
	}
	return nil
}

// controlledElsewhere errs if something else than a claim controls the answer: it has one controller at most.
func (r *objects) controlledElsewhere(answer *door.Answer) error {
	other := r.observer.otherController(answer)
	if other == nil {
		return nil
	}
	return refuse(ipamv1.ClaimReadyAllocationFailedReason,
		"%s %s: metadata.ownerReferences: its controller is %s %s, so it cannot be the claim", r.observer.answerKind(), answer.GetName(), other.Kind, other.Name)
}

func (r *objects) unreadable(answer *door.Answer, err error) error {
	return refuse(ipamv1.ClaimReadyAllocationFailedReason, "%s %s: spec.address: %v", r.observer.answerKind(), answer.GetName(), err)
}

// recordAnswer records what an answer stands for. What is only asked for is reserved.
func (r *records) recordAnswer(
	ctx context.Context, s *scope, want netip.Prefix, purpose ledger.Purpose, answer *door.Answer,
) (err error) {
	if purpose == ledger.ForAdopted {
		_, err = r.record(ctx, s, want, hasArrived(s.claim) || hasArrived(answer))
	} else {
		_, err = r.reserve(ctx, s, want, purpose)
	}
	return err
}

// isRecorded says whether the claim's record of its answer's address is beyond doubt. Where a namesake's record is there as well, which
// is to be dropped, the claim's own must have won here.
func (r *records) isRecorded(s *scope, answer *door.Answer, address netip.Addr) bool {
	if known := r.observer.about(s); len(known.Recorded()) > 1 && !known.HasWon(address) {
		return false
	}
	return r.observer.claimUID(answer) == s.claim.GetUID() && r.holds(s, address)
}

// adoptError explains why the address that an answer carries cannot be recorded. A claim that arrived with its answer
// keeps it, and so does whoever else holds it: neither is renumbered.
func (r *reporter) adoptError(
	ctx context.Context, s *scope, answer *door.Answer, purpose ledger.Purpose, err error,
) error {
	if errors.Is(err, ledger.ErrTaken) && purpose == ledger.ForAdopted {
		told := r.told(ctx, s, err)
		return errors.Join(refuse(ipamv1.ClaimReadyAddressConflictReason, "%s %s: %s", r.observer.answerKind(), answer.GetName(), told), ledger.ErrTaken)
	}
	return fmt.Errorf("recording %s %s: %w", r.observer.answerKind(), answer.GetName(), err)
}

// ensureOwned puts back what the contract wants on an answer: owner references to claim and pool, and the finalizer. One that says of
// no claim that it is its answer is given to this one if a live read shows that: a later claim of the name may have come with it.
func (r *objects) ensureOwned(ctx context.Context, s *scope, answer *door.Answer) error {
	if !answer.GetDeletionTimestamp().IsZero() {
		return nil
	}
	patched, _ := answer.Stored.DeepCopyObject().(client.Object)
	patched.SetOwnerReferences(ensureOwner(patched.GetOwnerReferences(), r.ownerOf(s.claim, ptr.To(true))))
	if !s.offer.Leaving {
		patched.SetOwnerReferences(ensureOwner(patched.GetOwnerReferences(), s.offer.Owner))
	}
	controllerutil.AddFinalizer(patched, r.observer.answerFinalizer(answer))
	if ownedAlike(patched, answer) && !hasArrived(answer) {
		return nil
	}
	if r.observer.claimUID(answer) == "" {
		if err := r.proveStored(ctx, s.claim); err != nil {
			return err
		}
	}
	err := r.patchMetadata(ctx, patched, map[string]any{
		"ownerReferences": patched.GetOwnerReferences(), "finalizers": patched.GetFinalizers(), "annotations": unmarked, // it has its claim
	})
	if err != nil {
		return ledger.WriteError(fmt.Sprintf("%s %s could not be changed", r.observer.answerKind(), answer.GetName()), err)
	}
	r.Arrivals.forget(answer.GetUID())
	return nil
}

// proveStored asks the API server whether the very claim is there and is not being deleted if it was not, and errs with errWaiting if
// that is not so.
func (r *objects) proveStored(ctx context.Context, claim *door.Claim) error {
	live, err := r.observer.getClaim(ctx, r.Live, keyOf(claim))
	switch {
	case apierrors.IsNotFound(err), err == nil && (live.GetUID() != claim.GetUID() || live.GetDeletionTimestamp().IsZero() != claim.GetDeletionTimestamp().IsZero()):
		return errWaiting
	default:
		return err
	}
}

// discard removes an answer that a dead claim of the same name left behind. A live read decides which of the two is dead.
func (r *executor) discard(ctx context.Context, s *scope, answer *door.Answer) error {
	seen := r.objects.exit().Observe(nil, answer.Stored)
	live, err := r.observer.getClaim(ctx, seen, keyOf(s.claim))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.GetUID() != s.claim.GetUID() || live.GetUID() == r.observer.claimUID(answer) {
		return errWaiting
	}
	if r.observer.claimUID(answer) == "" {
		err = r.objects.removeAnswer(ctx, answer)
	} else {
		err = r.discardOf(ctx, r.observer.reference(keyOf(s.claim), r.observer.claimUID(answer)), s, answer, seen)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("removed the answer of an earlier claim: %w", ledger.ErrBusy)
}

// discardOf removes the answer of a claim that is gone, and releases what that claim had. Another claim of the name waits for it.
func (r *executor) discardOf(ctx context.Context, dead ipamv1.ClaimReference, s *scope, answer *door.Answer, seen *claimant.Observation) error {
	given, left, err := r.objects.exit().GiveBack(ctx, r.Source.Reference(answer.Pool, answer.GetNamespace()), dead, seen.Gone(dead))
	var kept *claimant.KeptError
	switch {
	case errors.As(err, &kept):
		return &claimant.Refusal{
			Reason:  ipamv1.ClaimReadyAllocationFailedReason,
			Message: fmt.Sprintf("%s %s of an earlier claim is in the way: %s", r.observer.answerKind(), answer.GetName(), kept.Message),
			After:   kept.After,
		}
	case err != nil:
		return err
	}
	r.reporter.reportAbandoned(s.claim, left)
	if err := r.objects.removeAnswer(ctx, answer); err != nil {
		return err
	}
	if r.Form.Kinds().Commit == door.ByStatus { // it may have others
		return nil
	}
	// What was recorded since stays for repair, which gives back what backs it.
	return r.objects.exit().ReleaseEach(ctx, given.Covered(r.Ledger.RecordsOf(dead)), claimant.AnswerDiscarded(given))
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// release gives back the address of a claim that is being deleted, once nobody else holds on to the claim:
//
//	live read proves it -> what is outside given back -> answer gone -> records dropped -> the claim's finalizer
//
// Dying between any two steps leaves the claim with its finalizer, so that the next start goes on from there.
func (r *executor) release(ctx context.Context, s *scope) error {
	switch {
	case r.objects.isLeftToUs(s.claim):
	case predicates.IsMoving(s.claim):
		return errWaiting
	default: // its answer may be another controller's, and its address not recorded yet
		return cmp.Or(r.records.secureAll(ctx, s.claim), errWaiting)
	}
	recorded := r.observer.about(s).Recorded()
	seen := r.objects.exit().Observe(recorded)
	live, err := r.observer.getClaim(ctx, seen, keyOf(s.claim))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	own := r.observer.claimFinalizer(live)
	if !hasFinalizer(live, own) {
		return errWaiting
	}
	if moved := seen.MovedAway(s.ref, own); moved.IsProved() {
		r.reporter.reportKept(live)
		return r.leave(ctx, s, live, moved)
	}
	deleted, kept, err := seen.Deleted(ctx, s.ref, own, clusterOf(live))
	switch {
	case err != nil:
		return err
	case kept == claimant.Moving:
		r.reporter.reportKept(live)
		return errWaiting
	case kept != "":
		return errWaiting
	}
	if err = r.recordReturn(ctx, s); err != nil {
		return err
	}
	given, err := r.giveBack(ctx, live, deleted)
	if err != nil {
		return err
	}
	if err := r.objects.removeAnswers(ctx, live); err != nil {
		return err
	}
	if err := r.releaseRecords(ctx, s.ref, given); err != nil {
		return err
	}
	if err := r.releaseFormer(ctx, live, recorded, seen); err != nil {
		return err
	}
	return finalizer.Remove(ctx, r.Client, live.Stored, r.observer.claimFinalizer(live))
}

// releaseRecords releases what is recorded for a deleted claim. It errs with ledger.ErrBusy if another manager has recorded something since
// what is outside was given back: that has to be given back, too.
func (r *executor) releaseRecords(ctx context.Context, claim ipamv1.ClaimReference, given claimant.GivenBack) error {
	recorded := r.Ledger.RecordsOf(claim)
	covered := given.Covered(recorded)
	if err := r.objects.exit().ReleaseEach(ctx, covered, claimant.ClaimDeleted(given)); err != nil {
		return err
	}
	if len(covered) < len(recorded) {
		return fmt.Errorf("more was recorded for the claim: %w", ledger.ErrBusy)
	}
	return nil
}

// isLeftToUs says whether only Weir's finalizer keeps a claim.
func (r *objects) isLeftToUs(claim *door.Claim) bool {
	own := r.observer.claimFinalizer(claim)
	return hasFinalizer(claim, own) && len(finalizer.Foreign(claim.Stored, own)) == 0
}

// reportKept records an event of a claim that moves.
func (r *reporter) reportKept(claim *door.Claim) {
	r.Recorder.Eventf(claim.Stored, nil, corev1.EventTypeNormal, addressKeptEvent, keepAction,
		"The claim is deleted because it moves to another cluster; its address is not released")
}

// leave lets a claim go that clusterctl has moved to another cluster, from a pool that stays: what it has here is marked as moved, too,
// if clusterctl has left it, as it does with what a claim has that is labelled to move alone. The pool's controller then holds it.
//
//	records marked -> answer gone -> the claim's finalizer
//
// With an IPPool all that moves, and clusterctl itself takes the finalizers off.
func (r *executor) leave(ctx context.Context, s *scope, live *door.Claim, moved claimant.MovedAway) error {
	recorded, err := r.records.recordedLast(ctx, s)
	if err != nil {
		return err
	}
	for _, h := range recorded {
		if h.Purpose == ledger.ForMoved {
			continue
		}
		if _, err := r.objects.exit().Release(ctx, h, claimant.ClaimMoved(moved)); err != nil {
			return err
		}
	}
	if err := r.objects.removeAnswers(ctx, live); err != nil {
		return err
	}
	return finalizer.Remove(ctx, r.Client, live.Stored, r.observer.claimFinalizer(live))
}

// recordedLast returns what is recorded for a claim that has left, and proves that it is all. A record of its answer counts whatever
// UID it names: it may have arrived with the claim and not have been replaced. An answer without a record gets one, unless nothing
// here can hand its address out, or somebody else has it.
func (r *records) recordedLast(ctx context.Context, s *scope) ([]ledger.Holding, error) {
	if err := r.Ledger.Of(r.observer.poolOf(s.claim)).Prove(ctx); err != nil {
		return nil, err
	}
	answer, isIts, err := r.observer.lastAnswer(ctx, s.claim)
	if err != nil {
		return nil, err
	}
	var address netip.Addr
	if isIts {
		address, _ = ipspace.ParseAddr(answer.Address) // what is no address was never Weir's answer, and equals none
	}
	holdsAnswer := func(h ledger.Holding) bool { return isIts && r.observer.holdsAnswer(h, answer) }
	isOwn := func(h ledger.Holding) bool {
		return h.Claim.UID == s.ref.UID || holdsAnswer(h) && h.Purpose != ledger.ForMoved
	}
	own := func() []ledger.Holding {
		return slices.DeleteFunc(r.observer.about(s).Recorded(), func(h ledger.Holding) bool { return !isOwn(h) })
	}
	if !address.IsValid() || slices.ContainsFunc(own(), holdsAnswer) {
		return own(), nil
	}
	if s.offer, err = r.observer.offer(ctx, s.claim); err == nil {
		err = r.recordAnswer(ctx, s, r.carried(s, answer, address, ledger.ForAdopted), ledger.ForAdopted, answer)
	}
	var refusal *claimant.Refusal
	switch {
	case err == nil, errors.As(err, &refusal), errors.Is(err, ledger.ErrRefused), errors.Is(err, ledger.ErrTaken):
		return own(), nil
	case errors.Is(err, ledger.ErrNotReady):
		return nil, fmt.Errorf("recording %s %s, which has moved: %v", r.observer.answerKind(), answer.GetName(), err) //nolint:errorlint // to be tried again, unlike others that are not ready
	}
	return nil, err
}

// recordReturn records what a claim came back with that is deleted before that was done, so that what has been held for it since it
// moved away is dropped, and its address is released like any other's. If it cannot be recorded, the hold stays.
func (r *executor) recordReturn(ctx context.Context, s *scope) error {
	isHeld := func(h ledger.Holding) bool { return h.Purpose == ledger.ForMoved && h.Claim.UID != s.ref.UID }
	if !slices.ContainsFunc(r.observer.about(s).Recorded(), isHeld) {
		return nil
	}
	answer, isIts, err := r.observer.lastAnswer(ctx, s.claim)
	if err != nil || !isIts {
		return err
	}
	if s.offer, err = r.observer.offer(ctx, s.claim); err == nil && s.offer.Halted == nil && s.offer.Hidden == nil {
		err = r.adopt(ctx, s, answer, ledger.ForAdopted)
	}
	var refusal *claimant.Refusal
	switch {
	case errors.As(err, &refusal), errors.Is(err, ledger.ErrRefused), errors.Is(err, ledger.ErrNotReady):
		return nil
	case err != nil:
		return err
	}
	_, err = r.tidy(ctx, s)
	return err
}

// lastAnswer reads the answer of a claim that is being deleted live, and says whether there is one that is its own.
func (r *observer) lastAnswer(ctx context.Context, claim *door.Claim) (answer *door.Answer, isIts bool, err error) {
	if answer, err = r.getAnswer(ctx, r.Live, claim); err != nil {
		return nil, false, client.IgnoreNotFound(err)
	}
	return answer, r.claimUID(answer) == claim.GetUID() || r.arrivedFor(claim, answer), nil
}

// releaseFormer releases what a claim that arrived had under its former UID, and nobody waits for
// any more: no answer that stands without the claim. The records were read before the claim.
func (r *executor) releaseFormer(ctx context.Context, claim *door.Claim, recorded []ledger.Holding, seen *claimant.Observation) error {
	r.Arrivals.forget(claim.GetUID())
	former := slices.DeleteFunc(slices.Clone(recorded), func(h ledger.Holding) bool { return h.Claim.UID == string(claim.GetUID()) || !h.Arriving })
	if len(former) == 0 {
		return nil
	}
	standing, err := r.observer.answersTo(ctx, r.Live, keyOf(claim))
	if err != nil {
		return err
	}
	for _, h := range former {
		if r.observer.isCarried(h, standing) {
			continue
		}
		if _, err := r.releaseGone(ctx, h, seen.Gone(h.Claim)); err != nil {
			return err
		}
	}
	return nil
}

// hasLeft says whether clusterctl is done with a claim that it has moved: only Weir's finalizer, which admission has left it, keeps it.
func (r *observer) hasLeft(claim *door.Claim) bool {
	isDone := claim.GetAnnotations()[ipamv1.MovedAnnotation] == string(claim.GetUID())
	return isDone && predicates.IsMoving(claim) && !claim.GetDeletionTimestamp().IsZero()
}

// removeAnswers removes every answer to the claim. One out of another pool that is not the claim's holds its address there. The cache is
// believed when it shows the only one that there can be, never when it shows none or a namesake's.
func (r *objects) removeAnswers(ctx context.Context, claim *door.Claim) error {
	answers, err := r.observer.answersTo(ctx, r.Client, keyOf(claim))
	isIts := func(a *door.Answer) bool { return r.observer.claimUID(a) == claim.GetUID() }
	if err == nil && (r.Form.Kinds().Commit == door.ByStatus || !slices.ContainsFunc(answers, isIts)) {
		answers, err = r.observer.answersTo(ctx, r.Live, keyOf(claim))
	}
	for _, answer := range answers {
		switch {
		case isIts(answer):
			err = errors.Join(err, r.removeAnswer(ctx, answer))
		case answer.Pool == claim.Pool && r.observer.isOwnerless(answer), r.observer.arrivedFor(claim, answer):
			err = errors.Join(err, r.removeOwnerless(ctx, claim, answer))
		}
	}
	return err
}

// removeOwnerless removes an answer that names no claim, or an earlier one, with a claim that a live read shows after it: a later claim
// of the name may have come with it.
func (r *objects) removeOwnerless(ctx context.Context, claim *door.Claim, answer *door.Answer) error {
	if err := r.proveStored(ctx, claim); err != nil {
		return err
	}
	return r.removeAnswer(ctx, answer)
}

// arrivedFor says whether an answer is one of Weir's that arrived for the claim, out of its pool, and carries its former UID still.
func (r *observer) arrivedFor(claim *door.Claim, answer *door.Answer) bool {
	return answer.Pool == claim.Pool && (hasArrived(claim) || hasArrived(answer)) && r.isMade(answer) && r.Source.Serves(answer.Pool)
}

// isOwnerless says whether an answer is one of Weir's that the garbage collector has taken the claim off the owners
// of, as it does when the claim is gone or deleted in the foreground, and a pool is an owner too.
func (r *observer) isOwnerless(answer *door.Answer) bool {
	return r.claimUID(answer) == "" && r.isMade(answer) && r.Source.Serves(answer.Pool)
}

// removeAnswer deletes an answer, and takes Weir's finalizer off it last: until then it can be told that it was an answer,
// even once the garbage collector has taken the claim off its owners. It errs with errWaiting while somebody else's finalizer
// keeps it.
func (r *objects) removeAnswer(ctx context.Context, answer *door.Answer) error {
	if predicates.IsMoving(answer) {
		return errWaiting
	}
	if answer.GetDeletionTimestamp().IsZero() {
		uid, version := answer.GetUID(), answer.GetResourceVersion()
		if err := r.Client.Delete(ctx, answer.Stored, client.Preconditions{UID: &uid, ResourceVersion: &version}); err != nil {
			return goneOr(err, "deleting "+r.observer.answerKind())
		}
	}
	if slices.ContainsFunc(answer.GetFinalizers(), func(f string) bool { return f != r.observer.answerFinalizer(answer) }) {
		return errWaiting
	}
	if !r.observer.isMade(answer) {
		return nil
	}
	return finalizer.RemoveLast(ctx, r.Client, answer.Stored, r.observer.answerFinalizer(answer))
}

// goneOr is nil if the object is gone already.
func goneOr(err error, doing string) error {
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

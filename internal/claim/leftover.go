// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// reconcileGone cleans up under the name of a claim that does not exist: an answer that is left over, and records of
// claims that died without Weir (finalizers stripped). The records are read first, then the claim, live: what belongs to a
// claim created after that is not touched. Where a claim of the name lives, its own reconciliation tidies up.
func (r *executor) reconcileGone(ctx context.Context, key types.NamespacedName) error {
	recorded := r.Ledger.About(r.observer.reference(key, "")).Recorded()
	answers, err := r.observer.leftovers(ctx, key)
	if err != nil || (len(answers) == 0 && len(recorded) == 0) {
		return err
	}
	seen := r.objects.exit().Observe(recorded)
	_, err = r.observer.getClaim(ctx, seen, key)
	if !apierrors.IsNotFound(err) {
		return err
	}
	standing, err := r.dropLeftovers(ctx, answers)
	if err != nil {
		return err
	}
	errs := make([]error, 0, len(recorded))
	for _, h := range recorded {
		if h.Arriving || r.observer.isCarried(h, standing) {
			continue
		}
		_, err := r.releaseGone(ctx, h, seen.Gone(h.Claim))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// dropLeftovers removes the answers of a claim that is gone, and returns those that stand without it: somebody made them by hand. It errs with
// errWaiting where one must stay for now, and the records with it.
func (r *executor) dropLeftovers(ctx context.Context, answers []*door.Answer) (standing []*door.Answer, err error) {
	for _, answer := range answers {
		switch {
		case r.observer.isByHand(answer):
			standing = append(standing, answer)
			err = errors.Join(err, r.records.secure(ctx, answer, nil))
		case r.objects.isArriving(answer):
			err = errors.Join(err, cmp.Or(r.records.secure(ctx, answer, nil), errWaiting))
		default:
			err = errors.Join(err, r.dropLeftover(ctx, answer))
		}
	}
	return standing, err
}

// dropLeftover removes the answer of a claim that is gone, unless it must stay for now.
func (r *executor) dropLeftover(ctx context.Context, answer *door.Answer) error {
	r.Arrivals.forget(answer.GetUID())
	kept, err := r.objects.isAnswerKept(ctx, answer)
	switch {
	case err != nil:
		return err
	case kept:
		return errWaiting
	}
	return r.objects.removeAnswer(ctx, answer)
}

// isCarried says whether one of the answers carries what the record holds.
func (r *observer) isCarried(h ledger.Holding, answers []*door.Answer) bool {
	return slices.ContainsFunc(answers, func(a *door.Answer) bool { return r.holdsAnswer(h, a) })
}

// isAnswerKept says whether the answer of a claim that is gone must stay: clusterctl moves it, or its Cluster is paused.
func (r *objects) isAnswerKept(ctx context.Context, answer *door.Answer) (bool, error) {
	if predicates.IsMoving(answer) {
		return true, nil
	}
	return claimant.IsClusterPaused(ctx, r.Live, answer)
}

// tidy drops the records under a living claim's name that can never be told to anybody: repeated and void ones of the claim itself, and
// those of namesakes that died without Weir, which may hold the very address that the claim waits for. The records are read
// first, then claim and answer, live. It says whether anything was dropped.
func (r *executor) tidy(ctx context.Context, s *scope) (bool, error) {
	recorded := r.observer.about(s).Recorded()
	several := len(s.answers) > 1
	if !several && (len(recorded) == 0 || (len(recorded) == 1 && recorded[0].Claim.UID == s.ref.UID)) {
		return false, nil
	}
	if repeats := r.Ledger.Repeats(s.ref); len(repeats) > 0 {
		err := r.objects.exit().ReleaseEach(ctx, repeats, claimant.Repeated())
		return err == nil, err
	}
	if several {
		if err := r.objects.dropStrays(ctx, s); err != nil {
			return false, err
		}
	}
	seen := r.objects.exit().Observe(recorded)
	claim, err := r.observer.getClaim(ctx, seen, keyOf(s.claim))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	answers, err := r.observer.answersTo(ctx, seen, keyOf(s.claim))
	if err != nil || isAnother(s, claim) {
		return false, err
	}
	answer, others := r.observer.split(answers, claim)
	answered := seen.Answered(s.ref, answer.Stored)
	s.unsettled = slices.ContainsFunc(others, r.observer.isChosenHere)
	dropped := false
	for _, h := range recorded {
		if r.observer.isCarried(h, others) {
			continue // it goes after what carries it
		}
		gone, err := r.end(ctx, h, r.records.underName(s, h, answer).decide(), seen.Gone(h.Claim), answered)
		if err != nil {
			return dropped, err
		}
		dropped = dropped || gone
	}
	return dropped, nil
}

// underName gathers the facts that decide what becomes of a record under the claim's name. It asks the ledger anew for each: of two records
// that hold the same, the second one must stay when the first has gone.
func (r *records) underName(s *scope, h ledger.Holding, answer *door.Answer) underName {
	known := r.observer.about(s)
	return underName{
		its:      h.Claim.UID == s.ref.UID,
		reserved: h.Purpose == ledger.ForMoved,
		answer:   r.observer.relationOf(answer, s.claim),
		made:     r.observer.isMade(answer) || h.Claim.UID == string(answer.GetUID()),
		carried:  r.observer.holdsAnswer(h, answer),
		won:      known.HasWon(h.CIDR.Addr()),
		precedes: known.Precedes(h),
		heldOn:   known.IsHeldOn(h),
	}
}

// end does with a record what was decided, and reports whether it has gone. One of the two proves
// it: the claim of the record is gone, or the claim of the name that lives is answered.
func (r *executor) end(
	ctx context.Context, h ledger.Holding, what fate, gone claimant.Gone, answered claimant.Answered,
) (bool, error) {
	why, isEnd := reasonFor(what, h, answered)
	var hasGone bool
	var err error
	switch {
	case what == releaseRecord:
		hasGone, err = r.releaseGone(ctx, h, gone)
	case isEnd:
		hasGone, err = r.objects.exit().Release(ctx, h, why)
	}
	var kept *claimant.KeptError
	if errors.As(err, &kept) { // no claim that lives waits for that: repair has it looked at again
		return false, nil
	}
	return hasGone, err
}

// releaseGone releases the record of a claim that is gone, unless an answer stands that carries what it holds.
func (r *executor) releaseGone(ctx context.Context, h ledger.Holding, gone claimant.Gone) (bool, error) {
	if stands, err := r.observer.isStanding(ctx, h); stands || err != nil {
		return false, err
	}
	return r.objects.exit().Release(ctx, h, claimant.ClaimGone(gone))
}

// isStanding reports whether a live list shows an answer under the record's claim that carries what the record holds. Where answers may have any
// name and the API server selects none by the claim, only the cache has shown those, and it may be behind the record.
func (r *observer) isStanding(ctx context.Context, h ledger.Holding) (stands bool, err error) {
	pool := door.PoolName{GroupKind: h.Pool.GroupKind(), Name: h.Pool.Name}
	if r.Form.Kinds().Commit != door.ByName || !r.Form.Conventions(pool).IsShared {
		return false, nil
	}
	list, key := r.Form.Kinds().NewAnswerList(), types.NamespacedName{Namespace: h.Claim.Namespace, Name: h.Claim.Name}
	if err = r.Live.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return false, fmt.Errorf("listing %ss: %w", r.answerKind(), err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		stored, ok := item.(client.Object)
		stands = stands || ok && r.Form.ClaimOf(stored) == key && r.holdsAnswer(h, r.answerIn(stored))
		return nil
	})
	return stands, err
}

// reasonFor returns the reason to release a record of a claim that is answered; false if it stays.
func reasonFor(what fate, h ledger.Holding, answered claimant.Answered) (claimant.Reason, bool) {
	switch what {
	case endReservation:
		return claimant.HoldEnded(answered.Returned(h)), true
	case dropVoid:
		return claimant.NeverCommitted(answered), true
	case releaseOther:
		return claimant.AnsweredOtherwise(answered), true
	default:
		return claimant.Reason{}, false
	}
}

// holdsAnswer says whether a record under the claim's name is of the answer's pool, and holds what that carries.
func (r *observer) holdsAnswer(h ledger.Holding, answer *door.Answer) bool {
	return h.CIDR.Addr().String() == answer.Address && h.Pool == r.Source.Reference(answer.Pool, answer.GetNamespace())
}

// Settle cleans up under the name of a claim, as repair asks for it: the claim may be gone or have a successor.
func (r *Reconciler) Settle(ctx context.Context, key types.NamespacedName) error {
	var kept *claimant.KeptError
	if err := r.executor.reconcileGone(ctx, key); err != nil && !errors.Is(err, errWaiting) && !errors.Is(err, errArriving) && !errors.As(err, &kept) {
		return err
	}
	if _, err := r.observer.getClaim(ctx, r.Client, key); err == nil {
		r.ledger.Notices().Concern(r.observer.reference(key, "")) // it tidies up itself
	}
	return nil
}

// Answers returns the names of the claims whose answers the cache shows, for repair.
func (r *Reconciler) Answers(ctx context.Context) ([]types.NamespacedName, error) {
	answers := r.Form.Kinds().NewAnswerList()
	if err := r.Client.List(ctx, answers, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", r.observer.answerKind(), err)
	}
	keys := make([]types.NamespacedName, 0, meta.LenList(answers))
	err := meta.EachListItem(answers, func(item runtime.Object) error {
		if answer, ok := item.(client.Object); ok {
			keys = append(keys, r.Form.ClaimOf(answer))
		}
		return nil
	})
	return keys, err
}

// leftovers returns the answers for a dead claim's name out of pools that are served. The garbage collector may have taken the claim off their
// owners; others were made by hand.
func (r *observer) leftovers(ctx context.Context, key types.NamespacedName) ([]*door.Answer, error) {
	answers, err := r.answersTo(ctx, r.Live, key)
	return slices.DeleteFunc(answers, func(a *door.Answer) bool {
		return !r.Source.Serves(a.Pool)
	}), err
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// reconcileGone cleans up under the name of a claim that does not exist: an answer that is left over, and records of
// claims that died without Weir (finalizers stripped). The records are read first, then the claim, live: what belongs to a
// claim created after that is not touched. Where a claim of the name lives, its own reconciliation tidies up.
func (r *Reconciler) reconcileGone(ctx context.Context, key types.NamespacedName) error {
	recorded := r.Ledger.About(r.reference(key, "")).Recorded()
	answer, err := r.leftover(ctx, key)
	if err != nil || (answer == nil && len(recorded) == 0) {
		return err
	}
	_, err = r.getClaim(ctx, r.Live, key)
	if !apierrors.IsNotFound(err) {
		return err
	}
	if answer != nil && r.isArriving(answer) {
		return r.secure(ctx, answer, nil)
	}
	if answer != nil {
		r.Arrivals.forget(answer.GetUID())
		if kept, err := r.isAnswerKept(ctx, answer); kept || err != nil {
			return err
		}
		if err := r.removeAnswer(ctx, answer); err != nil {
			return err
		}
	}
	for _, h := range recorded {
		if h.Arriving {
			continue
		}
		if _, err := r.exit().Release(ctx, h, claimant.ClaimGone); err != nil {
			return err
		}
	}
	return nil
}

// isAnswerKept says whether the answer of a claim that is gone must stay: clusterctl moves it, or its Cluster is paused.
func (r *objects) isAnswerKept(ctx context.Context, answer *Answer) (bool, error) {
	if predicates.IsMoving(answer) {
		return true, nil
	}
	return claimant.IsClusterPaused(ctx, r.Live, answer)
}

// tidy drops the records under a living claim's name that can never be told to anybody: repeated and void ones of the claim itself, and
// those of namesakes that died without Weir, which may hold the very address that the claim waits for. The records are read
// first, then claim and answer, live. It says whether anything was dropped.
func (r *Reconciler) tidy(ctx context.Context, s *scope) (bool, error) {
	recorded := r.about(s).Recorded()
	if len(recorded) == 0 || (len(recorded) == 1 && recorded[0].Claim.UID == s.ref.UID) {
		return false, nil
	}
	if repeated, err := r.exit().DropRepeats(ctx, s.ref); repeated {
		return err == nil, err
	}
	claim, err := r.getClaim(ctx, r.Live, keyOf(s.claim))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	answer, err := r.getAnswer(ctx, r.Live, keyOf(s.claim))
	if apierrors.IsNotFound(err) {
		answer = r.answerIn(r.Form.Kinds().NewAnswer()) // which is nobody's
	} else if err != nil {
		return false, err
	}
	if claim.GetUID() != s.claim.GetUID() {
		return false, nil
	}
	dropped := false
	for _, h := range recorded {
		gone, err := r.end(ctx, h, r.underName(s, h, answer).decide())
		if err != nil {
			return dropped, err
		}
		dropped = dropped || gone
	}
	return dropped, nil
}

// underName gathers the facts that decide what becomes of a record under the claim's name. It asks the ledger anew for each: of two records
// that hold the same, the second one must stay when the first has gone.
func (r *addresses) underName(s *scope, h ledger.Holding, answer *Answer) underName {
	known := r.about(s)
	return underName{
		its:      h.Claim.UID == s.ref.UID,
		reserved: h.Purpose == ledger.ForMoved,
		answer:   r.relationOf(answer, s.claim),
		made:     r.isMade(answer),
		carried:  r.holdsAnswer(h, answer),
		won:      known.HasWon(h.CIDR.Addr()),
		precedes: known.Precedes(h),
		heldOn:   known.IsHeldOn(h),
	}
}

// end does with a record what was decided, and says whether it has gone.
func (r *Reconciler) end(ctx context.Context, h ledger.Holding, what fate) (gone bool, err error) {
	switch what {
	case endReservation:
		return true, r.exit().ReleaseReserved(ctx, h)
	case dropVoid:
		return r.exit().Release(ctx, h, claimant.Untold)
	case releaseRecord:
		return r.exit().Release(ctx, h, claimant.ClaimGone)
	default:
		return false, nil
	}
}

// holdsAnswer says whether a record under the claim's name is of the answer's pool, and holds what that carries.
func (r *objects) holdsAnswer(h ledger.Holding, answer *Answer) bool {
	return h.CIDR.Addr().String() == answer.Address && h.Pool == r.Source.Reference(answer.Pool, answer.GetNamespace())
}

// Settle cleans up under the name of a claim, as repair asks for it: the claim may be gone or have a successor.
func (r *Reconciler) Settle(ctx context.Context, key types.NamespacedName) error {
	if err := r.reconcileGone(ctx, key); err != nil && !errors.Is(err, errWaiting) && !errors.Is(err, errArriving) {
		return err
	}
	if _, err := r.getClaim(ctx, r.Client, key); err == nil {
		r.Ledger.Notices().Concern(r.reference(key, "")) // it tidies up itself
	}
	return nil
}

// Answers returns the names of the claims whose answers the cache shows, for repair.
func (r *Reconciler) Answers(ctx context.Context) ([]types.NamespacedName, error) {
	answers := r.Form.Kinds().NewAnswerList()
	if err := r.Client.List(ctx, answers, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", r.answerKind(), err)
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

// leftover returns the answer for a dead claim's name, if it is one of Weir's: the garbage collector may have
// taken the claim off its owners.
func (r *objects) leftover(ctx context.Context, key types.NamespacedName) (*Answer, error) {
	answer, err := r.getAnswer(ctx, r.Live, key)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !r.Source.Serves(answer.Pool) || (r.claimUID(answer) == "" && !r.isMade(answer)) {
		return nil, nil //nolint:nilnil // not ours
	}
	return answer, nil
}

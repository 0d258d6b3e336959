// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// retryTaken is when a claim asks again for an address that another pool's claim holds: its own pool's watch would not tell.
const retryTaken = 30 * time.Second

// retryBusy is when a claim that lost a race, or that another manager is answering, is looked at again.
const retryBusy = time.Second

// retryEnding is when a claim is looked at again whose namespace is being deleted, or which seems to be gone.
const retryEnding = 5 * time.Second

// report writes what came of the claim into its status, if that says something new, and returns the error it was given.
func (r *reporter) report(ctx context.Context, s *scope, outcome error) error {
	outcome = claimant.Denied(outcome, s.claim.Stored, r.Clock.Now())
	if err := r.tell(ctx, s, outcome); err != nil {
		return err
	}
	return outcome
}

// tell writes what came of the claim into its status, if that says something new. Where the outcome is still open, that is only whether the
// claim is paused, and what keeps it if it is being deleted.
func (r *reporter) tell(ctx context.Context, s *scope, outcome error) error {
	before := conditions.Get(s.claim.Stored, ipamv1.ReadyCondition)
	after, _ := s.claim.Stored.DeepCopyObject().(claimant.Claimant)
	ready, isKnown := r.readyCondition(ctx, s, outcome)
	if isKnown {
		r.Form.Report(after, ready, s.answerName(), outcome)
		claimant.SetWithinPool(after, r.overridden(ctx, s))
		s.unlisted = ready.Status == metav1.ConditionFalse && isPassedOver(s.claim, before, ready.Reason)
	}
	paused := pausedBy(outcome)
	claimant.SetPaused(after, paused)
	if paused == "" {
		r.Hints.SetDeleting(after, r.keepers(s.claim))
	}
	if equality.Semantic.DeepEqual(r.Form.Status(after), r.Form.Status(s.claim.Stored)) {
		return nil
	}
	if err := r.patchStatus(ctx, after); err != nil {
		return err
	}
	if isKnown {
		s.announced = r.announce(s.claim, before, ready)
	}
	if outcome == nil && s.claim.AnswerName == "" {
		claimant.ObserveAnswer(r.observer.kind(), s.claim, before, r.Clock.Now())
	}
	return nil
}

// isPassedOver reports whether a pool that changes, or that has room again, would not wake a claim which is refused now: the cache shows that
// it has an address, or that it waits for a host.
func isPassedOver(claim *door.Claim, before *metav1.Condition, now string) bool {
	waited := before != nil && before.Reason == ipamv1.ClaimReadyWaitingForHostReason
	return hasAnswer(claim) || waited && now != ipamv1.ClaimReadyWaitingForHostReason
}

// reportRelease has a claim that is being deleted say why it keeps what it has, and returns when to go on with it.
func (r *reporter) reportRelease(ctx context.Context, s *scope, outcome error) error {
	if outcome == nil { // the claim is gone
		return nil
	}
	kept := claimant.WhyKept(outcome, s.claim.Stored, r.Clock.Now())
	if kept != nil {
		outcome = kept
	}
	after, _ := s.claim.Stored.DeepCopyObject().(claimant.Claimant)
	claimant.SetKept(after, kept)
	if equality.Semantic.DeepEqual(r.Form.Status(after), r.Form.Status(s.claim.Stored)) {
		return outcome
	}
	if err := r.patchStatus(ctx, after); err != nil {
		return err
	}
	if kept != nil && kept.Reason == ipamv1.WaitingForAPIServerReason {
		r.Recorder.Eventf(s.claim.Stored, nil, corev1.EventTypeWarning, kept.Reason, keepAction, "%s", kept.Message)
	}
	return outcome
}

// keepers are the finalizers of others that keep a claim which is being deleted; none where clusterctl takes them off.
func (r *reporter) keepers(claim *door.Claim) []string {
	if claim.GetDeletionTimestamp().IsZero() || predicates.IsMoving(claim) {
		return nil
	}
	return finalizer.Foreign(claim.Stored, r.observer.claimFinalizer(claim))
}

// answerName is the name of the claim's answer; "" before there is one.
func (s *scope) answerName() string {
	if s.answer == nil {
		return ""
	}
	return s.answer.GetName()
}

// pausedBy says why the claim is paused; nothing if it is not.
func pausedBy(outcome error) string {
	var refusal *claimant.Refusal
	if errors.As(outcome, &refusal) {
		return refusal.Paused
	}
	return ""
}

// overridden says why the pool would not hand out to the claim what that has; nothing if it would.
func (r *reporter) overridden(ctx context.Context, s *scope) string {
	if err := r.observer.about(s).OutsidePolicy(); err != nil {
		return r.told(ctx, s, err)
	}
	return ""
}

// readyCondition says how the claim stands; false if there is nothing to tell, because the outcome is still open.
func (r *reporter) readyCondition(ctx context.Context, s *scope, outcome error) (metav1.Condition, bool) {
	c := metav1.Condition{
		Type:               ipamv1.ReadyCondition,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: s.claim.GetGeneration(),
	}
	var refusal *claimant.Refusal
	switch {
	case outcome == nil:
		c.Status, c.Reason = metav1.ConditionTrue, ipamv1.ClaimReadyAllocatedReason
	case errors.As(outcome, &refusal) && refusal.Reason == "":
		return c, false
	case errors.As(outcome, &refusal):
		c.Reason, c.Message = refusal.Reason, refusal.Message
	case errors.Is(outcome, ledger.ErrExhausted):
		c.Reason = ipamv1.ClaimReadyPoolExhaustedReason
		c.Message = exhaustedMessage(s)
	case errors.Is(outcome, ledger.ErrNotReady):
		c.Reason = ipamv1.ClaimReadyPoolNotReadyReason
		c.Message = fmt.Sprintf("%s %s does not hand out addresses now; see its Ready condition", s.claim.Pool.Kind, s.claim.Pool.Name)
	case errors.Is(outcome, ledger.ErrTaken), errors.Is(outcome, ledger.ErrRefused):
		c.Reason = ipamv1.ClaimReadyAllocationFailedReason
		c.Message = r.askedMessage(ctx, s, outcome)
	default:
		return c, false
	}
	c.Message = excerpt.Message(c.Message)
	return c, true
}

// exhaustedMessage says that the pool has no address, and what stands in the way where one cannot be answered with.
func exhaustedMessage(s *scope) string {
	message := fmt.Sprintf("%s %s has no address available", s.claim.Pool.Kind, s.claim.Pool.Name)
	if other := s.inTheWay; other != nil {
		message += fmt.Sprintf(": the name %s is taken by that IPAddress of %s %s", other.GetName(), other.Pool.Kind, other.Pool.Name)
	}
	return message
}

// askedMessage names where the refused address was asked for.
func (r *reporter) askedMessage(ctx context.Context, s *scope, outcome error) string {
	told := r.told(ctx, s, outcome)
	if s.claim.Asked != nil {
		return fmt.Sprintf("%s: %s", s.claim.AskedField, told)
	}
	return told
}

// told puts an error of the ledger into words for who reads the claim. Whom an address is held or kept for is only named if that
// is of the claim's own project.
func (r *reporter) told(ctx context.Context, s *scope, err error) string {
	if who, words, ok := ledger.HeldFor(err); ok && r.Rules.MayNameReleased(ctx, s.claim.GetNamespace(), who.Claim, who.ReleasedAt) {
		return err.Error() + words
	}
	return err.Error()
}

// patchStatus writes the status of the very claim that was read: the patch names its version, because the API server does not
// look at a UID in a patch of status. A claim of that name made later must not be told the answer of its dead namesake.
func (r *reporter) patchStatus(ctx context.Context, claim claimant.Claimant) error {
	metadata := map[string]any{"resourceVersion": claim.GetResourceVersion()}
	body, err := json.Marshal(map[string]any{"metadata": metadata, "status": r.Form.Status(claim)})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	err = r.Client.Status().Patch(ctx, claim, client.RawPatch(types.MergePatchType, body))
	return goneOr(err, "patching status")
}

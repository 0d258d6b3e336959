// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// shownHoldings is how many allocations, or finalizers, a message names.
const shownHoldings = 5

// updateStatus computes the status from what the reconciliation found out, and writes it.
func (r *reporter) updateStatus(ctx context.Context, s *scope, outcome error) error {
	account := r.Ledger.Of(s.says.Ref)
	capacity, known := account.Capacity()
	isForeign := r.Registry.IsForeign(s.pool) || !s.says.IsServedHere()
	r.findOverlaps(ctx, s)
	r.showMember(s)
	showExpanded(s)
	r.showReleased(s)
	r.Kind.Show(s.pool, &pools.Report{
		Says: s.says, Invalid: len(s.invalid) > 0, Capacity: capacity, Counted: known, Foreign: isForeign, Holdings: account.Holdings,
		Idle: !capacity.Serving || !s.pool.GetDeletionTimestamp().IsZero(),
	})
	before := conditions.Get(s.pool, ipamv1.ReadyCondition).DeepCopy() // it is changed in place
	ready := r.readyCondition(ctx, s, capacity, outcome)
	ready.ObservedGeneration, ready.Message = s.pool.GetGeneration(), excerpt.Message(ready.Message)
	conditions.Set(s.pool, ready)
	r.setRoom(s, capacity, known && !isForeign)
	conditions.Set(s.pool, claimant.PausedCondition(""))
	claimant.SetWithinPool(s.pool, r.overridden(s))
	r.setFloatingIPs(ctx, s)
	r.setForeign(ctx, s)
	r.setGatewayReachable(s)
	unsure := errors.Join(r.setMovable(ctx, s, capacity), r.setNetworkCurrent(ctx, s), r.setByHand(ctx, s), r.setBlocksHeld(ctx, s)) // the rest is known all the same
	if err := r.write(ctx, s); err != nil {
		return errors.Join(unsure, client.IgnoreNotFound(err))
	}
	r.announce(s.pool, before, ready)
	r.announceRoom(s.before, s.pool)
	r.announceExpanded(s.before, s.pool)
	r.announceForeign(s.before, s.pool)
	r.announceOffLink(s.before, s.pool)
	r.measure(s, capacity, isForeign)
	return unsure
}

// measure sets the gauges of a pool: the capacity of a delegated one to what its member reports. One that is not at home here has none: who
// watches for pools that run low would be told of it.
func (r *reporter) measure(s *scope, c ledger.Capacity, isForeign bool) {
	capacity := pools.CapacityOf(c)
	if own, ok := s.pool.(pools.Own); ok {
		if member := pools.MemberReport(s.says, own.PoolStatus()); member != nil {
			capacity, isForeign = member.Capacity, false
		}
	}
	if isForeign {
		unobserve(s.says.Ref)
		return
	}
	observe(s.says.Ref, capacity)
	observeSurvey(s.says.Ref, s.survey)
	observeOverlaps(s.says.Ref, s.overlaps)
	observeRecords(s.says.Ref, r.Ledger.Of(s.says.Ref))
	observeReady(s.says.Ref, conditions.IsTrue(s.pool, ipamv1.ReadyCondition))
}

// write stores what has changed: labels, annotations and owners, and the whole status in one write, so that nobody sees a pool that is
// ready and has no capacity. Cluster API's patch helper would write the conditions by themselves.
func (r *reporter) write(ctx context.Context, s *scope) error {
	if err := r.writeMetadata(ctx, s); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(r.Kind.Status(s.before), r.Kind.Status(s.pool)) {
		return nil
	}
	if r.Kind.Stamp != nil {
		r.Kind.Stamp(s.pool, r.Clock.Now())
	}
	status, _ := s.pool.DeepCopyObject().(pools.Object)
	if err := r.Client.Status().Patch(ctx, status, lockedMerge(s.before)); err != nil {
		return fmt.Errorf("patching status of %s: %w", r.Kind.Kind, err)
	}
	return nil
}

func (r *reporter) writeMetadata(ctx context.Context, s *scope) error {
	if isMarkedAlike(s.before, s.pool) {
		return nil
	}
	marked, _ := s.before.DeepCopyObject().(pools.Object)
	mark(marked, s.pool)
	if err := r.Client.Patch(ctx, marked, lockedMerge(s.before)); err != nil {
		return fmt.Errorf("patching labels, annotations and owners of %s: %w", r.Kind.Kind, err)
	}
	s.before.SetResourceVersion(marked.GetResourceVersion())
	s.pool.SetResourceVersion(marked.GetResourceVersion())
	mark(s.before, s.pool)
	return nil
}

func isMarkedAlike(p, q pools.Object) bool {
	return maps.Equal(p.GetLabels(), q.GetLabels()) && maps.Equal(p.GetAnnotations(), q.GetAnnotations()) &&
		equality.Semantic.DeepEqual(p.GetOwnerReferences(), q.GetOwnerReferences())
}

// mark gives p the labels, annotations and owners of q.
func mark(p, q pools.Object) {
	p.SetLabels(q.GetLabels())
	p.SetAnnotations(q.GetAnnotations())
	p.SetOwnerReferences(q.GetOwnerReferences())
}

// lockedMerge is a patch that fails if the object has changed since it was read.
func lockedMerge(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// readyCondition says whether the pool hands out addresses, and if not, what should be done.
func (r *reporter) readyCondition(ctx context.Context, s *scope, c ledger.Capacity, outcome error) metav1.Condition {
	condition := metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse}
	condition.Reason, condition.Message = r.obstacle(ctx, s, outcome)
	if condition.Reason != "" {
		return condition
	}
	switch {
	case s.says.Place == poolspec.Stray: // its home annotation came from the hub
		condition = strayCondition(s.says, r.Registry.Cluster)
	case r.isMisnamedHub(s):
		condition = misnamedCondition(s.says)
	case r.Registry.IsForeign(s.pool):
		condition.Reason, condition.Message = ipamv1.PoolReadyHomedElsewhereReason,
			"metadata.annotations["+ipamv1.HomeAnnotation+"]: the pool is at home in another cluster: nothing new is handed out here"
	case s.says.Place == poolspec.Elsewhere && outcome == nil && c.Serving:
		condition = delegatedCondition(s.says)
	case r.Registry.IsHandedBack(s.pool):
		back, _ := r.Registry.HandBackOf(s.pool)
		condition.Reason, condition.Message = ipamv1.PoolReadyHandedBackReason, handedBackMessage(back)
	case s.says.Mode == ipamv1.ClosingMode:
		condition.Reason, condition.Message = ipamv1.PoolReadyClosingReason, r.closingMessage(ctx, s)
	case s.says.Mode == ipamv1.DrainingMode:
		condition.Reason, condition.Message = ipamv1.PoolReadyDrainingReason, "the pool hands out nothing more"
	case outcome != nil || !c.Serving && !s.hasNoAddresses():
		condition.Reason, condition.Message = ipamv1.PoolReadyReservingReason, "the pool's blocks are being recorded"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason
		condition.Message = r.doubtsMessage(ctx, s)
	}
	return condition
}

// obstacle says what keeps the pool from having its blocks, or any more; "" for nothing.
func (r *reporter) obstacle(ctx context.Context, s *scope, outcome error) (reason, message string) {
	var fault *external.FaultError
	var denied *ledger.DeniedError
	switch {
	case !s.pool.GetDeletionTimestamp().IsZero():
		return ipamv1.PoolReadyDeletingReason, r.deletingMessage(ctx, s, outcome)
	case len(s.invalid) > 0:
		return ipamv1.PoolReadyInvalidSpecReason, invalidMessage(s.invalid)
	case s.overlap != nil && s.overlap.By.Purpose == ledger.ForHandBack && s.says.Place == poolspec.Delegated:
		return ipamv1.PoolReadyHandedBackReason, r.inTheWayMessage(ctx, s, s.overlap.By)
	case s.overlap != nil:
		return ipamv1.PoolReadyOverlapReason, r.overlapMessage(ctx, s)
	case errors.As(outcome, &fault):
		return fault.Reason, fault.Message
	case errors.As(outcome, &denied):
		return ipamv1.PoolReadyRefusedByAPIServerReason, deniedMessage(ctx, s.pool, denied)
	case isParents(outcome) && s.says.Place != poolspec.Delegated: // a copy has no parent here
		return ipamv1.PoolReadyParentNotReadyReason, parentMessage(s.says, outcome)
	case errors.Is(outcome, ledger.ErrBusy) && s.says.CIDR == "" && conditions.GetReason(s.pool, ipamv1.ReadyCondition) == ipamv1.PoolReadyParentNotReadyReason:
		// That the parent is still full is being proved. Said in between, something else would make the pool newer than the proof.
		return ipamv1.PoolReadyParentNotReadyReason, conditions.GetMessage(s.pool, ipamv1.ReadyCondition)
	}
	return "", ""
}

// deniedMessage says what the API server refuses. Its words concern the namespace of the record: of a GlobalIPPool that is the manager's,
// which readers of the pool may not know.
func deniedMessage(ctx context.Context, p pools.Object, denied *ledger.DeniedError) string {
	if p.GetNamespace() != "" {
		return denied.Error()
	}
	ctrl.LoggerFrom(ctx).Info("The API server refuses a write", "what", denied.What, "words", denied.Words)
	return denied.What + "; the manager's log has the API server's words"
}

// setExhausted says whether nothing of the pool is available; nothing of a pool of which nobody counts that.
func setExhausted(p pools.Object, c ledger.Capacity, known bool) {
	condition := metav1.Condition{
		Type: ipamv1.ExhaustedCondition, Status: metav1.ConditionFalse, Reason: ipamv1.PoolExhaustedSomeAvailableReason,
	}
	switch {
	case !known:
		conditions.Delete(p, ipamv1.ExhaustedCondition)
		return
	case c.Available.IsZero():
		condition.Status, condition.Reason = metav1.ConditionTrue, ipamv1.PoolExhaustedNoneAvailableReason
		condition.Message = exhaustedMessage(c)
	}
	conditions.Set(p, condition)
}

// exhaustedMessage tells where all addresses of a pool are.
func exhaustedMessage(c ledger.Capacity) string {
	message := fmt.Sprintf("no address is available: of %s, %s are allocated, %s delegated, %s cooling and %s excluded",
		c.Total, c.Allocated, c.Delegated, c.Cooling, c.Excluded)
	if c.Kept.IsZero() {
		return message
	}
	return fmt.Sprintf("%s; %s are kept for claims", message, c.Kept)
}

// shownMistakes is how many mistakes of a spec are told.
const shownMistakes = 5

// invalidMessage tells the first mistakes, and how many more there are.
func invalidMessage(mistakes field.ErrorList) string {
	shown := mistakes[:min(len(mistakes), shownMistakes)].ToAggregate().Error()
	if more := len(mistakes) - shownMistakes; more > 0 {
		return fmt.Sprintf("%s, and %d more", shown, more)
	}
	return shown
}

// overridden says why the parent would not carve the block that the pool has; nothing if it would.
func (r *reporter) overridden(s *scope) string {
	var refused *ledger.RefusedError
	if errors.As(r.Ledger.About(ledger.ClaimOf(s.says.Ref, string(s.pool.GetUID()))).OutsidePolicy(), &refused) {
		return entitlement.FieldOf(s.says, "spec.cidr") + ": " + refused.Reason
	}
	return ""
}

// isParents says whether it is the parent that keeps a pool from its block.
func isParents(outcome error) bool {
	var refusal *claimant.Refusal
	return errors.As(outcome, &refusal) || errors.Is(outcome, ledger.ErrExhausted) || errors.Is(outcome, ledger.ErrNotReady) ||
		errors.Is(outcome, ledger.ErrRefused)
}

func parentMessage(says poolspec.Pool, outcome error) string {
	var refusal *claimant.Refusal
	var refused *ledger.RefusedError
	switch {
	case errors.As(outcome, &refusal):
		return refusal.Error()
	case errors.As(outcome, &refused) && says.ParentField != "":
		return fmt.Sprintf("%s: %s %s", says.ParentField, refused.CIDR, refused.Reason)
	case errors.As(outcome, &refused):
		return "spec.cidr: " + refused.Reason
	case errors.Is(outcome, ledger.ErrExhausted):
		return entitlement.FieldOf(says, "spec.parentRef") + ": the parent has no free block of that length"
	default:
		return entitlement.FieldOf(says, "spec.parentRef") + ": the parent does not hand out blocks now; see its Ready condition"
	}
}

// closingMessage is what a copy waits for whose block the hub takes back.
func (r *reporter) closingMessage(ctx context.Context, s *scope) string {
	const message = "the hub takes the block back: nothing more is handed out"
	switch {
	case len(s.holdings) > 0:
		return message + "; " + r.holdingsMessage(ctx, s)
	case s.unrecorded != "":
		return message + "; " + s.unrecorded
	}
	return message
}

// deletingMessage says what a pool that is being deleted waits for.
func (r *reporter) deletingMessage(ctx context.Context, s *scope, outcome error) string {
	var kept *claimant.KeptError
	switch {
	case errors.As(outcome, &kept):
		return kept.Message
	case s.unrecorded != "":
		return r.closingMessage(ctx, s)
	case s.awaits != "":
		return s.awaits + r.endingMessage(ctx, s.pool)
	case len(s.holdings) == 0 && len(s.users) > 0:
		return "waiting for finalizers: " + strings.Join(s.users[:min(len(s.users), shownHoldings)], ", ")
	case len(s.holdings) == 0:
		return "nothing is allocated from the pool"
	}
	return r.holdingsMessage(ctx, s)
}

// holdingsMessage counts what keeps a pool, and names some of what is of its own project.
func (r *reporter) holdingsMessage(ctx context.Context, s *scope) string {
	message := fmt.Sprintf("%d allocations are still in use", len(s.holdings))
	if len(s.holdings) == 1 {
		message = "1 allocation is still in use"
	}
	var names []string
	for _, h := range s.holdings {
		if len(names) == shownHoldings {
			break
		}
		if r.Registry.Rules.MayNameReleased(ctx, s.pool.GetNamespace(), h.Claim, h.ReleasedAt) {
			names = append(names, fmt.Sprintf("%s (%s)", h.CIDR, h))
		}
	}
	if len(names) == 0 {
		return message
	}
	return message + ": " + strings.Join(names, ", ")
}

// overlapMessage says which block is taken, and by what if that is of the pool's own project.
func (r *reporter) overlapMessage(ctx context.Context, s *scope) string {
	message := s.overlap.Error()
	if s.says.ParentField != "" {
		message = s.says.ParentField + ": " + message
	}
	if who, words, ok := ledger.HeldFor(s.overlap); ok && r.Registry.Rules.MayNameReleased(ctx, s.pool.GetNamespace(), who.Claim, who.ReleasedAt) {
		return message + words
	}
	return message
}

// doubtsMessage tells the first of what of a pool is served but probably not meant, and how many more there are.
func (r *reporter) doubtsMessage(ctx context.Context, s *scope) string {
	doubts := slices.Concat(r.overlapDoubt(ctx, s), s.doubts)
	if r.Kind.Doubts != nil {
		doubts = slices.Concat(doubts, r.Kind.Doubts(s.pool))
	}
	shown := strings.Join(doubts[:min(len(doubts), shownMistakes)], "; ")
	if more := len(doubts) - shownMistakes; more > 0 {
		return fmt.Sprintf("%s; and %d more", shown, more)
	}
	return shown
}

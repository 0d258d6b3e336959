// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// shownHoldings is how many allocations, or finalizers, a message names.
const shownHoldings = 5

// updateStatus computes the status from what the reconciliation found out, and writes it.
func (r *reporter) updateStatus(ctx context.Context, s *scope, outcome error) error {
	status := s.pool.PoolStatus()
	status.ObservedGeneration = s.pool.GetGeneration()
	if own, ok := s.pool.(Own); ok {
		status.AddressSummary = poolspec.Summary(own.PoolSpec())
	}
	capacity, known := r.Ledger.Of(s.pool.PoolReference()).Capacity()
	switch {
	case known:
		setCapacity(status, s, capacity)
		r.closeForeign(s.pool)
	case len(s.invalid) > 0: // nobody counts any more what it has
		status.Capacity, status.UtilizationPercent, status.LargestFreePrefixLength = ipamv1.Capacity{}, nil, nil
		status.Claims, status.Children, status.Utilization = nil, nil, ""
	}
	before := conditions.Get(s.pool, ipamv1.ReadyCondition).DeepCopy() // it is changed in place
	ready := r.readyCondition(ctx, s, capacity, outcome)
	ready.ObservedGeneration = s.pool.GetGeneration()
	conditions.Set(s.pool, ready)
	setExhausted(s.pool, capacity, known && !r.Registry.isForeign(s.pool))
	conditions.Set(s.pool, claimant.PausedCondition(""))
	claimant.SetWithinPool(s.pool, r.overridden(s.pool))
	unsure := errors.Join(r.setMovable(ctx, s, capacity), r.setNetworkCurrent(ctx, s)) // the rest is known all the same
	if err := r.write(ctx, s); err != nil {
		return errors.Join(unsure, client.IgnoreNotFound(err))
	}
	r.announce(s.pool, before, ready)
	r.announceRoom(s.before, s.pool)
	if r.Registry.isForeign(s.pool) {
		unobserve(s.pool.PoolReference()) // who watches for pools that run low would be told of it
	} else {
		observe(s.pool.PoolReference(), capacity)
	}
	return unsure
}

// closeForeign takes out of the status of a pool that is at home elsewhere what it would promise here: it hands out nothing here, and how
// much of it is used is known there only.
func (r *reporter) closeForeign(p Object) {
	if !r.Registry.isForeign(p) {
		return
	}
	status := p.PoolStatus()
	status.Capacity.Available = "0"
	status.UtilizationPercent, status.LargestFreePrefixLength, status.Utilization = nil, nil, ""
}

// write stores what has changed: labels and annotations, and the whole status in one write, so that nobody sees a pool that is
// ready and has no capacity. Cluster API's patch helper would write the conditions by themselves.
func (r *reporter) write(ctx context.Context, s *scope) error {
	if !maps.Equal(s.before.GetLabels(), s.pool.GetLabels()) || !maps.Equal(s.before.GetAnnotations(), s.pool.GetAnnotations()) {
		marked, _ := s.before.DeepCopyObject().(Object)
		marked.SetLabels(s.pool.GetLabels())
		marked.SetAnnotations(s.pool.GetAnnotations())
		if err := r.Client.Patch(ctx, marked, lockedMerge(s.before)); err != nil {
			return fmt.Errorf("patching labels and annotations of %s: %w", r.Kind.Kind, err)
		}
		s.before.SetResourceVersion(marked.GetResourceVersion())
		s.pool.SetResourceVersion(marked.GetResourceVersion())
	}
	if equality.Semantic.DeepEqual(s.before.PoolStatus(), s.pool.PoolStatus()) {
		return nil
	}
	status, _ := s.before.DeepCopyObject().(Object)
	*status.PoolStatus() = *s.pool.PoolStatus()
	if err := r.Client.Status().Patch(ctx, status, lockedMerge(s.before)); err != nil {
		return fmt.Errorf("patching status of %s: %w", r.Kind.Kind, err)
	}
	return nil
}

// lockedMerge is a patch that fails if the object has changed since it was read.
func lockedMerge(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

func setCapacity(status *ipamv1.IPPoolStatus, s *scope, c ledger.Capacity) {
	status.Capacity = ipamv1.Capacity{
		Total:     c.Total.String(),
		Allocated: c.Allocated.String(),
		Available: c.Available.String(),
		Excluded:  c.Excluded.String(),
		Cooling:   c.Cooling.String(),
		Delegated: c.Delegated.String(),
	}
	status.UtilizationPercent = ptr.To(ipspace.Percent(c.Total.Sub(c.Available), c.Total))
	status.Utilization = fmt.Sprintf("%d%%", *status.UtilizationPercent)
	status.Claims, status.Children = ptr.To(c.Claims), ptr.To(c.Children)
	status.LargestFreePrefixLength = nil
	if c.LargestFree >= 0 {
		status.LargestFreePrefixLength = ptr.To(int32(c.LargestFree)) //nolint:gosec // at most 128
	}
	status.AllocatedCIDR = ""
	if c.Serving {
		status.AllocatedCIDR = s.says.CIDR
	}
}

// readyCondition says whether the pool hands out addresses, and if not, what should be done.
func (r *reporter) readyCondition(ctx context.Context, s *scope, c ledger.Capacity, outcome error) metav1.Condition {
	condition := metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse}
	switch {
	case !s.pool.GetDeletionTimestamp().IsZero():
		condition.Reason, condition.Message = ipamv1.PoolReadyDeletingReason, r.deletingMessage(ctx, s)
	case len(s.invalid) > 0:
		condition.Reason, condition.Message = ipamv1.PoolReadyInvalidSpecReason, invalidMessage(s.invalid)
	case s.overlap != nil:
		condition.Reason, condition.Message = ipamv1.PoolReadyOverlapReason, r.overlapMessage(ctx, s)
	case isParents(outcome):
		condition.Reason, condition.Message = ipamv1.PoolReadyParentNotReadyReason, parentMessage(outcome)
	case errors.Is(outcome, ledger.ErrBusy) && s.says.CIDR == "" && conditions.GetReason(s.pool, ipamv1.ReadyCondition) == ipamv1.PoolReadyParentNotReadyReason:
		// That the parent is still full is being proved. Said in between, something else would make the pool newer than the proof.
		condition.Reason, condition.Message = ipamv1.PoolReadyParentNotReadyReason, conditions.GetMessage(s.pool, ipamv1.ReadyCondition)
	case r.Registry.isForeign(s.pool):
		condition.Reason, condition.Message = ipamv1.PoolReadyHomedElsewhereReason,
			"metadata.annotations["+ipamv1.HomeAnnotation+"]: the pool is at home in another cluster: nothing new is handed out here"
	case s.says.Mode == ipamv1.DrainingMode:
		condition.Reason, condition.Message = ipamv1.PoolReadyDrainingReason, "the pool hands out nothing more"
	case outcome != nil || !c.Serving:
		condition.Reason, condition.Message = ipamv1.PoolReadyReservingReason, "the pool's blocks are being recorded"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason
	}
	return condition
}

// setExhausted says whether nothing of the pool is available; nothing of a pool of which nobody counts that.
func setExhausted(p Object, c ledger.Capacity, known bool) {
	condition := metav1.Condition{
		Type: ipamv1.ExhaustedCondition, Status: metav1.ConditionFalse, Reason: ipamv1.PoolExhaustedSomeAvailableReason,
	}
	switch {
	case !known:
		conditions.Delete(p, ipamv1.ExhaustedCondition)
		return
	case c.Available.IsZero():
		condition.Status, condition.Reason = metav1.ConditionTrue, ipamv1.PoolExhaustedNoneAvailableReason
		condition.Message = fmt.Sprintf("no address is available: of %s, %s are allocated, %s delegated, %s cooling and %s excluded; what remains is kept for claims",
			c.Total, c.Allocated, c.Delegated, c.Cooling, c.Excluded)
	}
	conditions.Set(p, condition)
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
func (r *reporter) overridden(p Object) string {
	var refused *ledger.RefusedError
	if errors.As(r.Ledger.About(ledger.ClaimOf(p.PoolReference(), string(p.GetUID()))).OutsidePolicy(), &refused) {
		return "spec.cidr: " + refused.Reason
	}
	return ""
}

// isParents says whether it is the parent that keeps a pool from its block.
func isParents(outcome error) bool {
	var refusal *claimant.Refusal
	return errors.As(outcome, &refusal) || errors.Is(outcome, ledger.ErrExhausted) || errors.Is(outcome, ledger.ErrNotReady) ||
		errors.Is(outcome, ledger.ErrRefused)
}

func parentMessage(outcome error) string {
	var refusal *claimant.Refusal
	var refused *ledger.RefusedError
	switch {
	case errors.As(outcome, &refusal):
		return refusal.Error()
	case errors.As(outcome, &refused):
		return "spec.cidr: " + refused.Reason
	case errors.Is(outcome, ledger.ErrExhausted):
		return "spec.parentRef: the parent has no free block of that length"
	default:
		return "spec.parentRef: the parent does not hand out blocks now; see its Ready condition"
	}
}

// deletingMessage counts what keeps a pool that is being deleted, and names some of what is of the pool's own project.
func (r *reporter) deletingMessage(ctx context.Context, s *scope) string {
	switch {
	case len(s.holdings) == 0 && len(s.users) > 0:
		return "waiting for finalizers: " + strings.Join(s.users[:min(len(s.users), shownHoldings)], ", ")
	case len(s.holdings) == 0:
		return "nothing is allocated from the pool"
	}
	message := fmt.Sprintf("%d allocations keep the pool", len(s.holdings))
	var names []string
	for _, h := range s.holdings {
		if len(names) == shownHoldings {
			break
		}
		if r.Registry.Rules.MayName(ctx, s.pool.GetNamespace(), h.Claim) {
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
	if who, words, ok := ledger.HeldFor(s.overlap); ok && r.Registry.Rules.MayName(ctx, s.pool.GetNamespace(), who) {
		return s.overlap.Error() + ": " + words
	}
	return s.overlap.Error()
}

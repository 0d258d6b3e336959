// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// Event reasons and actions; the reason of a refusal is that of Ready. An ordinary success is no event.
const (
	prefixAllocatedEvent = "PrefixAllocated"
	prefixKeptEvent      = "PrefixKept"

	allocateAction = "Allocate"
	keepAction     = "Keep"
)

const (
	// retryBusy is when a claim is looked at again whose record is contended, or has not come to this manager yet.
	retryBusy = 200 * time.Millisecond
	// retryTaken is when a claim asks again for a prefix that somebody else holds.
	retryTaken = 30 * time.Second
	// retryEnding is when a claim is looked at again whose namespace is being deleted, or which seems to be gone.
	retryEnding = 5 * time.Second
)

// retries are those of claims; what is exhausted or not ready the ledger tells.
var retries = claimant.Retries{Busy: retryBusy, Taken: retryTaken, Ending: retryEnding}

func settle(err error) (ctrl.Result, error) { return retries.Result(err) }

// report writes what came of the claim into its status, if that says something new, and returns the error it was given.
func (r *Reconciler) report(ctx context.Context, s *scope, outcome error) error {
	outcome = claimant.Denied(outcome, s.claim, clock.RealClock{}.Now())
	if err := r.tell(ctx, s, outcome); err != nil {
		return err
	}
	return outcome
}

// tell writes what came of the claim into its status, if that says something new. Where the outcome is still open, that is only whether the
// claim is paused.
func (r *Reconciler) tell(ctx context.Context, s *scope, outcome error) error {
	before := meta.FindStatusCondition(s.claim.Status.Conditions, ipamv1.ReadyCondition)
	after := s.claim.DeepCopy()
	ready, isKnown := readyCondition(s, outcome)
	if isKnown {
		meta.SetStatusCondition(&after.Status.Conditions, ready)
		claimant.SetWithinPool(after, r.overridden(after))
		s.unlisted = ready.Status == metav1.ConditionFalse && isBound(s.claim)
	}
	if outcome == nil {
		after.Status.AllocatedCIDR = s.allocation.CIDR.String()
		after.Status.AllocationRef = &ipamv1.AllocationReference{Name: s.allocation.Name()}
		after.Status.Network = s.network()
	}
	claimant.SetPaused(after, pausedBy(outcome))
	if equality.Semantic.DeepEqual(after.Status, s.claim.Status) {
		return nil
	}
	if err := r.patchStatus(ctx, after); err != nil {
		return err
	}
	if isKnown {
		r.announce(s.claim, before, ready)
	}
	if outcome == nil && s.claim.Status.AllocatedCIDR == "" {
		claimant.ObserveAnswer(kinds.IPClaim, s.claim, before, clock.RealClock{}.Now())
	}
	return nil
}

// reportRelease has a claim that is being deleted say why it keeps what it has, and returns when to go on with it.
func (r *Reconciler) reportRelease(ctx context.Context, claim *ipamv1.IPClaim, outcome error) error {
	kept := claimant.WhyKept(outcome, claim, clock.RealClock{}.Now())
	if kept != nil {
		outcome = kept
	}
	after := claim.DeepCopy()
	claimant.SetKept(after, kept)
	if equality.Semantic.DeepEqual(after.Status, claim.Status) {
		return outcome
	}
	if err := r.patchStatus(ctx, after); err != nil {
		return err
	}
	if kept != nil {
		r.Recorder.Eventf(claim, nil, corev1.EventTypeWarning, kept.Reason, keepAction, "%s", kept.Message)
	}
	return outcome
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
func (r *Reconciler) overridden(claim *ipamv1.IPClaim) string {
	var refused *ledger.RefusedError
	if errors.As(r.Ledger.About(entitlement.ReferenceOf(claim)).OutsidePolicy(), &refused) {
		return "spec.cidr: " + refused.Reason
	}
	return ""
}

// patchStatus writes the status of the very claim that was read: the patch names its version, because the API server does not
// look at a UID in a patch of status.
func (r *Reconciler) patchStatus(ctx context.Context, claim *ipamv1.IPClaim) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": claim.ResourceVersion}, "status": claim.Status})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	if err := r.Client.Status().Patch(ctx, claim, client.RawPatch(types.MergePatchType, body)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patching status: %w", err)
	}
	return nil
}

// network returns what comes with a single address out of the claim's pool; nil for a longer prefix.
func (s *scope) network() *ipamv1.Network {
	if s.pool == nil || s.pool.Registered.Shape == nil || !s.allocation.CIDR.IsSingleIP() {
		return nil
	}
	known := s.pool.Registered.Shape.NetworkOf(s.allocation.CIDR.Addr())
	network := &ipamv1.Network{PrefixLength: ptr.To(int32(known.Bits))} //nolint:gosec // at most 128
	if known.Gateway.IsValid() {
		network.Gateway = known.Gateway.String()
	}
	for _, server := range known.DNSServers {
		network.DNSServers = append(network.DNSServers, ipamv1.DNSServer(server.String()))
	}
	return network
}

// readyCondition says how the claim stands; false if there is nothing to tell, because the outcome is still open.
func readyCondition(s *scope, outcome error) (metav1.Condition, bool) {
	c := metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse, ObservedGeneration: s.claim.Generation}
	var refusal *claimant.Refusal
	var refused *ledger.RefusedError
	switch {
	case outcome == nil:
		c.Status, c.Reason = metav1.ConditionTrue, ipamv1.ClaimReadyAllocatedReason
	case errors.As(outcome, &refusal) && refusal.Reason == "":
		return c, false
	case errors.As(outcome, &refusal):
		c.Reason, c.Message = refusal.Reason, refusal.Error()
	case errors.Is(outcome, ledger.ErrExhausted):
		c.Reason, c.Message = ipamv1.ClaimReadyPoolExhaustedReason, "the pool has nothing of that length available"
	case errors.Is(outcome, ledger.ErrNotReady):
		c.Reason, c.Message = ipamv1.ClaimReadyPoolNotReadyReason, "the pool does not hand out prefixes now; see its Ready condition"
	case errors.Is(outcome, ledger.ErrTaken):
		c.Reason, c.Message = ipamv1.ClaimReadyAddressConflictReason, "spec.cidr: conflicts with another allocation; neither is renumbered"
	case errors.As(outcome, &refused):
		c.Reason, c.Message = ipamv1.ClaimReadyAllocationFailedReason, "spec.cidr: "+refused.Reason
	default:
		return c, false
	}
	c.Message = excerpt.Message(c.Message)
	return c, true
}

// announce tells of a refusal, in the audit trail, too, and of the recovery from one.
func (r *Reconciler) announce(claim *ipamv1.IPClaim, before *metav1.Condition, after metav1.Condition) {
	switch {
	case after.Status == metav1.ConditionFalse && (before == nil || before.Reason != after.Reason || before.Message != after.Message):
		if after.Reason == ipamv1.ClaimReadyPoolExhaustedReason {
			claimant.CountExhausted(chosenPool(claim))
		}
		audit.Refused(audit.Entry{Prefix: asked(claim), Pool: chosenPool(claim), Claim: entitlement.ReferenceOf(claim), Reason: after.Reason}, after.Message)
		r.Recorder.Eventf(claim, nil, corev1.EventTypeWarning, after.Reason, allocateAction, "%s", after.Message)
	case after.Status == metav1.ConditionTrue && before != nil && before.Status == metav1.ConditionFalse:
		r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, prefixAllocatedEvent, allocateAction, "The claim has its prefix now")
	}
}

// asked is the prefix that the claim says; the zero value if none.
func asked(claim *ipamv1.IPClaim) netip.Prefix {
	prefix, _ := netip.ParsePrefix(claim.Spec.CIDR) // invalid only where it is empty, by the schema
	return prefix
}

// chosenPool is the pool that the claim names, or one of the selector's kind that has no name yet.
func chosenPool(claim *ipamv1.IPClaim) ipamv1.PoolReference {
	switch {
	case claim.Spec.PoolRef != nil:
		return entitlement.PoolOf(claim, claim.Spec.PoolRef.Kind, claim.Spec.PoolRef.Name)
	case claim.Spec.PoolSelector != nil:
		return entitlement.PoolOf(claim, claim.Spec.PoolSelector.Kind, "")
	}
	return ipamv1.PoolReference{}
}

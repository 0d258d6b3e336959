// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// aliasFor returns the claim's other name, for its record. While that is not known, nothing is chosen for the claim: it would be something
// else than what the pool keeps for it. What it arrived with is recorded all the same, without it or with that of an earlier record of just
// that; what it lacks then is that its release need not cool down.
func (r *records) aliasFor(ctx context.Context, s *scope, want netip.Prefix, purpose ledger.Purpose) (string, error) {
	if r.Alias == nil {
		return "", nil
	}
	alias, err := r.Alias(ctx, s.claim.Stored, s.offer)
	if alias != "" || err == nil && purpose == ledger.ForClaim {
		return alias, err
	}
	recorded := r.observer.about(s).Recorded()
	i := slices.IndexFunc(recorded, func(h ledger.Holding) bool {
		isIts := h.Claim.UID == s.ref.UID || purpose == ledger.ForAdopted && h.CIDR == want
		return isIts && h.Alias != "" && h.Pool == s.offer.Pool
	})
	switch {
	case i >= 0:
		return recorded[i].Alias, nil
	case purpose == ledger.ForAdopted:
		return "", nil
	}
	return "", err
}

// isNameless says whether the claim got nothing because its other name is not known yet.
func isNameless(outcome error) bool {
	var refusal *claimant.Refusal
	return errors.As(outcome, &refusal) && refusal.Reason == ipamv1.ClaimReadyWaitingForHostReason
}

// retryNameless is when such a claim is looked at again, which no watch tells: soon while it is young, every minute or two in the end.
func (r *reporter) retryNameless(s *scope) time.Duration {
	age := r.Clock.Since(s.claim.GetCreationTimestamp().Time)
	return min(max(age/2, retryBusy), retryWaiting)
}

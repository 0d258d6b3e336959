// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// A claim that lives may have a second floating IP: two managers created one each, or a creation was executed late. The one that it was not
// told is released as soon as a comparison finds it:
//
//	list, records, live read, list, records -> live reads of claim, answer and Cluster -> pool read live -> released as it was judged -> a look
//
// Until the claim has its answer the second one stays: a manager that hangs before its record could still answer with it.
//
// The look shows what has become of it: deleted, free, or as Weir found it. So it is reported although the reply was lost. A release
// that is executed after the look is reported by the next comparison, as long as this process lives.

// releaseSurplus releases what claims have beside their own. It returns what stays for now, and what may be released without a report.
// Unreported is that of the comparison before.
func (r *Reconciler) releaseSurplus(
	ctx context.Context, s *scope, pool external.Pool, found []external.Surplus, unreported []external.Leftover,
) (kept []external.Surplus, left []external.Leftover, _ error) {
	asked, failed := slices.Clone(unreported), map[string]error{}
	for _, one := range found {
		isAsked, err := r.releaseOne(ctx, s, one)
		if failed[one.ID] = err; isAsked && !slices.Contains(asked, one.Leftover) {
			asked = append(asked, one.Leftover)
		}
	}
	if len(asked) == 0 {
		return found, nil, errors.Join(slices.Collect(maps.Values(failed))...)
	}
	outcomes, err := r.Registry.External.Outcomes(ctx, pool, asked)
	errs := []error{err}
	for _, one := range found {
		if !outcomes[one.ID].IsReleased() {
			kept, errs = append(kept, one), append(errs, failed[one.ID])
		}
	}
	for _, one := range asked {
		isFound := func(other external.Surplus) bool { return other.ID == one.ID }
		switch outcome := outcomes[one.ID]; {
		case outcome.IsReleased():
			r.reportSurplus(ctx, s, one, outcome)
		case err != nil, slices.ContainsFunc(found, isFound):
			left = append(left, one)
		}
	}
	return kept, left, errors.Join(errs...)
}

// releaseOne releases one of them, and reports whether the cloud was asked to: then it may be released whatever the error.
func (r *Reconciler) releaseOne(ctx context.Context, s *scope, one external.Surplus) (isAsked bool, _ error) {
	if one.Use != "" || one.IsAltered {
		return false, nil
	}
	proved, err := r.proveSurplus(ctx, s, one)
	if err != nil || !proved.IsProved() {
		return false, err
	}
	isAsked, err = r.exit().GiveBackSurplus(ctx, proved)
	var kept *claimant.KeptError
	var abandoned *claimant.AbandonedError
	switch {
	case errors.As(err, &kept), errors.As(err, &abandoned):
		return false, nil
	case err != nil:
		return isAsked, fmt.Errorf("releasing floating IP %s, which its claim was not told: %w", one.Address, err)
	}
	return isAsked, nil
}

// outcomeWords say what has become of a floating IP.
var outcomeWords = map[external.Outcome]string{
	external.Deleted:  "was deleted",
	external.Freed:    "was released, and is free in the pool",
	external.Returned: "was released, and is as it was before Weir took it",
}

// reportSurplus records in the audit trail, and as an event on the claim, that its second floating IP was released.
func (r *reporter) reportSurplus(ctx context.Context, s *scope, one external.Leftover, outcome external.Outcome) {
	audit.ReleasedOutside(audit.Entry{
		Prefix: netip.PrefixFrom(one.Address, one.Address.BitLen()), AddressSpace: s.says.Space, Pool: s.says.Ref, Claim: one.Claim, Reason: audit.Surplus,
	}, one.ID)
	r.recordEvent(ctx, one.Claim, corev1.EventTypeNormal, ipamv1.FloatingIPReleasedReason, "Release",
		fmt.Sprintf("floating IP %s (%s) %s: the claim has another one, and was not told this one", one.Address, one.ID, outcomeWords[outcome]))
}

// proveSurplus reads a claim and its answer live.
func (r *Reconciler) proveSurplus(ctx context.Context, s *scope, one external.Surplus) (claimant.Surplus, error) {
	door, _, isOpen := r.doorOf(ctx, one.Claim)
	if !isOpen {
		return claimant.Surplus{}, nil
	}
	recorded := r.Ledger.RecordsOf(one.Claim)
	seen := r.exit().Observe(recorded)
	answer, err := door.Answer(ctx, seen, types.NamespacedName{Namespace: one.Claim.Namespace, Name: one.Claim.Name}, s.says.Ref)
	i := slices.IndexFunc(recorded, func(h ledger.Holding) bool {
		return h.CIDR == netip.PrefixFrom(answer.Address, answer.Address.BitLen())
	})
	switch {
	case err != nil:
		return claimant.Surplus{}, fmt.Errorf("reading claim %s/%s and its answer: %w", one.Claim.Namespace, one.Claim.Name, err)
	case i < 0:
		return claimant.Surplus{}, nil
	}
	return seen.Surplus(ctx, recorded[i], answer, one.Address)
}

// surplusNames returns what names a floating IP that a claim has beside its own, and why it stays.
func (r *reporter) surplusNames(ctx context.Context, s *scope) func(external.Surplus) string {
	return func(one external.Surplus) string {
		why := ""
		switch {
		case one.Use != "":
			why = ", " + one.Use
		case one.IsAltered:
			why = ", with a changed description"
		}
		return fmt.Sprintf("%s (%s, of %s%s)", one.Address, one.ID, r.claimName(ctx, s, one.Claim), why)
	}
}

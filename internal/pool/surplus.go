// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
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
//	list, records, live read, list, records -> live reads of claim, answer and Cluster -> pool read live -> released as it was judged
//
// Until the claim has its answer the second one stays: a manager that hangs before its record could still answer with it.

// releaseSurplus releases what claims have beside their own, and returns what stays for now.
func (r *Reconciler) releaseSurplus(ctx context.Context, s *scope, all []external.Surplus) (kept []external.Surplus, _ error) {
	errs := make([]error, 0, len(all))
	for _, one := range all {
		gone, err := r.releaseOne(ctx, s, one)
		if !gone {
			kept = append(kept, one)
		}
		errs = append(errs, err)
	}
	return kept, errors.Join(errs...)
}

// releaseOne releases one of them, and reports whether it has gone.
func (r *Reconciler) releaseOne(ctx context.Context, s *scope, one external.Surplus) (gone bool, _ error) {
	if one.Port != "" || one.IsAltered {
		return false, nil
	}
	proved, err := r.proveSurplus(ctx, s, one)
	if err != nil || !proved.IsProved() {
		return false, err
	}
	err = r.exit().GiveBackSurplus(ctx, proved)
	var kept *claimant.KeptError
	var abandoned *claimant.AbandonedError
	switch {
	case errors.As(err, &kept), errors.As(err, &abandoned):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("releasing floating IP %s, which its claim was not told: %w", one.Address, err)
	}
	r.reportSurplus(ctx, s, one)
	return true, nil
}

// reportSurplus records in the audit trail, and as an event on the claim, that its second floating IP was released.
func (r *reporter) reportSurplus(ctx context.Context, s *scope, one external.Surplus) {
	audit.ReleasedOutside(audit.Entry{
		Prefix: netip.PrefixFrom(one.Address, one.Address.BitLen()), AddressSpace: s.says.Space, Pool: s.says.Ref, Claim: one.Claim, Reason: audit.Surplus,
	}, one.ID)
	r.recordEvent(ctx, one.Claim, corev1.EventTypeNormal, ipamv1.FloatingIPReleasedReason, "Release",
		fmt.Sprintf("floating IP %s (%s) was released: the claim has another one, and was not told this one", one.Address, one.ID))
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
		case one.Port != "":
			why = ", bound to port " + one.Port
		case one.IsAltered:
			why = ", with a changed description"
		}
		return fmt.Sprintf("%s (%s, of %s%s)", one.Address, one.ID, r.claimName(ctx, s, one.Claim), why)
	}
}

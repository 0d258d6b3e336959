// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// A dry run warns of what another stored object stands in the way of: that object may be in the same manifest, and
// stored otherwise by then. kubectl diff, Flux and Argo CD send one object after the other and store none of them. A
// create is refused.

// byOthers returns the warning for a refusal of a dry run that nothing but other objects, as they are stored, are the
// reason for: a pool that is not there, has no room or does not give that prefix, or who holds it. It returns "" if the
// refusal stands.
func byOthers(req admission.Request, c ledger.Claim, err error) string {
	if req.Operation != admissionv1.Create || !ptr.Deref(req.DryRun, false) {
		return ""
	}
	var refusal *claimant.Refusal
	isMissing := errors.As(err, &refusal) && (refusal.Cause == claimant.Missing || refusal.Cause == claimant.NoMatch)
	switch {
	case isMissing, apierrors.IsNotFound(err):
		return statusFor(c, err).Error() + "; a create is refused until there is one"
	case errors.Is(err, ledger.ErrTaken), errors.Is(err, ledger.ErrExhausted), errors.Is(err, ledger.ErrRefused):
		return statusFor(c, err).Error() + asLong
	}
	return ""
}

// asLong ends a warning of what others stand in the way of.
const asLong = "; it is refused for as long as that is so"

// standing returns the errors about other objects that refuse a request, and the warnings of a dry run instead.
func standing(ctx context.Context, errs field.ErrorList) (field.ErrorList, admission.Warnings) {
	req, err := admission.RequestFromContext(ctx)
	if err != nil || !ptr.Deref(req.DryRun, false) {
		return errs, nil
	}
	var warnings admission.Warnings
	for _, e := range errs {
		warnings = append(warnings, e.Error()+asLong)
	}
	return nil, warnings
}

// isUncarved says whether a dry run shows a pool that has got no block, because it is early.
func (c carver) isUncarved(ctx context.Context, created ownPool) bool {
	req, err := admission.RequestFromContext(ctx)
	return err == nil && ptr.Deref(req.DryRun, false) && c.carves(created) && created.PoolSpec().CIDR == ""
}

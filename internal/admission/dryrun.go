// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
)

// isEarly says whether a dry run would be refused for nothing but a pool that is not there. That may be in the same manifest: kubectl diff
// and --dry-run=server send one object after the other and store none of them. A create is refused.
func isEarly(req admission.Request, refusal error) bool {
	var claim *claimant.Refusal
	return req.Operation == admissionv1.Create && ptr.Deref(req.DryRun, false) &&
		(apierrors.IsNotFound(refusal) || errors.As(refusal, &claim) && (claim.Cause == claimant.Missing || claim.Cause == claimant.NoMatch))
}

// warned admits what is early, and says what a create would be told. Nothing is chosen for it.
func warned(refusal error) admission.Response {
	return admission.Allowed("").WithWarnings(refusal.Error() + "; a create is refused until there is one")
}

// isUncarved says whether a dry run shows a pool that has got no block, because it is early.
func (c carver) isUncarved(ctx context.Context, created ownPool) bool {
	req, err := admission.RequestFromContext(ctx)
	return err == nil && ptr.Deref(req.DryRun, false) && c.carves(created) && created.PoolSpec().CIDR == ""
}

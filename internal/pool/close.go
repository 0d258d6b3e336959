// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
)

// A pool of floating IPs that is being deleted has no records any more, and may have floating IPs all the same: what is free in it, and what
// a claim has whose record is not stored yet. The claim is released by the pool, so the pool waits for it:
//
//	nothing recorded, proved -> pool read live -> list of the cloud -> live reads of claims -> free ones deleted -> the pool's finalizer

// retryAwaited is when a pool is looked at again that waits for claims without a record: no watch tells.
const retryAwaited = retryOverlap

// closeOutside ends what a deleted pool has in its cloud, and says what stays there; "" for nothing. It errs with a *claimant.KeptError
// while the pool must not go.
func (r *Reconciler) closeOutside(ctx context.Context, s *scope, deleted claimant.Deleted) (left string, err error) {
	if _, isKnown := s.pool.GetAnnotations()[ipamv1.OpenStackAnnotation]; !s.says.External || !isKnown {
		return "", nil // nothing was made before that was written
	}
	known := external.Known{Life: r.lifeAtEnd(s)}
	remains, err := r.exit().ClosePool(ctx, r.claimOf(s.pool), deleted, known)
	var abandoned *claimant.AbandonedError
	switch {
	case errors.As(err, &abandoned):
		return "what the pool may have in its cloud stays there: " + abandoned.Message, nil
	case err != nil:
		return "", err
	case len(remains.Awaited) > 0:
		return "", &claimant.KeptError{
			Reason: ipamv1.WaitingForCloudReason, After: retryAwaited,
			Message: some("waiting for claims that have a floating IP: ", remains.Awaited, r.leftoverNames(ctx, s)),
		}
	}
	for _, l := range remains.Left {
		ctrl.LoggerFrom(ctx).Info("A floating IP of a deleted pool stays in its cloud", "floatingIP", l.Address, "id", l.ID, "namespace", l.Claim.Namespace, "claim", l.Claim.Name)
	}
	return some("these floating IPs stay in the cloud: ", remains.Left, r.leftoverNames(ctx, s)), nil
}

// lifeAtEnd reads claims for a pool that ends. A manager that serves one namespace cannot read all claims of a GlobalIPPool: none of them
// counts as one that is here. Before the kinds of claims are followed, nobody knows.
func (r *Reconciler) lifeAtEnd(s *scope) func(context.Context, ipamv1.ClaimReference, bool) (external.Life, error) {
	return func(ctx context.Context, claim ipamv1.ClaimReference, isCut bool) (external.Life, error) {
		switch {
		case r.knowsAllClaims(s):
			return r.lifeOf(ctx, claim, isCut)
		case r.remains.IsComplete():
			return external.NotHere, nil
		}
		return "", &claimant.KeptError{
			Reason: ipamv1.WaitingForCloudReason, After: retryAwaited,
			Message: "floating IPs name claims, and Cluster API's kinds are not served, or not followed yet",
		}
	}
}

// announceLeft records an event for what a pool that has gone leaves in its cloud.
func (r *reporter) announceLeft(s *scope, left string) {
	if s.released && left != "" {
		r.Recorder.Eventf(s.pool, nil, corev1.EventTypeWarning, ipamv1.FloatingIPsLeftReason, "Release", "%s", left)
	}
}

// leftoverNames returns what names a floating IP that no record holds. A claim of another project is not named.
func (r *reporter) leftoverNames(ctx context.Context, s *scope) func(external.Leftover) string {
	return func(l external.Leftover) string {
		if l.Claim.UID == "" {
			return fmt.Sprintf("%s (%s, free)", l.Address, l.ID)
		}
		return fmt.Sprintf("%s (%s, of %s)", l.Address, l.ID, r.claimName(ctx, s, l.Claim))
	}
}

// claimName names a claim that the pool's readers may know of.
func (r *reporter) claimName(ctx context.Context, s *scope, claim ipamv1.ClaimReference) string {
	if !r.Registry.Rules.MayName(ctx, s.pool.GetNamespace(), claim) {
		return "a claim"
	}
	return claim.Namespace + "/" + claim.Name
}

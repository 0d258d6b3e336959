// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// retry is when to try again what nothing tells about.
const retry = 30 * time.Second

// told is what claims are told of a failure. They may be of another project than the pool: the
// server's own words are in the log only. What is not here is to be tried again at once: a change
// that may have been executed (Uncertain), or that found something else than was seen (Changed).
var told = map[neutron.Kind]string{
	neutron.Unauthorized: "the cloud refuses the log-in",
	neutron.Forbidden:    "the cloud forbids what is asked of it",
	neutron.NotFound:     "the cloud has no such network or subnet",
	neutron.Conflict:     "the cloud refuses the change",
	neutron.Quota:        "the cloud's quota of floating IPs is used up",
	neutron.NoAddress:    "the network has no free address",
	neutron.Invalid:      "the cloud cannot be called as the pool wants it",
	neutron.Busy:         "the cloud wants fewer calls",
	neutron.Unavailable:  "the cloud does not answer as it should",
}

const (
	toldOfSecret = "its credentials cannot be used"
	seePool      = "; see the pool"
)

// asRefusal turns what went wrong for a claim into an error that may leave the provider.
func asRefusal(ctx context.Context, pool external.Pool, err error) error {
	var refusal *claimant.Refusal
	if err == nil || errors.As(err, &refusal) {
		return err
	}
	words, isKnown := explain(ctx, pool, err)
	if !isKnown {
		return busy(pool)
	}
	if kind := neutron.KindOf(err); kind == neutron.Quota || kind == neutron.NoAddress {
		return &claimant.Refusal{Reason: ipamv1.ClaimReadyPoolExhaustedReason, Message: about(pool, words), After: retryAfter(err)}
	}
	return &claimant.Refusal{Reason: ipamv1.ClaimReadyPoolNotReadyReason, Message: about(pool, words+seePool), After: retryAfter(err)}
}

// asKept turns what went wrong for a release into an error that may leave the provider.
func asKept(ctx context.Context, pool external.Pool, err error) error {
	var kept *claimant.KeptError
	var abandoned *claimant.AbandonedError
	if err == nil || errors.As(err, &kept) || errors.As(err, &abandoned) {
		return err
	}
	words, isKnown := explain(ctx, pool, err)
	if !isKnown {
		return busy(pool)
	}
	if neutron.KindOf(err) == neutron.NotFound { // by proveNetwork: what has gone itself is no error of a release
		words = fmt.Sprintf("the cloud has no external network %s, where the pool's floating IPs are: correct the cloud and the region that "+
			"spec.openStack.identityRef and its Secret name; if the network was deleted, delete the Secret and then the pool", pool.Network)
	}
	reason := ipamv1.WaitingForCloudReason
	var secret *secretError
	if errors.As(err, &secret) && secret.isMissing {
		reason = ipamv1.WaitingForSecretReason
	}
	return &claimant.KeptError{Reason: reason, Message: about(pool, words+seePool), After: retryAfter(err)}
}

// asFault turns what went wrong for a pool into an error that may leave the provider. The pool names
// the credentials, so it is told the server's words.
func asFault(ctx context.Context, pool external.Pool, err error) error {
	if err == nil {
		return nil
	}
	if _, isKnown := explain(ctx, pool, err); !isKnown {
		return busy(pool)
	}
	return &external.FaultError{Reason: faultReason(err), Message: "spec.openStack: " + err.Error(), After: retryAfter(err)}
}

// faultReason is the reason of the pool's Ready condition.
func faultReason(err error) string {
	var secret *secretError
	if errors.As(err, &secret) {
		return ipamv1.PoolReadyAuthenticationFailedReason
	}
	switch kind := neutron.KindOf(err); {
	case kind == neutron.Unauthorized, kind == neutron.Forbidden:
		return ipamv1.PoolReadyAuthenticationFailedReason
	case kind == neutron.NotFound, neutron.IsAmbiguous(err):
		return ipamv1.PoolReadyNetworkNotFoundReason
	default:
		return ipamv1.PoolReadyCloudUnavailableReason
	}
}

// explain logs an error and returns what claims are told of it; false if it is only to be tried
// again.
func explain(ctx context.Context, pool external.Pool, err error) (words string, isKnown bool) {
	if ctx.Err() != nil || errors.Is(err, ledger.ErrBusy) {
		return "", false
	}
	ctrl.LoggerFrom(ctx).Info("Calling OpenStack failed", "pool", pool.Ref, "reason", err.Error())
	var secret *secretError
	if errors.As(err, &secret) {
		return toldOfSecret, true
	}
	words, isKnown = told[neutron.KindOf(err)]
	return words, isKnown
}

// busy is for what the next call finds out: whether a change was executed, for instance.
func busy(pool external.Pool) error {
	return fmt.Errorf("%s: %w", about(pool, "the cloud is to be asked again"), ledger.ErrBusy)
}

func about(pool external.Pool, words string) string {
	return fmt.Sprintf("%s %q: %s", pool.Ref.Kind, pool.Ref.Name, words)
}

// retryAfter is when to try again: not before the cloud wants it.
func retryAfter(err error) time.Duration {
	var fault *neutron.Error
	if errors.As(err, &fault) {
		return max(retry, fault.RetryAfter)
	}
	return retry
}

// fresh is for how long a new client would find what one of that age has found: the endpoint, and what
// the cloud supports.
const fresh = time.Minute

// mayBeOutdated reports whether an error may come from what a client of some age found when it logged
// in. A log-in of its own that failed is one that the others are to hear of.
func mayBeOutdated(err error, age time.Duration) bool {
	switch neutron.KindOf(err) {
	case neutron.Unauthorized:
		return true
	case neutron.Invalid, neutron.Unavailable:
		return age >= fresh || neutron.IsLogIn(err)
	default:
		return neutron.IsLogIn(err)
	}
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Explain says what the controller would do about a claim now: it asks the controller's own questions, in their order, and writes nothing.
// The ledger may be an offline one, which need not have all. An error is one of the API server's other than that something is forbidden, a
// NotFound where there is no such claim.
func (r *Reconciler) Explain(ctx context.Context, key types.NamespacedName, unread claimant.Unread) (*explanation.Explanation, error) {
	claim := &ipamv1.IPClaim{}
	if err := r.Client.Get(ctx, key, claim); err != nil {
		return nil, fmt.Errorf("getting IPClaim: %w", err)
	}
	w := &walk{Reconciler: r, scope: &scope{claim: claim}, Walk: claimant.Walk{Unread: unread, Open: []error{errOpen}}}
	for _, q := range []claimant.Question{
		{ID: explanation.Served, Ask: w.served, IsVital: true},
		{ID: explanation.Unhalted, Ask: w.unhalted},
		{ID: explanation.Living, Ask: w.living},
		{ID: explanation.Offered, Ask: w.offered, IsVital: true, IsOfRecords: true},
		{ID: explanation.Free, Ask: w.free, IsVital: true, IsOfRecords: true},
	} {
		if err := w.Ask(ctx, q); err != nil {
			return nil, err
		}
	}
	if w.IsSure() {
		if ready, ok := readyCondition(w.scope, w.Outcome); ok {
			w.Explained.Ready = &ready
		}
	}
	return &w.Explained, nil
}

// walk is one claim on its way through the questions.
type walk struct {
	*Reconciler
	*scope
	claimant.Walk

	// asks is what the ledger would be asked for.
	asks ledger.Claim
}

// served asks whether the claim is this manager's.
func (w *walk) served(context.Context) (string, error) {
	switch {
	case !predicates.IsWatched(w.claim, w.WatchFilter):
		return "the label cluster.x-k8s.io/watch-filter is not the manager's " + w.WatchFilter, errOpen
	case w.Namespace != "" && w.claim.Namespace != w.Namespace:
		return "the manager serves namespace " + w.Namespace + " alone", errOpen
	}
	return "", nil
}

// unhalted asks whether the claim's Cluster is there, and neither is paused.
func (w *walk) unhalted(ctx context.Context) (string, error) {
	why, err := w.halted(ctx, w.claim)
	if why != nil || err != nil {
		return "", errors.Join(why, err)
	}
	if name := claimant.ClusterName(w.claim); name != "" {
		return "Cluster " + name, nil
	}
	return "of no Cluster", nil
}

// living asks whether the claim is being deleted.
func (w *walk) living(context.Context) (string, error) {
	if w.claim.DeletionTimestamp.IsZero() {
		return "", nil
	}
	return "it is being deleted", errOpen
}

// offered asks which pool answers the claim, and with what.
func (w *walk) offered(ctx context.Context) (string, error) {
	request, err := w.request(ctx, w.scope)
	if err != nil {
		return "", err
	}
	w.asks = request
	what := fmt.Sprintf("any /%d", request.Bits)
	if request.Want.IsValid() {
		what = request.Want.String()
	}
	return fmt.Sprintf("%s of %s %s", what, request.Pool.Kind, request.Pool.Name), nil
}

// free asks whether the claim can have that, or has it.
func (w *walk) free(context.Context) (string, error) {
	known := w.Ledger.About(entitlement.ReferenceOf(w.claim))
	if want := w.asks.Want; want.IsValid() && known.Holds(want.Addr()) {
		return want.String() + " is recorded for it", known.Disputed(want.Addr())
	}
	if _, isBegun := w.begun(w.claim); isBegun {
		return "its prefix is recorded, and is to be written into it", errOpen
	}
	cidr, err := w.Ledger.Preview(w.asks)
	switch {
	case err != nil:
		return "", err
	case w.Unread.Others != nil:
		return "", w.Unread.Others
	}
	return cidr.String() + " is free", nil
}

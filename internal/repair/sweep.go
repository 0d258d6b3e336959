// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// longest is the longest time between two sweeps. A claim that dies without Weir keeps its address for so long at most, and a
// little more.
const longest = time.Minute

var mismatches = metrics.Counter("repair", "mismatches_total", "Relations of claim, record and answer that were found wrong.", "kind")

// What is found wrong.
const (
	secondRecord   = "second record"
	orphanedRecord = "orphaned record"
	orphanedAnswer = "orphaned answer"
)

func init() { // a counter that began with its first finding would show no growth
	for _, kind := range []string{secondRecord, orphanedRecord, orphanedAnswer} {
		mismatches.WithLabelValues(kind)
	}
}

// Kind is one kind of object that records are held for.
type Kind struct {
	schema.GroupKind
	// Living returns the UIDs of all such objects, as far as the cache knows.
	Living func(ctx context.Context) (map[types.NamespacedName]types.UID, error)
	// Answers returns the names under which there is an answer; nil where the object is its own.
	Answers func(ctx context.Context) ([]types.NamespacedName, error)
	// Settle cleans up under one name, whether such an object exists or not.
	Settle func(ctx context.Context, key types.NamespacedName) error
}

// Repairer sweeps one kind on the leader.
type Repairer struct {
	Ledger *ledger.Ledger
	Kind   Kind
	// Namespace is the only one that is served; empty means all are.
	Namespace string
	// Grace is how long a record may wait for its object to be stored. There is a sweep at least as often.
	Grace time.Duration
}

// Start sweeps until ctx ends.
func (r *Repairer) Start(ctx context.Context) error {
	if err := r.Ledger.WaitForSync(ctx); err != nil {
		return nil //nolint:nilerr // the manager stops
	}
	for {
		if err := r.Sweep(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).WithName("repair").Error(err, "Sweeping", "kind", r.Kind.Kind)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(r.pause()):
		}
	}
}

// pause returns how long to wait for the next sweep: not longer than until the first record is overdue whose object was never stored.
func (r *Repairer) pause() time.Duration {
	pause := min(longest, r.Grace)
	if overdue, ok := r.Ledger.NextOverdue(); ok {
		pause = min(pause, max(overdue, pause/12)) // many that come one after the other are swept together
	}
	return pause
}

// NeedLeaderElection is true: one sweep a cluster is enough, and any number is safe.
func (r *Repairer) NeedLeaderElection() bool { return true }

// Sweep has every suspect settled once. A claim that lives and has a second record tidies up itself.
func (r *Repairer) Sweep(ctx context.Context) error {
	holdings := r.Ledger.All()
	for _, claim := range r.repeated(holdings) {
		mismatches.WithLabelValues(secondRecord).Inc()
		r.Ledger.Notices().Concern(claim)
	}
	suspects, err := r.suspects(ctx, holdings)
	if err != nil {
		return err
	}
	for key, kind := range suspects {
		mismatches.WithLabelValues(kind).Inc()
		if err := r.Kind.Settle(ctx, key); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Settling", "kind", r.Kind.Kind, "name", key)
		}
	}
	return nil
}

// suspects are the names under which there is a record or an answer, and, as far as the cache knows, no object of that UID.
func (r *Repairer) suspects(ctx context.Context, holdings []ledger.Holding) (map[types.NamespacedName]string, error) {
	answers, err := r.answers(ctx)
	if err != nil {
		return nil, err
	}
	living, err := r.Kind.Living(ctx)
	if err != nil {
		return nil, err
	}
	found := map[types.NamespacedName]string{}
	for _, key := range answers {
		if _, ok := living[key]; !ok {
			found[key] = orphanedAnswer
		}
	}
	for _, h := range holdings {
		key := types.NamespacedName{Namespace: h.Claim.Namespace, Name: h.Claim.Name}
		isBlock := h.IsWithMember() && h.Confirmed
		if isHeld := h.Purpose == ledger.ForMoved || h.Purpose.IsHandBack() || isBlock; isHeld && !h.Terminating {
			continue // until its claim is back, its member has let go, it is delegated here again, or a user deletes it
		}
		if h.ReleasedAt.IsZero() && predicates.IsServed(key.Namespace, r.Namespace) && h.Claim.GroupKind() == r.Kind.GroupKind && string(living[key]) != h.Claim.UID {
			found[key] = orphanedRecord
		}
	}
	return found, nil
}

// repeated are the claims of the kind that have two records, and the pools that have two of one prefix.
// The second record may come when nobody looks at the claim any more, or may have had to stay when
// somebody did: what backs it could not be given back.
func (r *Repairer) repeated(holdings []ledger.Holding) []ipamv1.ClaimReference {
	type held struct {
		uid  string
		cidr netip.Prefix
	}
	var found []ipamv1.ClaimReference
	recorded := make(map[held]bool, len(holdings))
	for _, h := range holdings {
		isServed := h.Claim.GroupKind() == r.Kind.GroupKind && predicates.IsServed(h.Claim.Namespace, r.Namespace)
		if !isServed || !h.ReleasedAt.IsZero() || h.Purpose == ledger.ForMoved || h.Purpose.IsHandBack() {
			continue
		}
		this := held{uid: h.Claim.UID}
		if h.Purpose == ledger.ForChildPool || h.Purpose == ledger.ForRoot { // a pool has several blocks
			this.cidr = h.CIDR
		}
		if recorded[this] {
			found = append(found, h.Claim)
		}
		recorded[this] = true
	}
	return found
}

func (r *Repairer) answers(ctx context.Context) ([]types.NamespacedName, error) {
	if r.Kind.Answers == nil {
		return nil, nil
	}
	return r.Kind.Answers(ctx)
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
)

// lateCommit is from which age on what the cache has shown of the claims is so old that one may have been deleted since: then a claim is
// looked at once more before it is answered. Economy only: an answer that comes when its claim has gone is in the way of the next claim of
// the name.
const lateCommit = 2 * time.Second

// shown is the moment up to which the cache surely shows what became of the claims. A watch shows the changes of a kind in their order: once
// it has shown that a claim was made or answered at some moment, it has shown every deletion before. A cache that is cut off shows nothing,
// and the moment stays where it was.
type shown struct {
	Clock clock.PassiveClock
	// until is that moment in nanoseconds.
	until atomic.Int64
}

// note takes in a claim that the watch has just shown. A moment that has not come yet is another clock's and says nothing.
func (s *shown) note(claim *door.Claim) {
	moment := momentOf(claim)
	if moment.After(s.Clock.Now()) {
		return
	}
	for nano := moment.UnixNano(); ; {
		if until := s.until.Load(); nano <= until || s.until.CompareAndSwap(until, nano) {
			return
		}
	}
}

// moment is the one noted last.
func (s *shown) moment() time.Time { return time.Unix(0, s.until.Load()) }

// momentOf returns a moment that is not later than this version of the claim: that of its creation, or of its answer.
func momentOf(claim *door.Claim) time.Time {
	created := claim.GetCreationTimestamp().Time
	if ready := conditions.Get(claim.Stored, ipamv1.ReadyCondition); ready != nil {
		return latest(created, ready.LastTransitionTime.Time)
	}
	return created
}

// wasThere returns a moment at which a claim was surely there that the cache has when work on it begins. Shown is the moment before the claim
// was read. An API server whose clock is ahead makes it no later.
func wasThere(shown time.Time, claim *door.Claim, began time.Time) time.Time {
	if moment := latest(shown, claim.GetCreationTimestamp().Time); moment.Before(began) {
		return moment
	}
	return began
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// noting returns a handler that notes every claim that the watch shows, and enqueues nothing. No predicate may keep events from it.
func (r *Reconciler) noting() handler.EventHandler {
	note := func(obj client.Object) {
		if claim, ok := r.isClaim(obj); ok {
			r.observer.shown.note(claim)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			note(e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			note(e.ObjectNew)
		},
	}
}

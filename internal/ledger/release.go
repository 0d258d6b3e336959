// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Void drops an allocation whose claim was answered otherwise.
func (l *writer) Void(ctx context.Context, a Allocation) error {
	if h, ok := ask2(l.feed, (*book.Book).Current, a.record); ok {
		return l.deleteAndReport(ctx, h, audit.Void)
	}
	return l.delete(ctx, a.record)
}

// Drop drops one record, if it has not changed since it was read. The caller has proved that nobody
// was told of it, or that its claim is gone and its cooldown over.
func (l *writer) Drop(ctx context.Context, h Holding) error {
	if h.Purpose == records.ForRoot {
		return l.deleteAndReport(ctx, h, audit.Gone)
	}
	return l.deleteAndReport(ctx, h, audit.Void)
}

// Release lets go of all records of the claim of this UID. The caller has proved by a live read,
// begun after the book showed the records, that the claim is gone or is being deleted with nobody
// else holding it, and has removed its answer. A hold stays.
func (l *writer) Release(ctx context.Context, claim ipamv1.ClaimReference) error {
	var errs []error
	for _, r := range ask(l.feed, (*book.Book).RecordsFor, claim) {
		if r.Claim.UID == claim.UID && !r.Released() && r.Purpose != records.ForMoved {
			errs = append(errs, l.LetGo(ctx, book.HoldingOf(r)))
		}
	}
	return errors.Join(errs...)
}

// LetGo gives up one record, if it has not changed since it was read: where its pool has a cooldown
// it begins to cool down, else it is dropped. Of a pool that is not known here nobody can say that
// it has none. The caller has proved what Release wants proved.
func (l *writer) LetGo(ctx context.Context, h Holding) error {
	if l.Cools(h) && !l.IsHeldOn(h) {
		return l.letGo(ctx, h, ipamv1.CoolingState)
	}
	return l.deleteAndReport(ctx, h, audit.Gone)
}

// Retain gives up one record, if it has not changed since it was read, and keeps its prefix for the
// next claim of that name. The caller has proved what Release wants proved.
func (l *writer) Retain(ctx context.Context, h Holding) error {
	return l.letGo(ctx, h, ipamv1.RetainedState)
}

// letGo stores that the claim has let go of the prefix. The owners go with it, for the garbage
// collector would take the record along with them; clusterctl moves what has no owner by its label.
func (l *writer) letGo(ctx context.Context, h Holding, state ipamv1.AllocationState) error {
	id, reason := h.Version, audit.Cooling
	if state == ipamv1.RetainedState {
		reason = audit.Retained
	}
	p := l.patchOf(id)
	p.Metadata.OwnerReferences = new([]metav1.OwnerReference)
	p.Metadata.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
	p.Spec.State, p.Spec.ReleasedAt = state, ptr.To(metav1.NewTime(nextSecond(l.clock.Now())))
	if _, err := l.patch(ctx, id, p); err != nil {
		return err
	}
	reportReleased(h, reason)
	return nil
}

// nextSecond rounds up to what the API stores, so that no cooldown is cut short.
func nextSecond(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).Truncate(time.Second)
}

// deleteAndReport deletes a record, and reports why if it was this call that deleted it.
func (l *writer) deleteAndReport(ctx context.Context, h Holding, reason string) error {
	dropped, err := l.deleteOnce(ctx, h.Version)
	if dropped {
		reportReleased(h, endOf(h, reason))
	}
	return err
}

// endOf is why a record goes: what it was kept for is over, or what its holder says.
func endOf(h Holding, otherwise string) string {
	switch {
	case h.Purpose == records.ForMoved:
		return audit.HoldEnded
	case h.Retained:
		return audit.RetentionEnded
	case !h.ReleasedAt.IsZero():
		return audit.CooledDown
	}
	return otherwise
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Out is how records leave the ledger. Each method changes a record on condition that it is what the
// caller has seen.
type Out struct{ l *Ledger }

// Out returns the way out.
func (l *Ledger) Out() Out { return Out{l} }

// Drop drops one record, if it has not changed since it was read. The caller has proved that nobody
// was told of it, or that its claim is gone and its cooldown over.
func (o Out) Drop(ctx context.Context, h Holding) error {
	if h.Purpose == records.ForRoot {
		return o.deleteAndReport(ctx, h, audit.Gone)
	}
	return o.deleteAndReport(ctx, h, audit.Void)
}

// DropBlock drops a block of a carved pool that lives. It does not cool: what the pool has instead may lie in it.
func (o Out) DropBlock(ctx context.Context, h Holding) error {
	return o.deleteAndReport(ctx, h, audit.Gone)
}

// RecordsOf returns what is recorded for the claim of this UID and not released yet. A hold is not
// among it.
func (l *Ledger) RecordsOf(claim ipamv1.ClaimReference) []Holding {
	var found []Holding
	for _, r := range ask(l.feed, (*book.Book).RecordsFor, claim) {
		if r.Claim.UID == claim.UID && !r.Released() && r.Purpose != records.ForMoved {
			found = append(found, book.HoldingOf(r))
		}
	}
	return found
}

// Release releases one record, if it has not changed since it was read: where its pool has a
// cooldown it begins to cool down, else it is deleted. Of a pool that is not known here nobody can
// say that it has none. The caller has proved by a live read, begun after the book showed the
// record, that its claim is gone or is being deleted with nobody else holding it, and has removed
// its answer.
func (o Out) Release(ctx context.Context, h Holding) error {
	if o.l.Of(h.Pool).Cools(h) && !o.l.About(h.Claim).IsHeldOn(h) {
		return o.markReleased(ctx, h, ipamv1.CoolingState)
	}
	return o.deleteAndReport(ctx, h, audit.Gone)
}

// Retain releases one record, if it has not changed since it was read, and keeps its prefix for the
// next claim of that name. The caller has proved what Release wants proved.
func (o Out) Retain(ctx context.Context, h Holding) error {
	return o.markReleased(ctx, h, ipamv1.RetainedState)
}

// markReleased stores that the claim has released the prefix. The owners go with it, for the garbage
// collector would take the record along with them; clusterctl moves what has no owner by its label.
func (o Out) markReleased(ctx context.Context, h Holding, state ipamv1.AllocationState) error {
	id, reason := h.Version, audit.Cooling
	if state == ipamv1.RetainedState {
		reason = audit.Retained
	}
	p := o.l.patchOf(id)
	p.Metadata.OwnerReferences = new([]metav1.OwnerReference)
	p.Metadata.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
	p.Spec.State, p.Spec.ReleasedAt = state, ptr.To(metav1.NewTime(nextSecond(o.l.clock.Now())))
	if _, err := o.l.patch(ctx, id, p); err != nil {
		return err
	}
	reportReleased(h, reason)
	return nil
}

// EndHandBack frees what was handed back, if the record has not changed since it was read. The record
// stays, and tells which template had the block. The caller has proved that the hub has delegated the
// block to this cluster again.
func (o Out) EndHandBack(ctx context.Context, h Holding) error {
	p := o.l.patchOf(h.Version)
	p.Spec.State = ipamv1.EndedState
	if _, err := o.l.patch(ctx, h.Version, p); err != nil {
		return err
	}
	reportReleased(h, audit.HandBackEnded)
	return nil
}

// nextSecond rounds up to what the API stores, so that no cooldown is cut short.
func nextSecond(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).Truncate(time.Second)
}

// deleteAndReport deletes a record, and reports why if it was this call that deleted it. Where the
// claim has the prefix by another record, as one that arrived with a record of its former UID, nothing
// is released.
func (o Out) deleteAndReport(ctx context.Context, h Holding, reason string) error {
	end, isHeldOn := endOf(h, reason), o.l.About(h.Claim).IsHeldOn(h)
	dropped, err := o.l.deleteOnce(ctx, h.Version)
	if dropped && h.Purpose != records.ForEnded && (end != reason || !isHeldOn) {
		reportReleased(h, end)
	}
	return err
}

// endOf is why a record goes: what it was kept for is over, or what its holder says.
func endOf(h Holding, otherwise string) string {
	switch {
	case h.Purpose == records.ForHandBack:
		return audit.HandBackEnded
	case h.Purpose == records.ForMoved:
		return audit.HoldEnded
	case h.Retained:
		return audit.RetentionEnded
	case !h.ReleasedAt.IsZero():
		return audit.CooledDown
	}
	return otherwise
}

// Repeats returns the claim's records beside which an older one of its own holds the same: two
// managers have begun at the claim, and one of them has died before it dropped its own. A record
// that was seen only just now is left to its creator, and so is one whose older one may be about to
// go.
func (l *Ledger) Repeats(claim ipamv1.ClaimReference) []Holding {
	return book.HoldingsOf(ask(l.feed, (*book.Book).Repeats, claim))
}

// DropRepeat takes a repeated record over, and deletes it if it has lost: the older one may be gone,
// and the record's creator may have seen it win.
func (o Out) DropRepeat(ctx context.Context, h Holding) error {
	r := ask(o.l.feed, (*book.Book).Named, h.Record)
	if r == nil || r.Identity != h.Version {
		return fmt.Errorf("record %s has changed: %w", h.Record, ErrBusy)
	}
	_, _, err := o.l.takeOver(ctx, r)
	return err
}

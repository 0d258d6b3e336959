// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// What arrives with a prefix, moved or restored, may find that somebody else holds it. Neither is
// renumbered: both have a record, so that the prefix stays taken whichever of them goes first, and
// both are told. Such a pair is a dispute.

// dispute notifies the claim that holds the prefix, and returns what the other one is told.
func (l *Ledger) dispute(claim ipamv1.ClaimReference, cidr netip.Prefix, by Holding) error {
	if by.Claim != claim {
		l.notify.Concern(by.Claim)
	}
	return &TakenError{CIDR: cidr, By: by}
}

// makeFor records what a stored object says that has no record.
func (l *Ledger) makeFor(ctx context.Context, c Claim) (Allocation, error) {
	c.Stored = true
	a, err := l.Reserve(ctx, c)
	var taken *TakenError
	if !c.IsRestored() || !errors.As(err, &taken) {
		return a, err
	}
	if by := taken.By; by.Purpose == records.ForMoved && by.Claim.UID == c.Ref.UID {
		return a, err // it is just leaving
	}
	if taken.By.Claim != c.Ref {
		defer l.notify.Concern(taken.By.Claim) // whatever becomes of the record
	}
	return l.insist(ctx, c)
}

// insist records what arrived although somebody else holds it. The record may even win: the other
// may have gone meanwhile.
func (l *Ledger) insist(ctx context.Context, c Claim) (Allocation, error) {
	key := types.NamespacedName{Namespace: cmp.Or(c.Namespace, c.Ref.Namespace), Name: records.NextName(c.Ref.Name, c.Ref.UID)}
	w, err := l.feed.choose(key, func(b *book.Book) (*records.Record, error) { return b.ChooseTaken(c, key) })
	if err != nil {
		return Allocation{}, err
	}
	defer l.feed.dismiss(w)
	id, v, err := l.store(ctx, newRecord(l.instance, c, key, w.mark), w)
	switch {
	case err != nil:
		return Allocation{}, err
	case v.Outcome == book.Won:
		reportGiven(w.mark, id, c, audit.Arrived)
		return Allocation{CIDR: c.Want, record: id}, nil
	case v.Outcome == book.Superseded:
		return Allocation{}, fmt.Errorf("record %s was taken over: %w", id.Key, ErrBusy)
	default:
		reportGiven(w.mark, id, c, audit.Conflict)
		return Allocation{}, l.dispute(c.Ref, c.Want, v.By)
	}
}

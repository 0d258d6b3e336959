// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// ReserveBlock makes one block of a pool the pool's own: recorded, judged, and confirmed on the
// record, because no answer object shows that it has won. It returns nil once the block is
// confirmed, and errs with ErrTaken, naming who holds the space, with ErrBusy, or an error of the
// API server; for a block that is carved from a parent, also as Reserve does.
func (l *Ledger) ReserveBlock(ctx context.Context, p Pool, block netip.Prefix, owners []metav1.OwnerReference) error {
	if l.isConfirmed(p, block) {
		return nil
	}
	c := blockClaim(p, block, owners)
	r, _ := l.feed.recordOf(c, "")
	switch {
	case r != nil && r.Confirmed:
		return nil
	case p.IsCarved():
		a, err := l.Bind(ctx, c)
		if err != nil {
			return err
		}
		return l.confirm(ctx, a.record)
	case r == nil:
		return l.createBlock(ctx, p, c)
	case !r.Won:
		if _, _, err := l.existing(ctx, c, ""); err != nil {
			return err
		}
		return ErrBusy
	}
	return l.confirm(ctx, r.Identity)
}

func (l *Ledger) isConfirmed(p Pool, block netip.Prefix) bool {
	defer l.feed.lock()()
	return l.feed.book.IsConfirmed(p, block)
}

func blockClaim(p Pool, block netip.Prefix, owners []metav1.OwnerReference) Claim {
	c := CarveClaim(p, block.Bits())
	c.Want = block
	if c.DelegatedTo == "" {
		c.Owners = owners
	}
	if !p.IsCarved() {
		c.Pool, c.Purpose = p.Ref, records.ForRoot
	}
	return c
}

// CarveClaim is how a pool asks its parent for a block of that length. The record of a block that goes
// to a member has no owners, for the garbage collector would mark it when its pool vanishes; clusterctl
// moves what has none by its label.
func CarveClaim(p Pool, bits int) Claim {
	c := Claim{
		Ref:         ClaimOf(p.Ref, string(p.UID)),
		Pool:        p.Parent,
		Bits:        bits,
		Purpose:     records.ForChildPool,
		Arrived:     p.Arrived,
		DelegatedTo: p.DelegatedTo,
		Namespace:   p.Namespace,
	}
	if c.DelegatedTo != "" {
		c.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
	}
	return c
}

func (l *Ledger) createBlock(ctx context.Context, p Pool, c Claim) error {
	key := types.NamespacedName{Namespace: p.Namespace, Name: records.NextName(p.Ref.Name, string(p.UID))}
	w, err := l.feed.choose(key, func(b *book.Book) (*records.Record, error) { return b.ChooseBlock(c, p.Space, key) })
	if err != nil {
		return err
	}
	defer l.feed.dismiss(w)
	a, err := l.create(ctx, newRecord(l.instance, c, key, w.mark), w)
	var beaten *lostError
	if errors.As(err, &beaten) {
		return &TakenError{CIDR: c.Want, By: beaten.by}
	}
	if err != nil {
		return err
	}
	reportGiven(w.mark, a.record, c, audit.Requested)
	return l.confirm(ctx, a.record)
}

// KeepBlock confirms the record of a block that a member may use although its pool is not there: so it
// stands, and what others of the pool's name record of the same can go. It is judged before, unless
// this process has seen it win; one that has lost was never anybody's, and goes.
func (l *Ledger) KeepBlock(ctx context.Context, h Holding) error {
	r := ask(l.feed, (*book.Book).Named, h.Record)
	switch {
	case r == nil || r.Identity != h.Version:
		return ErrBusy
	case r.Confirmed || r.Terminating:
		return nil
	case r.Won:
		return l.confirm(ctx, r.Identity)
	}
	a, _, err := l.takeOver(ctx, r)
	if err != nil || a.record.UID == "" {
		return err
	}
	return l.confirm(ctx, a.record)
}

// confirm stores that a block has won, and returns once the book shows it.
func (l *Ledger) confirm(ctx context.Context, block records.Identity) error {
	w := l.feed.expect(block.Key)
	defer l.feed.dismiss(w)
	id, err := l.setManager(ctx, block, ipamv1.ConfirmedState)
	if err != nil {
		return err
	}
	_, err = l.feed.await(ctx, w, id)
	return err
}

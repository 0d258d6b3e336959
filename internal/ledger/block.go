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
	if !p.IsCarved() {
		return l.recordWhole(ctx, p.Space, c, (*book.Book).ChooseBlock)
	}
	if r, _ := l.feed.recordOf(c, ""); r != nil && r.Confirmed {
		return nil
	}
	a, err := l.Bind(ctx, c)
	if err != nil {
		return err
	}
	return l.confirm(ctx, a.record)
}

// HandBack records that this cluster has let go of a block, for the template of that UID at the hub.
// The record is judged like any other: it loses while anything is handed out of the block, and once
// it has won whatever comes later loses, whichever manager makes it and however late. It returns nil
// once that is confirmed on the record; till then nobody may be told. It errs with ErrTaken, naming
// what the block has, with ErrBusy, or an error of the API server.
func (l *Ledger) HandBack(ctx context.Context, p Pool, template string, block netip.Prefix) error {
	return l.recordWhole(ctx, p.Space, Claim{
		Ref: ClaimOf(p.Ref, template), Pool: p.Ref, Bits: block.Bits(), Want: block, Purpose: records.ForHandBack, Namespace: p.Namespace,
	}, (*book.Book).ChooseHandBack)
}

// chooseWhole marks exactly the prefix that is asked for.
type chooseWhole func(b *book.Book, c Claim, space string, key types.NamespacedName) (*records.Record, error)

// recordWhole has exactly what the claim wants recorded, judged and confirmed. What another manager
// has begun is taken over.
func (l *Ledger) recordWhole(ctx context.Context, space string, c Claim, choose chooseWhole) error {
	r, _ := l.feed.recordOf(c, "")
	switch {
	case r == nil:
		return l.createWhole(ctx, space, c, choose)
	case r.Confirmed:
		return nil
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

func (l *Ledger) createWhole(ctx context.Context, space string, c Claim, choose chooseWhole) error {
	key := types.NamespacedName{Namespace: c.Namespace, Name: records.NextName(c.Ref.Name, c.Ref.UID)}
	w, err := l.feed.choose(key, func(b *book.Book) (*records.Record, error) { return choose(b, c, space, key) })
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

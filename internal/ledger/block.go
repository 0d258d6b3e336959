// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
)

// ReserveBlock makes one block of a pool the pool's own: recorded, judged, and confirmed on the record, because no answer object
// shows that it has won. It returns nil once the block is confirmed, and errs with ErrTaken, naming who holds the space, with
// ErrBusy, or an error of the API server; for a block that is carved from a parent, also as Reserve does.
func (l *Ledger) ReserveBlock(ctx context.Context, p Pool, block netip.Prefix, owners []metav1.OwnerReference) error {
	if l.index.isConfirmed(p, block) {
		return nil
	}
	c := blockClaim(p, block, owners)
	r, _ := l.index.recordOf(c, "")
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

// isConfirmed says whether the block is the pool's and stays it. It is found by its prefix: a pool may have many.
func (x *index) isConfirmed(p Pool, block netip.Prefix) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.blockRecord(p, block)
	return r != nil && r.Confirmed && !r.Terminating && !r.Deleted
}

// OtherBlocks returns the records of the pool's own blocks that keep does not name, those of other pools that had its name, and
// the second and third of a block that several managers recorded at once. Drop drops them, once a live read after this call has
// proved that they are nobody's. What may belong to a pool that is just being admitted is not among them, nor, where there is no
// pool of the name (uid is empty), what arrived before its pool.
func (l *Ledger) OtherBlocks(pool ipamv1.PoolReference, uid types.UID, keep []netip.Prefix) []Holding {
	var others []Holding
	blocks := l.index.blocksOf(pool)
	for _, r := range blocks {
		if own := r.Claim.UID == string(uid); own && slices.Contains(keep, r.CIDR) && !isSecond(r, blocks) || !own && l.index.isPending(r) {
			continue
		}
		if h := holdingOf(r); uid != "" || !l.IsArriving(h) {
			others = append(others, h)
		}
	}
	return others
}

// isSecond says whether another record of the same block, confirmed like this one, has the lower name: every manager that sees
// both keeps that one.
func isSecond(r *records.Record, blocks []*records.Record) bool {
	return slices.ContainsFunc(blocks, func(other *records.Record) bool {
		return other.Confirmed && !other.Deleted && !other.Terminating && other.Claim.UID == r.Claim.UID && other.CIDR == r.CIDR &&
			other.Key.Name < r.Key.Name
	})
}

func blockClaim(p Pool, block netip.Prefix, owners []metav1.OwnerReference) Claim {
	c := CarveClaim(p, block.Bits())
	c.Want, c.Owners = block, owners
	if !p.IsCarved() {
		c.Pool, c.Purpose = p.Ref, ipamv1.RootPurpose
	}
	return c
}

// CarveClaim is how a pool asks its parent for a block of that length.
func CarveClaim(p Pool, bits int) Claim {
	return Claim{
		Ref:       ClaimOf(p.Ref, string(p.UID)),
		Pool:      p.Parent,
		Bits:      bits,
		Purpose:   ipamv1.ChildPoolPurpose,
		Arrived:   p.Arrived,
		Namespace: p.Namespace,
	}
}

func (l *Ledger) createBlock(ctx context.Context, p Pool, c Claim) error {
	key := types.NamespacedName{Namespace: p.Namespace, Name: records.NextName(p.Ref.Name, string(p.UID))}
	w, err := l.index.chooseBlock(c, p.Space, key)
	if err != nil {
		return err
	}
	defer l.index.dismiss(w)
	a, err := l.create(ctx, newRecord(l.instance, c, key, w.mark), w)
	var beaten *lostError
	if errors.As(err, &beaten) {
		return &TakenError{CIDR: c.Want, By: beaten.by}
	}
	if err != nil {
		return err
	}
	tellGiven(w.mark, a.record, c, audit.Requested)
	return l.confirm(ctx, a.record)
}

// confirm stores that a block has won, and returns once the index shows it.
func (l *Ledger) confirm(ctx context.Context, block records.Identity) error {
	w := l.index.expect(block.Key)
	defer l.index.dismiss(w)
	id, err := l.setManager(ctx, block, ipamv1.ConfirmedState)
	if err != nil {
		return err
	}
	_, err = l.index.await(ctx, w, id)
	return err
}

// chooseBlock marks exactly the asked block, unless somebody holds part of it: not the pool itself, nor what was carved or handed out
// of its block and arrived before it.
func (x *index) chooseBlock(c Claim, space string, key types.NamespacedName) (*waiter, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.poolOf(c.Pool)
	asked := &records.Record{CIDR: c.Want, Claim: c.Ref, Purpose: c.Purpose}
	for _, r := range x.overlapping(space, c.Want) {
		if !isBlockOf(r, e.ref) && r.Pool != e.ref && !x.isAbove(asked, r.Pool, r.CIDR) {
			return nil, &TakenError{CIDR: c.Want, By: holdingOf(r)}
		}
	}
	return x.mark(space, e, c.Want, c, key), nil
}

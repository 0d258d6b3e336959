// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
)

// PoolView is one pool as the ledger knows it now: each answer is of the moment of its call.
type PoolView struct {
	l   *Ledger
	ref ipamv1.PoolReference
}

// Of returns the view of a pool, which need not be registered.
func (l *Ledger) Of(pool ipamv1.PoolReference) PoolView { return PoolView{l, pool} }

// Capacity returns the sums of a pool that has been registered, and whether it has been.
func (v PoolView) Capacity() (Capacity, bool) {
	return ask2(v.l.feed, (*book.Book).Capacity, v.ref)
}

// Room returns for how many claims that ask for nothing in particular the pool has room, most at
// most: an estimate, at least one, which looks at how much is free and not at where. It errs as
// Preview does if there is room for none.
func (v PoolView) Room(most int) (int, error) {
	if err := v.l.feed.failure(); err != nil {
		return 0, err
	}
	defer v.l.feed.lock()()
	room, err := v.l.feed.book.Room(v.ref, most)
	return room, provedOrNot(err)
}

// provedOrNot says ErrExhausted also where that is not proved.
func provedOrNot(err error) error {
	if errors.Is(err, book.ErrUnproved) {
		return ErrExhausted
	}
	return err
}

// Serves says whether the pool hands out prefixes.
func (v PoolView) Serves() bool { return ask(v.l.feed, (*book.Book).Serves, v.ref) }

// WaitServing returns once the pool hands out prefixes, or ErrNotReady when ctx ends before. A pool
// that has just been created serves a moment later.
func (v PoolView) WaitServing(ctx context.Context) error {
	select {
	case <-ask(v.l.feed, (*book.Book).Ready, v.ref):
		return nil
	case <-ctx.Done():
		return ErrNotReady
	}
}

// States returns how many records of the pool there are in each state, its own blocks not counted. A
// state without records may be missing.
func (v PoolView) States() map[ipamv1.AllocationState]int {
	return ask(v.l.feed, (*book.Book).States, v.ref)
}

// Elsewhere returns the address spaces other than the pool's in which claims of an earlier pool of its
// name hold something, ascending. Until there is none the pool does not serve.
func (v PoolView) Elsewhere() []string { return ask(v.l.feed, (*book.Book).Elsewhere, v.ref) }

// Holdings returns what is handed out of the pool, ascending; not its own blocks.
func (v PoolView) Holdings() []Holding { return ask(v.l.feed, (*book.Book).Holdings, v.ref) }

// Foreign returns, by prefix, what IPAddresses of other providers name in the pool.
func (v PoolView) Foreign() []Foreign { return ask(v.l.feed, (*book.Book).Foreign, v.ref) }

// Cooling returns what claims have released in the pool and what is not to be handed out before its
// record is deleted, in no order: it cools down, or is retained.
func (v PoolView) Cooling() []Holding { return ask(v.l.feed, (*book.Book).Cooling, v.ref) }

// Cools says whether a prefix of the pool cools down when its claim releases it.
func (v PoolView) Cools(h Holding) bool { return ask(v.l.feed, (*book.Book).Cools, h) }

// WithMembers returns the blocks of the pool that members may use, by prefix. What may belong to a
// pool that is just being admitted is not among them.
func (v PoolView) WithMembers() []Holding { return ask(v.l.feed, (*book.Book).WithMembers, v.ref) }

// HandedBack returns, by prefix, what pools of the name have handed back, for whatever template. A
// record that has not won is among it.
func (v PoolView) HandedBack() []Holding { return ask(v.l.feed, (*book.Book).HandedBack, v.ref) }

// Leaving returns what is to go out of the pool, in no order: what is marked for deletion because it
// moves away, is held for what has moved, is a block that a member may use, or cools down in another
// namespace than the pool's. What lives beside the pool moves with it.
func (v PoolView) Leaving() []Holding { return ask(v.l.feed, (*book.Book).Leaving, v.ref) }

// Returned returns what may be back of what is held in the pool.
func (v PoolView) Returned() []Return { return ask(v.l.feed, (*book.Book).Returned, v.ref) }

// OtherBlocks returns the records of the pool's own blocks that keep does not name, those of other
// pools that had its name, and the second and third of a block that several managers recorded at
// once. They may be dropped once a live read after this call has proved that they are nobody's. What
// may belong to a pool that is just being admitted is not among them, nor, where there is no pool
// of the name (uid is empty), what arrived before its pool.
func (v PoolView) OtherBlocks(uid types.UID, keep []netip.Prefix) []Holding {
	defer v.l.feed.lock()()
	return v.l.feed.book.OtherBlocks(v.ref, uid, keep)
}

// Unstored returns how many prefixes of the pool are recorded for objects of that namespace ("" for
// cluster-wide ones), and of all namespaces, that nobody has seen stored: their creates are under
// way, or were refused after Weir had been asked.
func (v PoolView) Unstored(namespace string) (own, all int) {
	defer v.l.feed.lock()()
	return v.l.feed.book.Unstored(v.ref, namespace)
}

// Prove returns once the book holds every record that was created before the call, by a block of
// the pool if one is confirmed. It errs with ErrBusy where that cannot be told yet.
func (v PoolView) Prove(ctx context.Context) error {
	_, err := v.l.join(ctx, v.ref).wait(ctx)
	if errors.Is(err, ErrNotReady) {
		return v.l.proveByList(ctx)
	}
	return err
}

// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Book is who has what in every address space, in the order in which the API server stored it. It
// is made of parts, each of which uses only those below it and says which state it owns:
//
//	promiser   what is proposed to objects under admission, and to whom
//	chooser    what is free
//	serving    which pools hand out prefixes, and what they keep back
//	stock      what is handed out of each pool
//	pools      which pools there are, and what pools above them keep back
//	claims     what is recorded for a claim
//	lineage    which block was carved from which, and so which of two records wins
//	spaces     what takes which prefix
//	watched    which version of a record the watch has shown
//	ages       how long ago
type Book struct{ promiser }

// Upsert takes in a new version of a record, and returns what is kept of it.
func (b *Book) Upsert(a *ipamv1.IPAllocation) (*records.Record, error) {
	was := b.watched.managerOf(a)
	r, err := b.place(a)
	if err == nil && r.Instance != was {
		b.lanes.note(r.Instance, b.ages.now())
	}
	return r, err
}

// place stores the version of a record and returns what is kept of it.
func (b *Book) place(a *ipamv1.IPAllocation) (*records.Record, error) {
	r, err := records.Decode(a, b.ages.now())
	if err != nil {
		return nil, err
	}
	old := b.records.At(r.Key)
	switch {
	case old == nil:
	case old.UID == r.UID:
		b.refresh(old, r)
		return old, nil
	default:
		b.remove(old)
	}
	b.insert(r)
	return r, nil
}

// refresh takes over what a newer version of the record says; the rest never changes.
func (b *Book) refresh(old, r *records.Record) {
	b.stock.uncount(old)
	if old.Created == "" {
		old.Created = r.Created
	}
	confirmed := r.Confirmed && !old.Confirmed
	if r.Instance != old.Instance {
		old.Instance, old.Seen = r.Instance, r.Seen
		b.suspect(old)
	}
	old.Version, old.Foreign, old.Owned = r.Version, r.Foreign, r.Owned
	old.Terminating, old.Confirmed, old.ReleasedAt, old.Retained = r.Terminating, r.Confirmed, r.ReleasedAt, r.Retained
	old.Restored, old.Moving, old.Leaves = old.Restored || r.Restored, r.Moving, r.Leaves
	b.records.Update(old)
	b.stock.count(old)
	if confirmed {
		b.serving.reblock(old)
	}
}

func (b *Book) insert(r *records.Record) {
	e := b.pools.of(r.Pool)
	b.records.Insert(r)
	if !b.withdraw(r.Space, r.CIDR) {
		b.crowd(e)
	}
	b.spaces.of(r.Space).taken.Insert(r.CIDR, r.Handle)
	e.history.hold(r)
	b.stock.count(r)
	b.suspect(r)
	if r.Purpose == records.ForChildPool && e.tally.children == 1 && len(e.serving) == 0 {
		b.serving.serve(e) // it does not, but keeps back from now on, for what is carved from it
	}
	if r.Confirmed {
		b.serving.reblock(r)
	}
	switch {
	case isBlock(r.Purpose):
		b.on.PoolChanged(r.Claim.Pool())
	case r.Restored:
		b.on.ClaimConcerned(r.Claim)
	}
}

// suspect notes a record of another manager in its pool: nobody here knows whether it will be told
// to anybody. That a manager is at work shows in what it records from now on: the first list has
// all that ever were.
func (b *Book) suspect(r *records.Record) {
	if r.Instance == b.instance || isBlock(r.Purpose) || r.Seen == 0 {
		return
	}
	b.pools.of(r.Pool).suspected = r.Seen
	for _, e := range b.pools.hindered(r) {
		e.suspected = r.Seen
	}
}

func (b *Book) remove(r *records.Record) {
	s := b.spaces.of(r.Space)
	s.taken.Remove(r.CIDR, r.Handle)
	b.pools.unlearn(r)
	b.pools.of(r.Pool).history.release(r, s)
	b.stock.uncount(r)
	b.records.Remove(r.Handle)
	if isBlock(r.Purpose) {
		b.serving.reblock(r)
		b.on.PoolChanged(r.Claim.Pool())
	}
	b.serving.freed(r)
}

// Forget takes out a record that has gone.
func (b *Book) Forget(a *ipamv1.IPAllocation) {
	if r := b.watched.at(records.IdentityOf(a)); r != nil {
		b.remove(r)
	}
}

// Replace takes a list of all records in exchange for all that the book knows.
func (b *Book) Replace(objs []any, version string) error {
	if err := b.watched.Advance(version); err != nil {
		return err
	}
	present := make(map[records.Handle]bool, len(objs))
	for _, obj := range objs {
		a, ok := obj.(*ipamv1.IPAllocation)
		if !ok {
			return fmt.Errorf("listing IPAllocations: got a %T", obj)
		}
		r, err := b.place(a)
		if err != nil {
			return err
		}
		present[r.Handle] = true
	}
	for _, r := range b.watched.missing(present) {
		b.remove(r)
	}
	return nil
}

// state holds the parts, and what has no part of its own.
type state struct {
	// instance is this manager's: what others have recorded lately may yet come to nothing.
	instance string
	// on is told what happened.
	on Listener
	// random is what pools that choose at random choose by.
	random func() uint64

	records *records.Table
	watched *watched
	ages    *ages
	spaces  *spaces
	lineage *lineage
	claims  *claims
	pools   *pools
	stock   *stock
	serving *serving
	policy  *policy
	// marks keep what this process has chosen from its other requests.
	marks map[*records.Record]mark
	lanes lanes
}

// Listener is told what happened in the book. It must not block, nor ask the book.
type Listener interface {
	// PoolFreed: the pool may have room again, or may serve now.
	PoolFreed(ipamv1.PoolReference)
	// PoolChanged: the pool's sums have changed.
	PoolChanged(ipamv1.PoolReference)
	// ClaimConcerned: a restored record has come under the claim's name.
	ClaimConcerned(ipamv1.ClaimReference)
}

// New returns an empty book of the manager of that name. A record waits for its object for the
// grace.
func New(instance string, c clock.PassiveClock, grace time.Duration, on Listener) *Book {
	table, ages := records.NewTable(), newAges(c, grace)
	watched := &watched{records: table}
	spaces := &spaces{records: table, named: map[string]*space{}}
	lineage := &lineage{records: table, spaces: spaces}
	claims := &claims{instance: instance, records: table, watched: watched, spaces: spaces, lineage: lineage, ages: ages}
	pools := &pools{records: table, spaces: spaces, lineage: lineage, entries: map[ipamv1.PoolReference]*poolEntry{}}
	stock := &stock{records: table, spaces: spaces, pools: pools, ages: ages, on: on}
	b := &Book{}
	b.state = state{
		instance: instance,
		on:       on,
		random:   rand.Uint64,
		records:  table,
		watched:  watched,
		ages:     ages,
		spaces:   spaces,
		lineage:  lineage,
		claims:   claims,
		pools:    pools,
		stock:    stock,
		serving:  &serving{records: table, spaces: spaces, claims: claims, pools: pools, stock: stock, on: on},
		policy:   &policy{records: table, pools: pools},
		marks:    map[*records.Record]mark{},
		lanes:    lanes{own: instance, seen: map[string]int64{}},
	}
	return b
}

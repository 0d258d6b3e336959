// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Book is who has what in every address space, in the order in which the API server stored it. It
// keeps the records, and has its parts take note of each change. Every part says which state it
// owns and names the parts that it uses, which are all above it:
//
//	ages       how long ago this process saw what
//	lanes      which managers choose at the same time
//	watched    which versions of records the watch has shown
//	spaces     what takes which prefix
//	lineage    which block was carved from which, and so which of two records wins
//	claims     what is recorded for a claim
//	pools      which pools there are, what makes a prefix unavailable, and what is kept back above
//	foreigners what IPAddresses of other providers name
//	stock      what is handed out of each pool
//	serving    which pools hand out prefixes
//	policy     what a pool hands out to whom
//	marks      what this process keeps from its other requests
//	chooser    what is free
//
// What is asked of one part alone is in api.go; what takes more than one is a method of the Book's
// own.
type Book struct {
	records *records.Table
	ages    *ages
	lanes   *lanes
	watched *watched
	spaces  *spaces
	lineage *lineage
	claims  *claims
	pools   *pools
	foreign *foreigners
	stock   *stock
	serving *serving
	policy  *policy
	marks   *marks
	chooser *chooser
	// on is told what happened.
	on Listener
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
	b := &Book{records: records.NewTable(), ages: newAges(c, grace), lanes: newLanes(instance), on: on}
	b.watched = &watched{records: b.records}
	b.spaces = &spaces{records: b.records, named: map[string]*space{}}
	b.lineage = &lineage{records: b.records, spaces: b.spaces}
	b.claims = &claims{instance: instance, records: b.records, watched: b.watched, spaces: b.spaces, lineage: b.lineage, ages: b.ages}
	b.pools = &pools{records: b.records, spaces: b.spaces, lineage: b.lineage, entries: map[ipamv1.PoolReference]*poolEntry{}}
	b.foreign = &foreigners{records: b.records, spaces: b.spaces, pools: b.pools, on: on, out: map[foreign.Key]records.Handle{}}
	b.stock = &stock{records: b.records, spaces: b.spaces, pools: b.pools, foreign: b.foreign, ages: b.ages, on: on}
	b.serving = &serving{records: b.records, spaces: b.spaces, claims: b.claims, pools: b.pools, stock: b.stock, on: on}
	b.policy = &policy{records: b.records, pools: b.pools, foreign: b.foreign}
	b.marks = &marks{
		instance: instance, records: b.records, lineage: b.lineage, pools: b.pools, serving: b.serving, ages: b.ages,
		all: map[*records.Record]mark{},
	}
	b.chooser = &chooser{
		records: b.records, watched: b.watched, ages: b.ages, spaces: b.spaces, lineage: b.lineage, claims: b.claims, pools: b.pools,
		foreign: b.foreign, policy: b.policy, marks: b.marks, lanes: b.lanes, random: rand.Uint64,
	}
	return b
}

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
	switch { // a hand-back that ends gives its prefix up
	case old == nil:
	case old.UID == r.UID && (old.Purpose == records.ForEnded || r.Purpose != records.ForEnded):
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
		b.marks.suspect(old)
	}
	old.Version, old.Foreign, old.Owned = r.Version, r.Foreign, r.Owned
	old.Terminating, old.Confirmed, old.ReleasedAt, old.Retained = r.Terminating, r.Confirmed, r.ReleasedAt, r.Retained
	old.Restored, old.Moving, old.Leaves = old.Restored || r.Restored, r.Moving, r.Leaves
	b.records.Update(old)
	b.stock.count(old)
	b.serving.recheck(old)
	if confirmed {
		b.serving.reblock(old)
	}
}

func (b *Book) insert(r *records.Record) {
	if r.Purpose == records.ForEnded {
		b.records.Insert(r)
		b.stock.count(r)
		return
	}
	e := b.pools.of(r.Pool)
	b.records.Insert(r)
	if !b.marks.withdraw(r.Space, r.CIDR) {
		b.marks.crowd(e)
	}
	b.spaces.take(r)
	e.history.hold(r)
	b.stock.count(r)
	b.serving.recheck(r)
	b.marks.suspect(r)
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

func (b *Book) remove(r *records.Record) {
	if r.Purpose == records.ForEnded {
		b.stock.uncount(r)
		b.records.Remove(r.Handle)
		return
	}
	b.spaces.free(r)
	b.pools.unlearn(r)
	b.pools.of(r.Pool).history.release(r, b.spaces.of(r.Space))
	b.stock.uncount(r)
	b.records.Remove(r.Handle)
	b.serving.recheck(r)
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

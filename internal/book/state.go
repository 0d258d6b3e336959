// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// state is what all floors share.
type state struct {
	// instance is this manager's: what others have recorded lately may yet come to nothing.
	instance string
	clock    clock.PassiveClock
	// started is when the book was made, and grace how long a record may wait for its object to be
	// stored, in seconds.
	started time.Time
	grace   int64
	// on is told what happened.
	on Listener
	// random is what pools that choose at random choose by.
	random func() uint64

	records *records.Table
	spaces  map[string]*space
	pools   map[ipamv1.PoolReference]*poolEntry
	// marks keep what this process has chosen from its other requests.
	marks   map[*records.Record]mark
	lanes   lanes
	version string
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

// space is one address space.
type space struct {
	name  string
	taken allocator.Space[records.Handle]
	// handBacks are the records by which blocks of it were handed back.
	handBacks map[records.Handle]struct{}
	// histories is how many of its pools have one.
	histories int
}

// New returns an empty book of the manager of that name. A record waits for its object for the
// grace.
func New(instance string, c clock.PassiveClock, grace time.Duration, on Listener) *Book {
	b := &Book{}
	b.state = state{
		instance: instance,
		clock:    c,
		started:  c.Now(),
		grace:    int64(grace / time.Second),
		on:       on,
		random:   rand.Uint64,
		records:  records.NewTable(),
		spaces:   map[string]*space{},
		pools:    map[ipamv1.PoolReference]*poolEntry{},
		marks:    map[*records.Record]mark{},
		lanes:    lanes{own: instance, seen: map[string]int64{}},
	}
	return b
}

// now counts seconds since the book was made, from 1. It does not jump with the wall clock.
func (b *state) now() int64 { return 1 + int64(b.clock.Now().Sub(b.started)/time.Second) }

// IsRecent says whether something was seen, as now counts, less than takeoverDelay ago. Should the
// clock have been set back since all the same, it says no: nothing may wait until it has caught up.
// It may be asked without the lock.
func (b *state) IsRecent(seen int64) bool {
	ago := b.now() - seen
	return ago >= 0 && ago < int64(takeoverDelay/time.Second)
}

// isNew says whether something was seen less than the grace ago.
func (b *state) isNew(seen int64) bool { return b.now()-seen <= b.grace }

// holdingOf returns a record as readers see it, at this moment.
func (b *state) holdingOf(r *records.Record) Holding {
	h := HoldingOf(r)
	h.Arriving = r.Restored && b.isNew(r.Seen)
	return h
}

// What the API server refuses after Weir's webhooks (a quota, another webhook) leaves a record for
// an object that was never stored. No read tells such a record from one whose object is about to be
// stored, so it keeps its prefix from everybody else for the grace:
//
//	a client tries again   all tries of one name ask for one prefix, of which the API server stores one object at a time
//	many clients try       Unstored counts them for each namespace and pool, and admission bounds that
//	the grace is over      repair drops the record; nobody was told of it, so it does not cool

// isPending says whether a record may belong to an object of Weir's own kinds that is not stored
// yet, but may still be: the API server has asked a webhook about it less than the grace ago, never
// rounded down. It is the only clock that safety leans on. Each record has a grace of its own: that
// another object of the name was stored, and is gone, says nothing of this one.
func (b *state) isPending(r *records.Record) bool { return awaitsObject(r) && b.isNew(r.Seen) }

func (b *state) poolOf(ref ipamv1.PoolReference) *poolEntry {
	e, ok := b.pools[ref]
	if !ok {
		e = &poolEntry{ref: ref, released: map[records.Handle]struct{}{}, leaving: map[records.Handle]struct{}{}}
		b.pools[ref] = e
	}
	return e
}

func (b *state) spaceOf(name string) *space {
	s, ok := b.spaces[name]
	if !ok {
		s = &space{name: name, handBacks: map[records.Handle]struct{}{}}
		b.spaces[name] = s
	}
	return s
}

// overlapping returns every record of the space that overlaps the prefix, in the order of their
// prefixes.
func (b *state) overlapping(space string, p netip.Prefix) []*records.Record {
	var found []*records.Record
	for _, h := range b.spaceOf(space).taken.Overlapping(p) {
		if b.records.Terms(h).Role == records.Stored {
			found = append(found, b.records.Get(h))
		}
	}
	return found
}

// Named returns the record of that name, or nil.
func (b *state) Named(key types.NamespacedName) *records.Record { return b.records.At(key) }

// recordAt returns the record, at whatever version, or nil.
func (b *state) recordAt(id records.Identity) *records.Record {
	if r := b.records.At(id.Key); r != nil && r.UID == id.UID {
		return r
	}
	return nil
}
